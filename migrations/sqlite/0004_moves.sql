-- Has a row while everything is being moved here from another database.
CREATE TABLE moves (
    id INTEGER NOT NULL PRIMARY KEY
) STRICT;
