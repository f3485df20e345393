-- The schemes and costs of imported password hashes: the text of a hash up to its salt. While there are any, a failed login
-- does the work of the slowest one.
CREATE TABLE foreign_hashes (
    prefix TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
