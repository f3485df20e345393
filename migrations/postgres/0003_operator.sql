-- API keys. Without `user_id`, a key is that of a machine. Only the digest of a key is stored. `scopes` are separated by spaces.
-- `condition` is CEL. `two_factors` says whether the user had proved two factors when they made the key.
CREATE TABLE IF NOT EXISTS api_keys (
    id           UUID    NOT NULL PRIMARY KEY,
    user_id      UUID,
    name         TEXT    NOT NULL,
    digest       BYTEA   NOT NULL CONSTRAINT api_keys_by_digest UNIQUE,
    scopes       TEXT    NOT NULL,
    condition    TEXT,
    two_factors  BOOLEAN NOT NULL,
    created_at   BIGINT  NOT NULL,
    expires_at   BIGINT  NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT
);

CREATE INDEX IF NOT EXISTS api_keys_by_user ON api_keys (user_id, created_at);

CREATE INDEX IF NOT EXISTS api_keys_by_creation ON api_keys (created_at, id);

CREATE INDEX IF NOT EXISTS api_keys_by_expiry ON api_keys (expires_at);
