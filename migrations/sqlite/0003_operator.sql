-- The audit trail. An id begins with the time, so that rows sort by it. `number` is the place in the Merkle tree, and null until the
-- event has one. `actor_id` is the user who did it, if that is not the subject. `personal` is what the event says of its person: a
-- random salt and JSON. When the account is deleted, `commitment`, its hash, takes its place. `record` is everything else as JSON.
-- `salt` belongs to the hash in the tree.
CREATE TABLE audit_events (
    id         BLOB    NOT NULL PRIMARY KEY,
    number     INTEGER,
    kind       TEXT    NOT NULL,
    subject_id BLOB,
    actor_id   BLOB,
    salt       BLOB    NOT NULL,
    personal   BLOB,
    commitment BLOB,
    record     TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_events_by_number ON audit_events (number, id);
CREATE INDEX audit_events_by_kind ON audit_events (kind, id);
CREATE INDEX audit_events_by_subject ON audit_events (subject_id, id);
CREATE INDEX audit_events_by_actor ON audit_events (actor_id, id) WHERE actor_id IS NOT NULL;

-- The hashes of the tree, up to 256 in a row. `path` is that of C2SP tlog-tiles. They stay when an event is deleted. `pruned` has a bit for
-- each event that has reached the end of its retention, and a mark.
CREATE TABLE audit_tiles (
    path   TEXT NOT NULL PRIMARY KEY,
    hashes BLOB NOT NULL,
    pruned BLOB
) STRICT;

-- `log` is `own` for the tree above, or the origin of a log that this installation witnesses.
-- `checkpoint` is the latest signed one.
CREATE TABLE audit_tree (
    log        TEXT    NOT NULL PRIMARY KEY,
    size       INTEGER NOT NULL,
    hash       BLOB    NOT NULL,
    checkpoint TEXT
) STRICT, WITHOUT ROWID;

-- Deleted users whose personal parts of events are to be erased. They are erased when `due_at` comes, and once more a day later.
CREATE TABLE erasures (
    user_id    BLOB    NOT NULL PRIMARY KEY,
    deleted_at INTEGER NOT NULL,
    due_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX erasures_by_due_time ON erasures (due_at);

-- How many events of a kind there were on a day: `2027-01-15 signed_in`.
CREATE TABLE audit_days (
    day_and_kind TEXT    NOT NULL PRIMARY KEY,
    count        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

-- The terms that find a user: the words of the name and the address, the roles, and whether the user is disabled. `place` is the
-- term, a space and `email_key`: a search reads a range of places.
CREATE TABLE user_terms (
    place     TEXT NOT NULL PRIMARY KEY,
    email_key TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX user_terms_by_email_key ON user_terms (email_key);

-- How far the check for missing terms is: the users up to the address `checked_until` have theirs. It goes on at `due_at`,
-- which is 0 until all have been checked once.
CREATE TABLE user_terms_check (
    id            INTEGER NOT NULL PRIMARY KEY,
    checked_until TEXT    NOT NULL,
    due_at        INTEGER NOT NULL
) STRICT;

-- The sessions of a user in the order of their age: a login ends the oldest. It also does what sessions_by_user does, which a later
-- migration drops: the previous release knows no other.
CREATE INDEX sessions_by_age ON sessions (user_id, created_at, id);

-- The accounts of people at other providers, by which they sign in. `login` is the name of the login by which it was used last, and
-- `display` what the person recognises it by.
CREATE TABLE identities (
    id           BLOB NOT NULL PRIMARY KEY,
    user_id      BLOB NOT NULL,
    issuer       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    login        TEXT NOT NULL,
    display      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;

CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE INDEX identities_by_user ON identities (user_id, created_at);

-- Roles that a user has only by an identity, each with its id: `ID:ROLE ID:ROLE`. They are among those in `roles`.
ALTER TABLE users ADD COLUMN login_roles TEXT;

-- The identity that a session began with, and the id of the session there.
ALTER TABLE sessions ADD COLUMN identity_id BLOB;
ALTER TABLE sessions ADD COLUMN upstream_sid TEXT;

CREATE INDEX sessions_by_upstream_sid ON sessions (upstream_sid) WHERE upstream_sid IS NOT NULL;
