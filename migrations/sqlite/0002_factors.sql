-- The kinds of second factors that the user holds, separated by spaces: what the tables below have for the user. Every transaction
-- that changes one of them sets it. NULL is none.
ALTER TABLE users ADD COLUMN factors TEXT;

-- Passkeys, and security keys that do not verify their user. `public_key` is a COSE key. `user_handle` is what the authenticator
-- knows the user by.
CREATE TABLE passkeys (
    id              BLOB    NOT NULL PRIMARY KEY,
    user_id         BLOB    NOT NULL,
    credential_id   BLOB    NOT NULL,
    rp_id           TEXT    NOT NULL,
    user_handle     BLOB    NOT NULL,
    public_key      BLOB    NOT NULL,
    verifies_user   INTEGER NOT NULL,
    aaguid          BLOB    NOT NULL,
    name            TEXT    NOT NULL,
    transports      TEXT    NOT NULL,
    sign_count      INTEGER NOT NULL,
    backup_eligible INTEGER NOT NULL,
    backed_up       INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    last_used_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX passkeys_by_credential_id ON passkeys (credential_id);
CREATE INDEX passkeys_by_user ON passkeys (user_id);
CREATE INDEX passkeys_by_rp_id ON passkeys (rp_id);

-- The secrets of authenticator apps, at most one per user. `secret` is encrypted. A code of the time step `last_step` or an earlier
-- one is void.
CREATE TABLE totp_secrets (
    user_id      BLOB    NOT NULL PRIMARY KEY,
    secret       BLOB    NOT NULL,
    last_step    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- Recovery codes that have not been used. Only their digests are stored.
CREATE TABLE recovery_codes (
    id         BLOB    NOT NULL PRIMARY KEY,
    user_id    BLOB    NOT NULL,
    digest     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX recovery_codes_by_user ON recovery_codes (user_id);

-- Browsers that a user trusts: a password is enough there. Void when the user has another `password_version`.
CREATE TABLE trusted_devices (
    id               BLOB    NOT NULL PRIMARY KEY,
    user_id          BLOB    NOT NULL,
    password_version INTEGER NOT NULL,
    address          TEXT    NOT NULL,
    user_agent       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX trusted_devices_by_user ON trusted_devices (user_id);
CREATE INDEX trusted_devices_by_expiry ON trusted_devices (expires_at);
