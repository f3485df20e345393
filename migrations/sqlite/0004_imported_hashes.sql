-- Users whose password hash was imported and has not been replaced by one of ours. `prefix` is the scheme and cost of the hash, as
-- in `foreign_hashes`.
CREATE TABLE imported_hashes (
    user_id     BLOB    NOT NULL PRIMARY KEY,
    prefix      TEXT    NOT NULL,
    imported_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX imported_hashes_by_prefix ON imported_hashes (prefix);
