-- Times in BIGINT are milliseconds since 1970, by the clock of the instance that wrote them. Times in TIMESTAMPTZ are by
-- the clock of the database.

-- `email_key` is the address in the form that is compared. `known_networks` lists the networks from which the user has
-- signed in, each with the time: `address=milliseconds`, separated by spaces.
CREATE TABLE IF NOT EXISTS users (
    id               UUID             NOT NULL PRIMARY KEY,
    name             TEXT             NOT NULL,
    email            TEXT             NOT NULL,
    email_key        TEXT COLLATE "C" NOT NULL CONSTRAINT users_by_email_key UNIQUE,
    email_verified   BOOLEAN          NOT NULL,
    password_hash    TEXT,
    password_version BIGINT           NOT NULL,
    roles            TEXT             NOT NULL,
    disabled         BOOLEAN          NOT NULL,
    created_at       BIGINT           NOT NULL,
    updated_at       BIGINT           NOT NULL,
    last_login_at    BIGINT,
    known_networks   TEXT             NOT NULL DEFAULT ''
);

-- A session also ends `idle_ms` after its last use, unless that is 0. `methods` are the ways in which the user has proved who
-- they are, at `authenticated_at`, separated by spaces.
CREATE TABLE IF NOT EXISTS sessions (
    id               UUID   NOT NULL PRIMARY KEY,
    user_id          UUID   NOT NULL,
    token_id         UUID   NOT NULL,
    created_at       BIGINT NOT NULL,
    last_seen_at     BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    idle_ms          BIGINT NOT NULL,
    authenticated_at BIGINT NOT NULL,
    methods          TEXT   NOT NULL,
    address          TEXT   NOT NULL,
    user_agent       TEXT   NOT NULL
);

CREATE INDEX IF NOT EXISTS sessions_by_user ON sessions (user_id);

CREATE INDEX IF NOT EXISTS sessions_by_expiry ON sessions (expires_at);

-- Changes that every instance must read: to a user, or to the signing keys where `user_id` is null. The writer chooses
-- the id, so it can check a commit whose response was lost. A row with `void` prevents a commit that has not happened
-- from happening later.
CREATE TABLE IF NOT EXISTS changes (
    id      UUID        NOT NULL PRIMARY KEY,
    user_id UUID,
    void    BOOLEAN     NOT NULL,
    at      TIMESTAMPTZ NOT NULL
);

CREATE INDEX IF NOT EXISTS changes_by_time ON changes (at);

-- Tokens that were revoked or replaced before they expired.
CREATE TABLE IF NOT EXISTS ended_tokens (
    token_id  UUID   NOT NULL PRIMARY KEY,
    change_id UUID   NOT NULL,
    ended_at  BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS ended_tokens_by_change ON ended_tokens (change_id);

CREATE INDEX IF NOT EXISTS ended_tokens_by_time ON ended_tokens (ended_at);

-- `slot` is `signing`, `next`, or `retired` and the key's id.
CREATE TABLE IF NOT EXISTS signing_keys (
    slot  TEXT   NOT NULL PRIMARY KEY,
    kid   TEXT   NOT NULL,
    pem   TEXT   NOT NULL,
    until BIGINT
);

-- Has a row while a move into this database is unfinished.
CREATE TABLE IF NOT EXISTS unfinished_moves (
    id BIGINT NOT NULL PRIMARY KEY
);

-- Sign-in codes that have been used. A code is kept until it has expired.
CREATE TABLE IF NOT EXISTS used_codes (
    id         UUID   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS used_codes_by_expiry ON used_codes (expires_at);

-- The key of cookies, in one row.
CREATE TABLE IF NOT EXISTS cookie_secrets (
    id     BIGINT NOT NULL PRIMARY KEY,
    secret BYTEA  NOT NULL
);

-- One-time secrets in mails and from the operator. `email` is the address that the secret was sent to. The secret is void when the user has
-- another address than `user_email` or another `password_version`. Only its digest is stored. `guesses` is how many codes were
-- typed for it.
CREATE TABLE IF NOT EXISTS one_time_secrets (
    id               UUID             NOT NULL PRIMARY KEY,
    purpose          TEXT             NOT NULL,
    user_id          UUID             NOT NULL,
    email            TEXT             NOT NULL,
    email_key        TEXT COLLATE "C" NOT NULL,
    user_email       TEXT             NOT NULL,
    password_version BIGINT           NOT NULL,
    digest           BYTEA            NOT NULL,
    expires_at       BIGINT           NOT NULL,
    guesses          BIGINT           NOT NULL
);

CREATE INDEX IF NOT EXISTS one_time_secrets_by_digest ON one_time_secrets (digest);

CREATE INDEX IF NOT EXISTS one_time_secrets_by_email_key ON one_time_secrets (email_key);

CREATE INDEX IF NOT EXISTS one_time_secrets_by_user ON one_time_secrets (user_id);

CREATE INDEX IF NOT EXISTS one_time_secrets_by_expiry ON one_time_secrets (expires_at);

-- Mail that waits to be sent, or was given up. `message` is JSON and contains no secret. Nobody else sends a mail before
-- `claimed_until`. The earliest `turn_at` is sent first. It is null while a mail waits until `due_at` to be tried again.
CREATE TABLE IF NOT EXISTS outbox (
    id            UUID   NOT NULL PRIMARY KEY,
    user_id       UUID,
    recipient     TEXT   NOT NULL,
    language      TEXT   NOT NULL,
    message       TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    due_at        BIGINT NOT NULL,
    attempts      BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    failure       TEXT,
    given_up_at   BIGINT,
    turn_at       BIGINT
);

CREATE INDEX IF NOT EXISTS outbox_by_turn ON outbox (given_up_at, turn_at, due_at, id);

CREATE INDEX IF NOT EXISTS outbox_by_user ON outbox (user_id);

-- Invitations, at most one to an address. Without `invited_by`, the operator has made it.
CREATE TABLE IF NOT EXISTS invitations (
    email_key  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id         UUID             NOT NULL CONSTRAINT invitations_by_id UNIQUE,
    email      TEXT             NOT NULL,
    roles      TEXT             NOT NULL,
    digest     BYTEA            NOT NULL,
    invited_by UUID,
    is_mailed  BOOLEAN          NOT NULL,
    created_at BIGINT           NOT NULL,
    expires_at BIGINT           NOT NULL,
    guesses    BIGINT           NOT NULL
);

CREATE INDEX IF NOT EXISTS invitations_by_digest ON invitations (digest);

CREATE INDEX IF NOT EXISTS invitations_by_inviter ON invitations (invited_by);

CREATE INDEX IF NOT EXISTS invitations_by_expiry ON invitations (expires_at);

-- Failed logins. `account` is a keyed hash of the address. The account's budget is full again at `recovered_at`.
CREATE TABLE IF NOT EXISTS login_failures (
    account      BYTEA       NOT NULL PRIMARY KEY,
    recovered_at BIGINT      NOT NULL,
    changed_at   TIMESTAMPTZ NOT NULL
);

CREATE INDEX IF NOT EXISTS login_failures_by_change ON login_failures (changed_at);

CREATE INDEX IF NOT EXISTS login_failures_by_recovery ON login_failures (recovered_at);

-- The key of these hashes, in one row.
CREATE TABLE IF NOT EXISTS account_secrets (
    id     BIGINT NOT NULL PRIMARY KEY,
    secret BYTEA  NOT NULL
);

-- The schemes and costs of imported password hashes: the text of a hash up to its salt. While there are any, a failed login
-- does the work of the slowest one.
CREATE TABLE IF NOT EXISTS foreign_hashes (
    prefix TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Users whose password hash was imported and has not been replaced by one of ours. `prefix` is the scheme and cost of the hash, as
-- in `foreign_hashes`.
CREATE TABLE IF NOT EXISTS imported_hashes (
    user_id     UUID             NOT NULL PRIMARY KEY,
    prefix      TEXT COLLATE "C" NOT NULL,
    imported_at BIGINT           NOT NULL
);

CREATE INDEX IF NOT EXISTS imported_hashes_by_prefix ON imported_hashes (prefix);
