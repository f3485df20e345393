//! Every statement, in SQL that PostgreSQL and its distributed relatives have in common.

/// Declares the statements, and the list of all of them for whoever checks them.
macro_rules! statements {
    ($($(#[$attribute:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$attribute])* pub(super) const $name: &str = $sql;)*
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! user {
    () => {
        "u.id, u.name, u.email, u.password_hash, u.password_version, u.roles, u.disabled, u.created_at, \
         u.updated_at, u.last_login_at, u.email_verified"
    };
}

macro_rules! session {
    () => {
        "s.id, s.user_id, s.token_id, s.created_at, s.last_seen_at, s.expires_at, s.address, s.user_agent"
    };
}

/// As many ids as are asked for at once.
macro_rules! ids {
    () => {
        "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    };
}

/// The live session of a token that was replaced at $4 or before.
macro_rules! reused {
    () => {
        "id = $1 AND user_id = $2 AND token_id <> $3 AND expires_at > $5 AND EXISTS \
         (SELECT 1 FROM endings e WHERE e.token_id = $3 AND e.ended_at <= $4)"
    };
}

/// How many these are.
pub(super) const IDS: usize = 16;
/// How many columns a user has.
pub(super) const USER_COLUMNS: usize = 11;
/// How many columns a session has.
pub(super) const SESSION_COLUMNS: usize = 8;

statements! {
    BEGIN = "BEGIN";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";

    SCHEMA_VERSION = "SELECT max(version) FROM schema_versions";
    ADD_SCHEMA_VERSION =
        "INSERT INTO schema_versions (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";

    ADD_CHANGE =
        "INSERT INTO changes (id, user_id, void, at) VALUES ($1, $2, FALSE, CURRENT_TIMESTAMP)";
    /// Waits for a write whose end is not known, and takes its place if it never came about.
    SETTLE_CHANGE =
        "INSERT INTO changes (id, user_id, void, at) VALUES ($1, $2, TRUE, CURRENT_TIMESTAMP) \
         ON CONFLICT (id) DO UPDATE SET at = CURRENT_TIMESTAMP RETURNING void";
    /// Once more what was heard just before, because a slow commit shows late.
    HEAR =
        "SELECT c.id, c.user_id, e.token_id, e.ended_at FROM changes c \
         LEFT JOIN endings e ON e.change_id = c.id WHERE c.at >= $1";
    TIME = "SELECT CURRENT_TIMESTAMP";
    /// What the driver asks as well when it connects.
    IS_READ_ONLY = "SHOW transaction_read_only";
    SWEEP_CHANGES =
        "DELETE FROM changes WHERE id IN \
         (SELECT id FROM changes WHERE at < CURRENT_TIMESTAMP - INTERVAL '10 minutes' LIMIT $1)";

    ADD_USER =
        "INSERT INTO users (id, name, email, email_key, password_hash, password_version, roles, disabled, \
         created_at, updated_at, last_login_at, email_verified) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    USER_BY_ID = concat!("SELECT ", user!(), " FROM users u WHERE u.id = $1");
    USERS_BY_ID = concat!("SELECT ", user!(), " FROM users u WHERE u.id IN ", ids!());
    USER_BY_EMAIL = concat!("SELECT ", user!(), " FROM users u WHERE u.email_key = $1");
    USER_BY_RESET_CODE = concat!(
        "SELECT ", user!(), " FROM users u \
         WHERE u.reset_digest = $1 AND u.reset_expires_at > $2 AND NOT u.disabled"
    );
    LOCK_USER = concat!(
        "SELECT ", user!(), ", u.reset_digest, u.reset_expires_at, u.known_networks FROM users u WHERE u.id = $1 \
         FOR UPDATE"
    );
    USERS = concat!(
        "SELECT ", user!(), " FROM users u WHERE u.email_key > $1 ORDER BY u.email_key LIMIT $2"
    );
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
    SWEEP_RESET_CODES =
        "UPDATE users SET reset_digest = NULL, reset_expires_at = NULL WHERE id IN \
         (SELECT id FROM users WHERE reset_digest IS NOT NULL AND reset_expires_at <= $1 LIMIT $2)";

    ADD_SESSION =
        "INSERT INTO sessions (id, user_id, token_id, created_at, last_seen_at, expires_at, address, user_agent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    SESSION_WITH_USER = concat!(
        "SELECT ", session!(), ", ", user!(), " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1"
    );
    SESSIONS_WITH_USERS = concat!(
        "SELECT ", session!(), ", ", user!(), " FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE s.id IN ", ids!()
    );
    SESSIONS_OF = concat!(
        "SELECT ", session!(), " FROM sessions s WHERE s.user_id = $1 AND s.expires_at > $2 \
         ORDER BY s.created_at, s.id"
    );
    NOTE_ENDING =
        "INSERT INTO endings (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND user_id = $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSION = "DELETE FROM sessions WHERE id = $1 AND user_id = $2";
    /// All but one.
    NOTE_ENDINGS =
        "INSERT INTO endings (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND id <> $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
    NOTE_ENDINGS_OF_OLDEST =
        "INSERT INTO endings (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2) \
         ON CONFLICT (token_id) DO NOTHING";
    END_OLDEST_SESSIONS =
        "DELETE FROM sessions WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    NOTE_RENEWAL =
        "INSERT INTO endings (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND token_id = $2 ON CONFLICT (token_id) DO NOTHING";
    RENEW_SESSION = "UPDATE sessions SET token_id = $3 WHERE id = $1 AND token_id = $2";
    NOTE_ENDING_OF_REUSED = concat!(
        "INSERT INTO endings (token_id, change_id, ended_at) SELECT token_id, $6, $5 FROM sessions WHERE ",
        reused!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_REUSED_SESSION = concat!("DELETE FROM sessions WHERE ", reused!());
    ENDINGS = "SELECT token_id, ended_at FROM endings ORDER BY ended_at";
    FORGET_ENDINGS =
        "DELETE FROM endings WHERE token_id IN (SELECT token_id FROM endings WHERE ended_at < $1 LIMIT $2)";
    NOTE_SIGHTING = "UPDATE sessions SET last_seen_at = $2 WHERE id = $1";
    SWEEP_SESSIONS =
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 LIMIT $2)";

    ACCOUNT_SECRET = "SELECT secret FROM account_secrets WHERE id = 1";
    KEEP_ACCOUNT_SECRET =
        "INSERT INTO account_secrets (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    /// StoredKeys for a while, so that other instances hear of it.
    CLEAR_FAILURES =
        "UPDATE login_failures SET recovered_at = $2, changed_at = CURRENT_TIMESTAMP WHERE account = $1";
    ADD_FAILURES =
        "INSERT INTO login_failures (account, recovered_at, changed_at) VALUES ($1, $2, CURRENT_TIMESTAMP) \
         ON CONFLICT (account) DO UPDATE SET changed_at = CURRENT_TIMESTAMP, recovered_at = $4 + \
         CASE WHEN login_failures.recovered_at > $3 THEN login_failures.recovered_at ELSE $3 END";
    ALL_FAILURES =
        "SELECT account, recovered_at FROM login_failures ORDER BY recovered_at DESC LIMIT 100000";
    RECENT_FAILURES =
        "SELECT account, recovered_at FROM login_failures \
         WHERE changed_at >= CURRENT_TIMESTAMP - INTERVAL '10 seconds'";
    FORGET_FAILURES =
        "DELETE FROM login_failures WHERE account IN (SELECT account FROM login_failures WHERE recovered_at <= $1 \
         AND changed_at < CURRENT_TIMESTAMP - INTERVAL '10 minutes' LIMIT $2)";
    KNOWN_NETWORKS = "SELECT known_networks FROM users WHERE email_key = $1";
    SET_KNOWN_NETWORKS = "UPDATE users SET known_networks = $2 WHERE id = $1";

    SIZE = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM sessions)";
    MOVES = "SELECT id FROM moves";
    BEGIN_MOVE = "INSERT INTO moves (id) VALUES (1) ON CONFLICT (id) DO NOTHING";
    END_MOVE = "DELETE FROM moves";
    USER_RECORDS = concat!(
        "SELECT ", user!(), ", u.reset_digest, u.reset_expires_at, u.known_networks FROM users u WHERE u.email_key > $1 \
         ORDER BY u.email_key LIMIT $2"
    );
    SESSION_RECORDS = concat!("SELECT ", session!(), " FROM sessions s WHERE s.id > $1 ORDER BY s.id LIMIT $2");
    ENDING_RECORDS =
        "SELECT token_id, ended_at FROM endings WHERE token_id > $1 ORDER BY token_id LIMIT $2";
    TAKE_IN_USER =
        "INSERT INTO users (id, name, email, email_key, password_hash, password_version, roles, disabled, \
         created_at, updated_at, last_login_at, email_verified, reset_digest, reset_expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING";
    TAKE_IN_SESSION =
        "INSERT INTO sessions (id, user_id, token_id, created_at, last_seen_at, expires_at, address, user_agent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";
    TAKE_IN_ENDING =
        "INSERT INTO endings (token_id, change_id, ended_at) VALUES ($1, $2, $3) \
         ON CONFLICT (token_id) DO NOTHING";

    KEYS = "SELECT place, kid, pem, until FROM signing_keys ORDER BY until";
    LOCK_KEYS = "SELECT kid FROM signing_keys FOR UPDATE";
    KEEP_KEY =
        "INSERT INTO signing_keys (place, kid, pem, until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (place) DO NOTHING";
    RETIRE_KEY =
        "UPDATE signing_keys SET place = $3, until = $4 WHERE place = 'signing' AND kid = $2 \
         AND EXISTS (SELECT 1 FROM signing_keys n WHERE n.place = 'next' AND n.kid = $1)";
    RETIRE_SIGNING_KEY =
        "UPDATE signing_keys SET place = $2, until = $3 WHERE place = 'signing' AND kid = $1";
    DROP_SIGNING_KEY =
        "DELETE FROM signing_keys WHERE place = 'signing' AND kid = $2 \
         AND EXISTS (SELECT 1 FROM signing_keys n WHERE n.place = 'next' AND n.kid = $1)";
    PROMOTE_KEY =
        "UPDATE signing_keys SET place = 'signing', until = NULL WHERE place = 'next' AND kid = $1 \
         AND NOT EXISTS (SELECT 1 FROM signing_keys s WHERE s.place = 'signing')";
    DISCARD_KEY = "DELETE FROM signing_keys WHERE kid = $1 AND place <> 'signing'";
}

#[cfg(test)]
mod tests {
    use super::{super::migrations, *};

    /// Words that bind us to one engine, or need a session of one's own, with what is wrong about each.
    const BANNED: &[(&str, &str)] = &[
        ("SAVEPOINT", "not in Spanner and Aurora DSQL"),
        ("LOCK TABLE", "not in CockroachDB and Aurora DSQL"),
        ("ADVISORY", "not in CockroachDB, and of a session"),
        ("LISTEN", "of a session; not in CockroachDB, nor behind a pooler"),
        ("NOTIFY", "not in CockroachDB"),
        ("SET SESSION", "of a session"),
        ("SET LOCAL", "of a session"),
        ("TEMP", "of a session"),
        ("PREPARE", "of a session"),
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
        ("::", "PostgreSQL's own cast"),
        ("ILIKE", "PostgreSQL's own"),
        ("RANDOM()", "ids are made by us"),
        ("GEN_RANDOM_UUID", "ids are made by us"),
        ("NOW()", "CURRENT_TIMESTAMP is the standard's"),
        ("WITH ", "writing in a common table expression differs"),
        ("SKIP LOCKED", "not in Spanner"),
        ("CONCURRENTLY", "not in a transaction"),
    ];

    fn faults(sql: &str) -> Vec<&'static str> {
        let sql = sql.to_uppercase();
        BANNED.iter().filter(|(word, _)| sql.contains(word)).map(|(word, _)| *word).collect()
    }

    #[test]
    fn every_statement_is_portable() {
        for (name, sql) in ALL {
            assert_eq!(faults(sql), Vec::<&str>::new(), "{name}");
            assert!(!sql.contains(';'), "{name}: more than one statement");
        }
    }

    #[test]
    fn every_migration_is_portable_and_can_be_run_again() {
        let statements =
            migrations::MIGRATIONS.iter().flat_map(|file| migrations::statements_of(file));
        for statement in statements.chain([migrations::VERSIONS]) {
            let code: String = statement
                .lines()
                .filter(|line| !line.starts_with("--"))
                .collect::<Vec<_>>()
                .join(" ");
            assert_eq!(faults(&code), Vec::<&str>::new(), "{code}");
            let can_be_run_again = ["CREATE TABLE IF NOT EXISTS ", "CREATE INDEX IF NOT EXISTS "];
            assert!(can_be_run_again.iter().any(|start| code.starts_with(start)), "{code}");
        }
    }

    #[test]
    fn statements_that_are_not_portable_are_found() {
        for (sql, expected) in [
            ("select pg_advisory_lock(1)", &["ADVISORY"][..]),
            (
                "CREATE TEMP TABLE t (id BIGSERIAL, u UUID REFERENCES users)",
                &["TEMP", "SERIAL", "REFERENCES"],
            ),
            ("SELECT id::text FROM users WHERE id = ANY($1)", &["ANY(", "::"]),
            ("SELECT id FROM users FOR UPDATE SKIP LOCKED", &["SKIP LOCKED"]),
            ("SELECT id FROM users WHERE email = $1", &[]),
        ] {
            assert_eq!(faults(sql), expected, "{sql}");
        }
    }
}
