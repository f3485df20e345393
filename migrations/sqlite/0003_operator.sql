-- API keys. Without `user_id`, a key is that of a machine. Only the digest of a key is stored. `scopes` are separated by spaces.
-- `condition` is CEL. `two_factors` says whether the user had proved two factors when they made the key.
CREATE TABLE api_keys (
    id           BLOB    NOT NULL PRIMARY KEY,
    user_id      BLOB,
    name         TEXT    NOT NULL,
    digest       BLOB    NOT NULL,
    scopes       TEXT    NOT NULL,
    condition    TEXT,
    two_factors  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (digest);
CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at);
CREATE INDEX api_keys_by_creation ON api_keys (created_at, id);
CREATE INDEX api_keys_by_expiry ON api_keys (expires_at);
