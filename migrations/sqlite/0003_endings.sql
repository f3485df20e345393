-- Tokens that have ended before their time, for those who verify without asking. A number is never used twice, so that
-- whoever has seen one has seen all below it.
CREATE TABLE endings (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    token_id TEXT    NOT NULL UNIQUE,
    ended_at INTEGER NOT NULL
) STRICT;

CREATE INDEX endings_by_time ON endings (ended_at);
