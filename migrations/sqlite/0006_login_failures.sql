-- Failed logins by account, which stands there as a keyed hash of its address. A budget is full again at `recovered_at`.
CREATE TABLE login_failures (
    account      BLOB    NOT NULL PRIMARY KEY,
    recovered_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failures_by_recovery ON login_failures (recovered_at);

-- The secret of these hashes, in one row.
CREATE TABLE account_secrets (
    id     INTEGER NOT NULL PRIMARY KEY,
    secret BLOB    NOT NULL
) STRICT;

-- Networks from which a user has signed in, each with the time: `address=milliseconds`, separated by spaces.
ALTER TABLE users ADD COLUMN known_networks TEXT NOT NULL DEFAULT '';
