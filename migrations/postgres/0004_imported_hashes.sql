-- Users whose password hash was imported and has not been replaced by one of ours. `prefix` is the scheme and cost of the hash, as
-- in `foreign_hashes`.
CREATE TABLE IF NOT EXISTS imported_hashes (
    user_id     UUID             NOT NULL PRIMARY KEY,
    prefix      TEXT COLLATE "C" NOT NULL,
    imported_at BIGINT           NOT NULL
);

CREATE INDEX IF NOT EXISTS imported_hashes_by_prefix ON imported_hashes (prefix);
