-- `known_networks` are those from which the user has signed in, each with the time: `address=milliseconds`, separated by
-- spaces.
CREATE TABLE IF NOT EXISTS users (
    id               UUID             NOT NULL PRIMARY KEY,
    name             TEXT             NOT NULL,
    email            TEXT             NOT NULL,
    email_key        TEXT COLLATE "C" NOT NULL UNIQUE,
    password_hash    TEXT,
    password_version BIGINT           NOT NULL,
    roles            TEXT             NOT NULL,
    disabled         BOOLEAN          NOT NULL,
    created_at       BIGINT           NOT NULL,
    updated_at       BIGINT           NOT NULL,
    last_login_at    BIGINT,
    email_verified   BOOLEAN          NOT NULL,
    reset_digest     BYTEA,
    reset_expires_at BIGINT,
    known_networks   TEXT             NOT NULL DEFAULT ''
);

CREATE INDEX IF NOT EXISTS users_by_reset_digest ON users (reset_digest);

CREATE TABLE IF NOT EXISTS sessions (
    id           UUID   NOT NULL PRIMARY KEY,
    user_id      UUID   NOT NULL,
    token_id     UUID   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    address      TEXT   NOT NULL,
    user_agent   TEXT   NOT NULL
);

CREATE INDEX IF NOT EXISTS sessions_by_user ON sessions (user_id);

CREATE INDEX IF NOT EXISTS sessions_by_expiry ON sessions (expires_at);

-- What every instance has to hear of: a user who changed, or the keys where none is named. The id is made by whoever
-- writes, so that a commit whose answer was lost can be asked about.
CREATE TABLE IF NOT EXISTS changes (
    id      UUID        NOT NULL PRIMARY KEY,
    user_id UUID,
    void    BOOLEAN     NOT NULL,
    at      TIMESTAMPTZ NOT NULL
);

CREATE INDEX IF NOT EXISTS changes_by_time ON changes (at);

-- Tokens that are no longer good although their time is not up.
CREATE TABLE IF NOT EXISTS endings (
    token_id  UUID   NOT NULL PRIMARY KEY,
    change_id UUID   NOT NULL,
    ended_at  BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS endings_by_change ON endings (change_id);

CREATE INDEX IF NOT EXISTS endings_by_time ON endings (ended_at);

-- `place` is `signing`, `next` or `retired` and the key's id.
CREATE TABLE IF NOT EXISTS signing_keys (
    place TEXT   NOT NULL PRIMARY KEY,
    kid   TEXT   NOT NULL,
    pem   TEXT   NOT NULL,
    until BIGINT
);

-- Has a row while everything is being moved here from another database.
CREATE TABLE IF NOT EXISTS moves (
    id BIGINT NOT NULL PRIMARY KEY
);

-- Failed logins by account, which stands there as a keyed hash of its address. A budget is full again at `recovered_at`.
CREATE TABLE IF NOT EXISTS login_failures (
    account      BYTEA       NOT NULL PRIMARY KEY,
    recovered_at BIGINT      NOT NULL,
    changed_at   TIMESTAMPTZ NOT NULL
);

CREATE INDEX IF NOT EXISTS login_failures_by_change ON login_failures (changed_at);

CREATE INDEX IF NOT EXISTS login_failures_by_recovery ON login_failures (recovered_at);

-- The secret of these hashes, in one row.
CREATE TABLE IF NOT EXISTS account_secrets (
    id     BIGINT NOT NULL PRIMARY KEY,
    secret BYTEA  NOT NULL
);
