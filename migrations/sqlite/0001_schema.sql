-- Ids are UUIDs of 16 bytes. Times are milliseconds since 1970.

-- `email_key` is the address in the form that is compared. `known_networks` lists the networks from which the user has
-- signed in, each with the time: `address=milliseconds`, separated by spaces.
CREATE TABLE users (
    id               BLOB    NOT NULL PRIMARY KEY,
    name             TEXT    NOT NULL,
    email            TEXT    NOT NULL,
    email_key        TEXT    NOT NULL,
    email_verified   INTEGER NOT NULL,
    password_hash    TEXT,
    password_version INTEGER NOT NULL,
    roles            TEXT    NOT NULL,
    disabled         INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    last_login_at    INTEGER,
    known_networks   TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX users_by_email_key ON users (email_key);

CREATE TABLE reset_codes (
    user_id    BLOB    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reset_codes_by_digest ON reset_codes (digest);

-- A session also ends `idle_ms` after its last use, unless that is 0.
CREATE TABLE sessions (
    id           BLOB    NOT NULL PRIMARY KEY,
    user_id      BLOB    NOT NULL,
    token_id     BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    idle_ms      INTEGER NOT NULL,
    address      TEXT    NOT NULL,
    user_agent   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Tokens that were revoked or replaced before they expired. Numbers increase and are never reused, so a reader that
-- remembers the last number it has read misses no row.
CREATE TABLE ended_tokens (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    token_id BLOB    NOT NULL UNIQUE,
    ended_at INTEGER NOT NULL
) STRICT;

CREATE INDEX ended_tokens_by_time ON ended_tokens (ended_at);

-- Sign-in codes that have been used. A code is kept until it has expired.
CREATE TABLE used_codes (
    id         BLOB    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX used_codes_by_expiry ON used_codes (expires_at);

-- Failed logins. `account` is a keyed hash of the address. The account's budget is full again at `recovered_at`.
CREATE TABLE login_failures (
    account      BLOB    NOT NULL PRIMARY KEY,
    recovered_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failures_by_recovery ON login_failures (recovered_at);

-- The key of these hashes, in one row.
CREATE TABLE account_secrets (
    id     INTEGER NOT NULL PRIMARY KEY,
    secret BLOB    NOT NULL
) STRICT;

-- Has a row while a move into this database is unfinished.
CREATE TABLE unfinished_moves (
    id INTEGER NOT NULL PRIMARY KEY
) STRICT;
