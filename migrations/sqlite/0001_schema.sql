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

-- A session also ends `idle_ms` after its last use, unless that is 0. `methods` are the ways in which the user has proved who
-- they are, at `authenticated_at`, separated by spaces.
CREATE TABLE sessions (
    id               BLOB    NOT NULL PRIMARY KEY,
    user_id          BLOB    NOT NULL,
    token_id         BLOB    NOT NULL,
    created_at       INTEGER NOT NULL,
    last_seen_at     INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    idle_ms          INTEGER NOT NULL,
    authenticated_at INTEGER NOT NULL,
    methods          TEXT    NOT NULL,
    address          TEXT    NOT NULL,
    user_agent       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Tokens that were revoked or replaced before they expired. Numbers increase and are never reused, so a reader that
-- remembers the last number it has read misses no row. `change_id` is the nil id.
CREATE TABLE ended_tokens (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    token_id  BLOB    NOT NULL UNIQUE,
    change_id BLOB    NOT NULL,
    ended_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX ended_tokens_by_time ON ended_tokens (ended_at);

-- Sign-in codes that have been used. A code is kept until it has expired.
CREATE TABLE used_codes (
    id         BLOB    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX used_codes_by_expiry ON used_codes (expires_at);

-- One-time secrets in mails and from the operator. `email` is the address that the secret was sent to. The secret is void when the user has
-- another address than `user_email` or another `password_version`. Only its digest is stored. `guesses` is how many codes were
-- typed for it.
CREATE TABLE one_time_secrets (
    id               BLOB    NOT NULL PRIMARY KEY,
    purpose          TEXT    NOT NULL,
    user_id          BLOB    NOT NULL,
    email            TEXT    NOT NULL,
    email_key        TEXT    NOT NULL,
    user_email       TEXT    NOT NULL,
    password_version INTEGER NOT NULL,
    digest           BLOB    NOT NULL,
    expires_at       INTEGER NOT NULL,
    guesses          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX one_time_secrets_by_digest ON one_time_secrets (digest);
CREATE INDEX one_time_secrets_by_email_key ON one_time_secrets (email_key);
CREATE INDEX one_time_secrets_by_user ON one_time_secrets (user_id);
CREATE INDEX one_time_secrets_by_expiry ON one_time_secrets (expires_at);

-- Mail that waits to be sent, or was given up. `message` is JSON and contains no secret. Nobody else sends a mail before
-- `claimed_until`. The earliest `turn_at` is sent first. It is null while a mail waits until `due_at` to be tried again.
CREATE TABLE outbox (
    id            BLOB    NOT NULL PRIMARY KEY,
    user_id       BLOB,
    recipient     TEXT    NOT NULL,
    language      TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    claimed_until INTEGER NOT NULL,
    failure       TEXT,
    given_up_at   INTEGER,
    turn_at       INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_by_turn ON outbox (given_up_at, turn_at, due_at, id);
CREATE INDEX outbox_by_user ON outbox (user_id);

-- Invitations, at most one to an address. Without `invited_by`, the operator has made it.
CREATE TABLE invitations (
    email_key  TEXT    NOT NULL PRIMARY KEY,
    id         BLOB    NOT NULL,
    email      TEXT    NOT NULL,
    roles      TEXT    NOT NULL,
    digest     BLOB    NOT NULL,
    invited_by BLOB,
    is_mailed  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    guesses    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX invitations_by_id ON invitations (id);
CREATE INDEX invitations_by_digest ON invitations (digest);
CREATE INDEX invitations_by_inviter ON invitations (invited_by);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- Failed logins. `account` is a keyed hash of the address. The account's budget is full again at `recovered_at`. `changed_at` is
-- in the format of CURRENT_TIMESTAMP.
CREATE TABLE login_failures (
    account      BLOB    NOT NULL PRIMARY KEY,
    recovered_at INTEGER NOT NULL,
    changed_at   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failures_by_change ON login_failures (changed_at);
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

-- The schemes and costs of imported password hashes: the text of a hash up to its salt. While there are any, a failed login
-- does the work of the slowest one.
CREATE TABLE foreign_hashes (
    prefix TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Users whose password hash was imported and has not been replaced by one of ours. `prefix` is the scheme and cost of the hash, as
-- in `foreign_hashes`.
CREATE TABLE imported_hashes (
    user_id     BLOB    NOT NULL PRIMARY KEY,
    prefix      TEXT    NOT NULL,
    imported_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX imported_hashes_by_prefix ON imported_hashes (prefix);
