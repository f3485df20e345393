ALTER TABLE users ADD COLUMN password_version INTEGER NOT NULL DEFAULT 0;

-- A session from before does not know its token, so it ends here.
DROP TABLE sessions;

CREATE TABLE sessions (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    token_id     TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    address      TEXT    NOT NULL,
    user_agent   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE reset_codes (
    user_id    TEXT    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reset_codes_by_digest ON reset_codes (digest);
