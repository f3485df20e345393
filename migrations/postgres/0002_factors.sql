-- The kinds of second factors that the user holds, separated by spaces: what the tables below have for the user. Every transaction
-- that changes one of them sets it. NULL is none: not every database adds a column with a default.
ALTER TABLE users ADD COLUMN IF NOT EXISTS factors TEXT;

-- Passkeys, and security keys that do not verify their user. `public_key` is a COSE key. `user_handle` is what the authenticator
-- knows the user by.
CREATE TABLE IF NOT EXISTS passkeys (
    id              UUID    NOT NULL PRIMARY KEY,
    user_id         UUID    NOT NULL,
    credential_id   BYTEA   NOT NULL CONSTRAINT passkeys_by_credential_id UNIQUE,
    rp_id           TEXT    NOT NULL,
    user_handle     BYTEA   NOT NULL,
    public_key      BYTEA   NOT NULL,
    verifies_user   BOOLEAN NOT NULL,
    aaguid          UUID    NOT NULL,
    name            TEXT    NOT NULL,
    transports      TEXT    NOT NULL,
    sign_count      BIGINT  NOT NULL,
    backup_eligible BOOLEAN NOT NULL,
    backed_up       BOOLEAN NOT NULL,
    created_at      BIGINT  NOT NULL,
    last_used_at    BIGINT
);

CREATE INDEX IF NOT EXISTS passkeys_by_user ON passkeys (user_id);

CREATE INDEX IF NOT EXISTS passkeys_by_rp_id ON passkeys (rp_id);

-- The secrets of authenticator apps, at most one per user. `secret` is encrypted. A code of the time step `last_step` or an earlier
-- one is void.
CREATE TABLE IF NOT EXISTS totp_secrets (
    user_id      UUID    NOT NULL PRIMARY KEY,
    secret       BYTEA   NOT NULL,
    last_step    BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    last_used_at BIGINT
);

-- Recovery codes that have not been used. Only their digests are stored.
CREATE TABLE IF NOT EXISTS recovery_codes (
    id         UUID    NOT NULL PRIMARY KEY,
    user_id    UUID    NOT NULL,
    digest     BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE INDEX IF NOT EXISTS recovery_codes_by_user ON recovery_codes (user_id);

-- Browsers that a user trusts: a password is enough there. Void when the user has another `password_version`.
CREATE TABLE IF NOT EXISTS trusted_devices (
    id               UUID    NOT NULL PRIMARY KEY,
    user_id          UUID    NOT NULL,
    password_version BIGINT  NOT NULL,
    address          TEXT    NOT NULL,
    user_agent       TEXT    NOT NULL,
    created_at       BIGINT  NOT NULL,
    expires_at       BIGINT  NOT NULL
);

CREATE INDEX IF NOT EXISTS trusted_devices_by_user ON trusted_devices (user_id);

CREATE INDEX IF NOT EXISTS trusted_devices_by_expiry ON trusted_devices (expires_at);
