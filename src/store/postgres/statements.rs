//! All statements, in SQL that PostgreSQL and compatible distributed databases have in common.

use crate::store::{
    columns::{invitation_columns, mail_columns, one_time_columns, session_columns, user_columns},
    counts,
};

/// Declares the statements, and a list of all of them for the tests.
macro_rules! statements {
    ($($(#[$attribute:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$attribute])* pub(super) const $name: &str = $sql;)*
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// The columns of a user record: the user, their reset code and their known networks.
macro_rules! user_record_columns {
    () => {
        concat!(
            user_columns!("u."),
            ", u.reset_digest, u.reset_expires_at, u.known_networks, \
             (SELECT i.imported_at FROM imported_hashes i WHERE i.user_id = u.id)"
        )
    };
}

macro_rules! insert_session {
    () => {
        concat!(
            "INSERT INTO sessions (",
            session_columns!(""),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        )
    };
}

macro_rules! insert_invitation {
    () => {
        concat!(
            "INSERT INTO invitations (",
            invitation_columns!(),
            ", email_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        )
    };
}

/// Mail that has a turn and that nobody has claimed at $1. A comparison excludes null.
macro_rules! is_ready {
    () => {
        "given_up_at IS NULL AND turn_at >= 0 AND claimed_until <= $1"
    };
}

/// The parameters of a statement with [`BATCH_IDS`] ids.
macro_rules! ids {
    () => {
        "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    };
}

/// The unexpired session of a token that was replaced at or before $4.
macro_rules! reused {
    () => {
        "id = $1 AND user_id = $2 AND token_id <> $3 AND expires_at > $5 AND EXISTS \
         (SELECT 1 FROM ended_tokens e WHERE e.token_id = $3 AND e.ended_at <= $4)"
    };
}

/// The number of ids that one query looks up.
pub(super) const BATCH_IDS: usize = 16;

statements! {
    BEGIN = "BEGIN";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    BEGIN_SNAPSHOT = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

    SCHEMA_VERSION = "SELECT max(version) FROM schema_versions";
    ADD_SCHEMA_VERSION =
        "INSERT INTO schema_versions (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";

    ADD_CHANGE =
        "INSERT INTO changes (id, user_id, void, at) VALUES ($1, $2, FALSE, CURRENT_TIMESTAMP)";
    /// Waits for a commit in progress. If it has not happened, inserts a void row, so that it cannot happen later.
    CHECK_COMMIT =
        "INSERT INTO changes (id, user_id, void, at) VALUES ($1, $2, TRUE, CURRENT_TIMESTAMP) \
         ON CONFLICT (id) DO UPDATE SET at = CURRENT_TIMESTAMP RETURNING void";
    /// The range overlaps that of the previous poll, because a slow commit becomes visible late.
    CHANGES_SINCE =
        "SELECT c.id, c.user_id, e.token_id, e.ended_at FROM changes c \
         LEFT JOIN ended_tokens e ON e.change_id = c.id WHERE c.at >= $1";
    TIME = "SELECT CURRENT_TIMESTAMP";
    /// The driver runs the same statement when it connects.
    IS_READ_ONLY = "SHOW transaction_read_only";
    DELETE_EXPIRED_CHANGES =
        "DELETE FROM changes WHERE id IN \
         (SELECT id FROM changes WHERE at < CURRENT_TIMESTAMP - INTERVAL '10 minutes' LIMIT $1)";

    ADD_USER = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    USER_BY_ID = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.id = $1");
    USERS_BY_ID = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.id IN ", ids!());
    USER_BY_EMAIL = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key = $1");
    USER_BY_RESET_CODE = concat!(
        "SELECT ", user_columns!("u."), " FROM users u \
         WHERE u.reset_digest = $1 AND u.reset_expires_at > $2 AND NOT u.disabled"
    );
    LOCK_USER = concat!(
        "SELECT ", user_record_columns!(), " FROM users u WHERE u.id = $1 \
         FOR UPDATE"
    );
    USERS = concat!(
        "SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key > $1 ORDER BY u.email_key LIMIT $2"
    );
    USERS_BY_EMAIL =
        concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key IN ", ids!());
    ADD_USER_IF_FREE = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING"
    );
    FOREIGN_HASHES = "SELECT prefix FROM foreign_hashes ORDER BY prefix";
    ADD_FOREIGN_HASH =
        "INSERT INTO foreign_hashes (prefix) VALUES ($1) ON CONFLICT (prefix) DO NOTHING";
    DELETE_UNUSED_FOREIGN_HASHES =
        "DELETE FROM foreign_hashes WHERE NOT EXISTS \
         (SELECT 1 FROM imported_hashes i WHERE i.prefix = foreign_hashes.prefix)";
    /// Of a user who has just been added with this hash. Another one with the same id stays as it is.
    ADD_IMPORTED_HASH =
        "INSERT INTO imported_hashes (user_id, prefix, imported_at) \
         SELECT u.id, CAST($2 AS TEXT), CAST($3 AS BIGINT) FROM users u WHERE u.id = $1 AND u.password_hash = $4 \
         ON CONFLICT (user_id) DO NOTHING";
    IMPORTED_HASHES =
        "SELECT i.user_id, u.email, i.prefix, i.imported_at FROM imported_hashes i JOIN users u ON u.id = i.user_id \
         WHERE i.user_id > $1 ORDER BY i.user_id LIMIT $2";
    DELETE_IMPORTED_HASH = "DELETE FROM imported_hashes WHERE user_id = $1";
    DROP_PASSWORD_HASH = "UPDATE users SET password_hash = NULL WHERE id = $1";
    HAS_USERS = "SELECT 1 FROM users LIMIT 1";
    SET_NAME_AND_EMAIL =
        "UPDATE users SET name = $2, email = $3, email_key = $4, email_verified = $5, updated_at = $6 WHERE id = $1";
    SET_EMAIL_VERIFIED = "UPDATE users SET email_verified = $2, updated_at = $3 WHERE id = $1";
    REPLACE_PASSWORD_HASH = "UPDATE users SET password_hash = $2 WHERE id = $1";
    SET_PASSWORD =
        "UPDATE users SET password_hash = $2, updated_at = $3, password_version = password_version + 1, \
         reset_digest = NULL, reset_expires_at = NULL WHERE id = $1";
    SET_RESET_CODE = "UPDATE users SET reset_digest = $2, reset_expires_at = $3 WHERE id = $1";
    SET_ROLES = "UPDATE users SET roles = $2, updated_at = $3 WHERE id = $1";
    SET_DISABLED = "UPDATE users SET disabled = $2 WHERE id = $1";
    SET_LAST_LOGIN = "UPDATE users SET last_login_at = $2 WHERE id = $1";
    DELETE_USER = "DELETE FROM users WHERE id = $1";
    DELETE_EXPIRED_RESET_CODES =
        "UPDATE users SET reset_digest = NULL, reset_expires_at = NULL WHERE id IN \
         (SELECT id FROM users WHERE reset_digest IS NOT NULL AND reset_expires_at <= $1 LIMIT $2)";

    ADD_SESSION = insert_session!();
    SESSION_WITH_USER = concat!(
        "SELECT ", session_columns!("s."), ", ", user_columns!("u."), " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1"
    );
    SESSIONS_WITH_USERS = concat!(
        "SELECT ", session_columns!("s."), ", ", user_columns!("u."), " FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE s.id IN ", ids!()
    );
    SESSIONS_BY_USER = concat!(
        "SELECT ", session_columns!("s."), " FROM sessions s WHERE s.user_id = $1 AND s.expires_at > $2 \
         ORDER BY s.created_at, s.id"
    );
    END_TOKEN =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND user_id = $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSION = "DELETE FROM sessions WHERE id = $1 AND user_id = $2";
    /// The tokens of all sessions of a user but one.
    END_TOKENS =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND id <> $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
    END_TOKENS_OF_OLDEST =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2) \
         ON CONFLICT (token_id) DO NOTHING";
    END_OLDEST_SESSIONS =
        "DELETE FROM sessions WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    END_REPLACED_TOKEN =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND token_id = $2 ON CONFLICT (token_id) DO NOTHING";
    RENEW_SESSION = "UPDATE sessions SET token_id = $3 WHERE id = $1 AND token_id = $2";
    END_TOKEN_OF_REUSED = concat!(
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $6, $5 FROM sessions WHERE ",
        reused!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_REUSED_SESSION = concat!("DELETE FROM sessions WHERE ", reused!());
    ENDED_TOKENS = "SELECT token_id, ended_at FROM ended_tokens ORDER BY ended_at";
    DELETE_ENDED_TOKENS =
        "DELETE FROM ended_tokens WHERE token_id IN (SELECT token_id FROM ended_tokens WHERE ended_at < $1 LIMIT $2)";
    SET_LAST_SEEN = "UPDATE sessions SET last_seen_at = $2 WHERE id = $1";
    DELETE_EXPIRED_SESSIONS =
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 LIMIT $2)";

    USE_CODE =
        "INSERT INTO used_codes (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    DELETE_EXPIRED_USED_CODES =
        "DELETE FROM used_codes WHERE id IN (SELECT id FROM used_codes WHERE expires_at <= $1 LIMIT $2)";

    /// It may run twice, because the outcome of a commit may be lost.
    ADD_ONE_TIME = concat!(
        "INSERT INTO one_times (", one_time_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING"
    );
    ONE_TIME_BY_DIGEST = concat!(
        "SELECT ", one_time_columns!("o."), ", ", user_columns!("u."), " FROM one_times o JOIN users u ON u.id = o.user_id \
         WHERE o.digest = $1 AND o.purpose = $2"
    );
    ONE_TIMES_BY_EMAIL = concat!(
        "SELECT ", one_time_columns!("o."), ", ", user_columns!("u."), " FROM one_times o JOIN users u ON u.id = o.user_id \
         WHERE o.email_key = $1 AND o.purpose = $2 AND o.expires_at > $3 ORDER BY o.expires_at DESC, o.id DESC LIMIT $4"
    );
    /// Rows that are older than the column have null in it.
    CHARGE_ONE_TIMES =
        "UPDATE one_times SET guesses = COALESCE(guesses, 0) + 1 \
         WHERE email_key = $1 AND purpose = $2 AND expires_at > $3";
    ONE_TIME_BY_USER = concat!(
        "SELECT ", one_time_columns!("o."), " FROM one_times o WHERE o.user_id = $1 AND o.purpose = $2 \
         AND o.expires_at > $3 AND o.user_email = $4 AND o.password_version = $5 \
         ORDER BY o.expires_at DESC, o.id DESC LIMIT 1"
    );
    LOCK_ONE_TIME = "SELECT id FROM one_times WHERE id = $1 AND user_id = $2 FOR UPDATE";
    SET_EMAIL =
        "UPDATE users SET email = $2, email_key = $3, email_verified = TRUE, updated_at = $4 WHERE id = $1";
    DELETE_ONE_TIME = "DELETE FROM one_times WHERE id = $1";
    DELETE_ONE_TIMES = "DELETE FROM one_times WHERE user_id = $1";
    /// All but those of the purpose $2 that expire before $3.
    DELETE_OTHER_ONE_TIMES =
        "DELETE FROM one_times WHERE user_id = $1 AND NOT (purpose = $2 AND expires_at < $3)";
    /// Those of the purpose $2 that were not sent to the address $3.
    DELETE_ONE_TIMES_TO_OTHERS =
        "DELETE FROM one_times WHERE user_id = $1 AND purpose = $2 AND email_key <> $3";
    DELETE_ONE_TIMES_OF_PURPOSE = "DELETE FROM one_times WHERE user_id = $1 AND purpose = $2";
    DELETE_EXPIRED_ONE_TIMES =
        "DELETE FROM one_times WHERE id IN (SELECT id FROM one_times WHERE expires_at <= $1 LIMIT $2)";

    /// It may run twice, as [`ADD_ONE_TIME`].
    ADD_MAIL = concat!(
        "INSERT INTO outbox (", mail_columns!(), ", claimed_until, turn_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12) ON CONFLICT (id) DO NOTHING"
    );
    /// The order names `given_up_at`, which is null in every row, because the index starts with it.
    READY_MAIL = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE ", is_ready!(), " ORDER BY given_up_at, turn_at, due_at, id LIMIT $2"
    );
    /// Mail without a turn whose next attempt is due.
    POSTPONED_MAIL = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE given_up_at IS NULL AND turn_at IS NULL AND due_at <= $1 \
         ORDER BY given_up_at, turn_at, due_at, id LIMIT $2"
    );
    GIVE_TURN = "UPDATE outbox SET turn_at = $2 WHERE id = $1 AND turn_at IS NULL";
    /// Of two instances that have read the same mail, one changes a row.
    CLAIM_MAIL = concat!("UPDATE outbox SET claimed_until = $3 WHERE id = $2 AND ", is_ready!());
    RELEASE_MAIL = "UPDATE outbox SET claimed_until = 0 WHERE id = $1";
    POSTPONE_MAIL =
        "UPDATE outbox SET claimed_until = 0, turn_at = NULL, due_at = $2, attempts = attempts + 1, failure = $3 WHERE id = $1";
    GIVE_UP_MAIL =
        "UPDATE outbox SET claimed_until = 0, given_up_at = $2, failure = $3, \
         attempts = attempts + CASE WHEN expires_at > $2 THEN 1 ELSE 0 END WHERE id = $1";
    DELETE_MAIL = "DELETE FROM outbox WHERE id = $1";
    DELETE_MAIL_OF_USER = "DELETE FROM outbox WHERE user_id = $1";
    MAIL_QUEUE = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE (created_at, id) > \
         (COALESCE((SELECT a.created_at FROM outbox a WHERE a.id = $1), $2), $1) ORDER BY created_at, id LIMIT $3"
    );
    RETRY_MAIL = "UPDATE outbox SET due_at = $1, given_up_at = NULL WHERE expires_at > $1";
    SIZES = counts::SIZES;
    DELETE_GIVEN_UP_MAIL =
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE given_up_at <= $1 LIMIT $2)";

    /// Replaces an earlier invitation to the same address.
    ADD_INVITATION = concat!(
        insert_invitation!(), " ON CONFLICT (email_key) DO UPDATE SET id = excluded.id, email = excluded.email, \
         roles = excluded.roles, invited_by = excluded.invited_by, is_mailed = excluded.is_mailed, \
         created_at = excluded.created_at, expires_at = excluded.expires_at, digest = excluded.digest, guesses = excluded.guesses"
    );
    INVITATION_BY_DIGEST = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE digest = $1 AND expires_at > $2"
    );
    INVITATION_BY_EMAIL = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key = $1 AND expires_at > $2"
    );
    CHARGE_INVITATION =
        "UPDATE invitations SET guesses = COALESCE(guesses, 0) + 1 WHERE email_key = $1 AND expires_at > $2";
    INVITATIONS = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key > $1 AND expires_at > $2 \
         ORDER BY email_key LIMIT $3"
    );
    INVITATIONS_BY_INVITER = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key > $1 AND expires_at > $2 \
         AND invited_by = $4 ORDER BY email_key LIMIT $3"
    );
    /// For a new user with the address $2 at the time $3.
    USE_INVITATION = "DELETE FROM invitations WHERE id = $1 AND email_key = $2 AND expires_at > $3";
    DELETE_INVITATION = "DELETE FROM invitations WHERE id = $1";
    /// The invitations that a user has made, and the one to an address.
    DELETE_INVITATIONS_OF_USER = "DELETE FROM invitations WHERE invited_by = $1 OR email_key = $2";
    DELETE_EXPIRED_INVITATIONS =
        "DELETE FROM invitations WHERE email_key IN \
         (SELECT email_key FROM invitations WHERE expires_at <= $1 LIMIT $2)";

    ACCOUNT_SECRET = "SELECT secret FROM account_secrets WHERE id = 1";
    ADD_ACCOUNT_SECRET =
        "INSERT INTO account_secrets (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    /// An update and not a deletion, so that other instances read it.
    CLEAR_FAILURES =
        "UPDATE login_failures SET recovered_at = $2, changed_at = CURRENT_TIMESTAMP WHERE account = $1";
    /// Tells other instances to forget the failures on an account: budgets of networks are only in their memory. A row of its
    /// own, which failures from before do not change when they are saved late.
    MARK_UNLOCKED =
        "INSERT INTO login_failures (account, recovered_at, changed_at) VALUES ($1, $2, CURRENT_TIMESTAMP) \
         ON CONFLICT (account) DO UPDATE SET recovered_at = excluded.recovered_at, changed_at = CURRENT_TIMESTAMP";
    ADD_FAILURES =
        "INSERT INTO login_failures (account, recovered_at, changed_at) VALUES ($1, $2, CURRENT_TIMESTAMP) \
         ON CONFLICT (account) DO UPDATE SET changed_at = CURRENT_TIMESTAMP, recovered_at = $4 + \
         CASE WHEN login_failures.recovered_at > $3 THEN login_failures.recovered_at ELSE $3 END";
    ALL_FAILURES =
        "SELECT account, recovered_at FROM login_failures ORDER BY recovered_at DESC LIMIT 100000";
    RECENT_FAILURES =
        "SELECT account, recovered_at FROM login_failures \
         WHERE changed_at >= CURRENT_TIMESTAMP - INTERVAL '10 seconds'";
    DELETE_FAILURES =
        "DELETE FROM login_failures WHERE account IN (SELECT account FROM login_failures WHERE recovered_at <= $1 \
         AND changed_at < CURRENT_TIMESTAMP - INTERVAL '10 minutes' LIMIT $2)";
    KNOWN_NETWORKS = "SELECT known_networks FROM users WHERE email_key = $1";
    SET_KNOWN_NETWORKS = "UPDATE users SET known_networks = $2 WHERE id = $1";

    SIZE = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM sessions)";
    UNFINISHED_MOVES = "SELECT id FROM unfinished_moves";
    BEGIN_MOVE = "INSERT INTO unfinished_moves (id) VALUES (1) ON CONFLICT (id) DO NOTHING";
    END_MOVE = "DELETE FROM unfinished_moves";
    /// When another connection of Doorward last began or ended a statement.
    LAST_ACTIVITY =
        "SELECT max(state_change) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND application_name = current_setting('application_name')";
    /// Locks all users, without sending them.
    LOCK_USERS = "SELECT count(*) FROM (SELECT id FROM users FOR UPDATE) locked";
    REMOVE_PASSWORDS =
        "UPDATE users SET password_hash = NULL, updated_at = $1, password_version = password_version + 1 \
         WHERE password_hash IS NOT NULL";
    /// Of the users with a role. $2 is the role between two spaces.
    REMOVE_PASSWORDS_OF_ROLE =
        "UPDATE users SET password_hash = NULL, updated_at = $1, password_version = password_version + 1 \
         WHERE password_hash IS NOT NULL AND position($2 in ' ' || roles || ' ') > 0";
    DELETE_IMPORTED_HASHES_WITHOUT_PASSWORD =
        "DELETE FROM imported_hashes WHERE user_id IN (SELECT id FROM users WHERE password_hash IS NULL)";
    DELETE_ALL_RESET_CODES =
        "UPDATE users SET reset_digest = NULL, reset_expires_at = NULL WHERE reset_digest IS NOT NULL";
    END_ALL_TOKENS =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $1, $2 FROM sessions \
         WHERE TRUE ON CONFLICT (token_id) DO NOTHING";
    DELETE_MAIL_LIKE = "DELETE FROM outbox WHERE message LIKE $1";
    DELETE_ALL_USERS = "DELETE FROM users";
    DELETE_ALL_SESSIONS = "DELETE FROM sessions";
    DELETE_ALL_ENDED_TOKENS = "DELETE FROM ended_tokens";
    DELETE_ALL_KEYS = "DELETE FROM signing_keys";
    DELETE_ALL_USED_CODES = "DELETE FROM used_codes";
    DELETE_ALL_COOKIE_SECRETS = "DELETE FROM cookie_secrets";
    DELETE_ALL_ONE_TIMES = "DELETE FROM one_times";
    DELETE_ALL_MAIL = "DELETE FROM outbox";
    DELETE_ALL_INVITATIONS = "DELETE FROM invitations";
    DELETE_ALL_FOREIGN_HASHES = "DELETE FROM foreign_hashes";
    DELETE_ALL_IMPORTED_HASHES = "DELETE FROM imported_hashes";
    USER_RECORDS = concat!(
        "SELECT ", user_record_columns!(), " FROM users u WHERE u.email_key > $1 \
         ORDER BY u.email_key LIMIT $2"
    );
    SESSION_RECORDS = concat!("SELECT ", session_columns!("s."), " FROM sessions s WHERE s.id > $1 ORDER BY s.id LIMIT $2");
    ENDED_TOKEN_RECORDS =
        "SELECT token_id, ended_at FROM ended_tokens WHERE token_id > $1 ORDER BY token_id LIMIT $2";
    ONE_TIME_RECORDS = concat!("SELECT ", one_time_columns!("o."), " FROM one_times o WHERE o.id > $1 ORDER BY o.id LIMIT $2");
    MAIL_RECORDS = concat!("SELECT ", mail_columns!(), " FROM outbox WHERE id > $1 ORDER BY id LIMIT $2");
    INVITATION_RECORDS = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key > $1 ORDER BY email_key LIMIT $2"
    );
    IMPORT_INVITATION = concat!(insert_invitation!(), " ON CONFLICT (email_key) DO NOTHING");
    IMPORT_USER = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key, reset_digest, reset_expires_at, known_networks) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (id) DO NOTHING"
    );
    IMPORT_SESSION = concat!(insert_session!(), " ON CONFLICT (id) DO NOTHING");
    IMPORT_ENDED_TOKEN =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) VALUES ($1, $2, $3) \
         ON CONFLICT (token_id) DO NOTHING";

    COOKIE_SECRET = "SELECT secret FROM cookie_secrets WHERE id = 1";
    ADD_COOKIE_SECRET =
        "INSERT INTO cookie_secrets (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    REPLACE_COOKIE_SECRET =
        "INSERT INTO cookie_secrets (id, secret) VALUES (1, $1) \
         ON CONFLICT (id) DO UPDATE SET secret = excluded.secret";
    KEYS = "SELECT slot, kid, pem, until FROM signing_keys ORDER BY until";
    LOCK_KEYS = "SELECT kid FROM signing_keys FOR UPDATE";
    ADD_KEY =
        "INSERT INTO signing_keys (slot, kid, pem, until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (slot) DO NOTHING";
    /// Retires the signing key if the next key is the expected one.
    RETIRE_REPLACED_KEY =
        "UPDATE signing_keys SET slot = $3, until = $4 WHERE slot = 'signing' AND kid = $2 \
         AND EXISTS (SELECT 1 FROM signing_keys n WHERE n.slot = 'next' AND n.kid = $1)";
    /// Retires the signing key without a successor.
    RETIRE_SIGNING_KEY =
        "UPDATE signing_keys SET slot = $2, until = $3 WHERE slot = 'signing' AND kid = $1";
    /// Deletes the signing key if the next key is the expected one.
    DELETE_REPLACED_KEY =
        "DELETE FROM signing_keys WHERE slot = 'signing' AND kid = $2 \
         AND EXISTS (SELECT 1 FROM signing_keys n WHERE n.slot = 'next' AND n.kid = $1)";
    PROMOTE_KEY =
        "UPDATE signing_keys SET slot = 'signing', until = NULL WHERE slot = 'next' AND kid = $1 \
         AND NOT EXISTS (SELECT 1 FROM signing_keys s WHERE s.slot = 'signing')";
    DELETE_KEY = "DELETE FROM signing_keys WHERE kid = $1 AND slot <> 'signing'";
}

/// Deletes what a backup contains, and an unfinished move. Failed logins stay, because an attack may be under way.
pub(super) const DELETE_CONTENTS: [&str; 12] = [
    DELETE_ALL_USERS,
    DELETE_ALL_SESSIONS,
    DELETE_ALL_ENDED_TOKENS,
    DELETE_ALL_KEYS,
    DELETE_ALL_USED_CODES,
    DELETE_ALL_COOKIE_SECRETS,
    DELETE_ALL_ONE_TIMES,
    DELETE_ALL_MAIL,
    DELETE_ALL_INVITATIONS,
    DELETE_ALL_FOREIGN_HASHES,
    DELETE_ALL_IMPORTED_HASHES,
    END_MOVE,
];

#[cfg(test)]
mod tests {
    use super::{super::migrations, *};
    use crate::store::MAX_ACCOUNTS;

    /// Words that some engines do not know or that need a session, each with the reason.
    const BANNED: &[(&str, &str)] = &[
        ("SAVEPOINT", "not in Spanner and Aurora DSQL"),
        ("LOCK TABLE", "not in CockroachDB and Aurora DSQL"),
        ("ADVISORY", "not in CockroachDB, and needs a session"),
        ("LISTEN", "needs a session; not in CockroachDB, nor behind a pooler"),
        ("NOTIFY", "not in CockroachDB"),
        ("SET SESSION", "needs a session"),
        ("SET LOCAL", "needs a session"),
        ("TEMPORARY", "needs a session"),
        ("TEMP TABLE", "needs a session"),
        ("PREPARE", "needs a session"),
        ("SERIAL", "a sequence: a hot spot, and not in Spanner"),
        ("SEQUENCE", "a hot spot"),
        ("IDENTITY", "a hot spot"),
        ("JSONB", "operators differ"),
        ("[]", "arrays differ"),
        ("ARRAY", "arrays differ"),
        ("ANY(", "arrays differ"),
        ("CITEXT", "an extension"),
        ("EXTENSION", "not in Aurora DSQL"),
        ("TRIGGER", "not in Spanner and Aurora DSQL"),
        ("FUNCTION", "not in Spanner"),
        ("CREATE TYPE", "not in Spanner and Aurora DSQL"),
        ("REFERENCES", "no foreign keys in Aurora DSQL"),
        ("TRUNCATE", "not in Aurora DSQL"),
        ("::", "PostgreSQL only"),
        ("ILIKE", "PostgreSQL only"),
        ("RANDOM()", "ids are created in Rust"),
        ("GEN_RANDOM_UUID", "ids are created in Rust"),
        ("NOW()", "CURRENT_TIMESTAMP is the standard"),
        ("WITH ", "writing in a common table expression differs"),
        ("SKIP LOCKED", "not in Spanner"),
        ("CONCURRENTLY", "not in a transaction"),
    ];

    #[test]
    fn limits_in_statements_match_their_constants() {
        assert_eq!(ids!().split(',').count(), BATCH_IDS);
        assert!(ALL_FAILURES.ends_with(&format!(" LIMIT {MAX_ACCOUNTS}")));
    }

    fn banned_words(sql: &str) -> Vec<&'static str> {
        let sql = sql.to_uppercase();
        BANNED.iter().filter(|(word, _)| sql.contains(word)).map(|(word, _)| *word).collect()
    }

    #[test]
    fn every_statement_is_portable() {
        for (name, sql) in ALL {
            assert_eq!(banned_words(sql), Vec::<&str>::new(), "{name}");
            assert!(!sql.contains(';'), "{name}: more than one statement");
        }
    }

    #[test]
    fn every_migration_is_portable_and_can_be_run_again() {
        let statements =
            migrations::MIGRATIONS.iter().flat_map(|file| migrations::statements_of(file));
        for statement in statements.chain([migrations::CREATE_VERSIONS_TABLE]) {
            let code: String = statement
                .lines()
                .filter(|line| !line.starts_with("--"))
                .collect::<Vec<_>>()
                .join(" ");
            assert_eq!(banned_words(&code), Vec::<&str>::new(), "{code}");
            let can_be_run_again = [
                "CREATE TABLE IF NOT EXISTS ",
                "CREATE INDEX IF NOT EXISTS ",
                "DROP INDEX IF EXISTS ",
            ];
            let adds_column = code.trim().starts_with("ALTER TABLE ")
                && code.contains(" ADD COLUMN IF NOT EXISTS ");
            // Aurora DSQL adds no column with a default or a constraint.
            assert!(
                !(adds_column && (code.contains("DEFAULT") || code.contains("NULL"))),
                "{code}"
            );
            let is_allowed =
                adds_column || can_be_run_again.iter().any(|start| code.trim().starts_with(start));
            assert!(is_allowed, "{code}");
        }
    }

    /// Statements that are not portable, each with the banned words in it. A word that is misspelled in [`BANNED`] is found in
    /// none of them.
    const NOT_PORTABLE: &[(&str, &[&str])] = &[
        ("savepoint before_insert", &["SAVEPOINT"]),
        ("lock table users in exclusive mode", &["LOCK TABLE"]),
        ("select pg_advisory_xact_lock(1)", &["ADVISORY"]),
        ("listen changes", &["LISTEN"]),
        ("notify changes, 'x'", &["NOTIFY"]),
        ("set session statement_timeout = 10", &["SET SESSION"]),
        ("set local statement_timeout = 10", &["SET LOCAL"]),
        ("create temporary table t (id uuid)", &["TEMPORARY"]),
        ("create temp table t (id uuid)", &["TEMP TABLE"]),
        ("prepare by_id as select 1", &["PREPARE"]),
        ("create table t (id bigserial, u uuid references users)", &["SERIAL", "REFERENCES"]),
        ("create sequence numbers", &["SEQUENCE"]),
        ("create table t (id bigint generated always as identity)", &["IDENTITY"]),
        ("create table t (facts jsonb, names text[])", &["JSONB", "[]"]),
        ("select id::text from users where id = any($1)", &["ANY(", "::"]),
        ("select array_agg(id) from users", &["ARRAY"]),
        ("create extension citext", &["CITEXT", "EXTENSION"]),
        ("create trigger t before insert on users execute function f()", &["TRIGGER", "FUNCTION"]),
        ("create type mood as enum ('sad')", &["CREATE TYPE"]),
        ("truncate users", &["TRUNCATE"]),
        ("select 1 from users where name ilike 'a%'", &["ILIKE"]),
        ("select random()", &["RANDOM()"]),
        ("select gen_random_uuid()", &["GEN_RANDOM_UUID"]),
        ("select now()", &["NOW()"]),
        ("with d as (delete from users returning id) select id from d", &["WITH "]),
        ("select id from users for update skip locked", &["SKIP LOCKED"]),
        ("create index concurrently i on users (name)", &["CONCURRENTLY"]),
    ];

    #[test]
    fn every_banned_word_is_found_in_a_statement_that_is_not_portable() {
        for (sql, expected) in NOT_PORTABLE {
            assert_eq!(banned_words(sql), *expected, "{sql}");
        }
        for (word, _) in BANNED {
            let is_found = NOT_PORTABLE.iter().any(|(_, expected)| expected.contains(word));
            assert!(is_found, "{word} has no example");
        }
    }
}
