//! The statements that only PostgreSQL needs: transactions, locks, changes by other instances, and signing keys. They are SQL that
//! PostgreSQL and compatible distributed databases have in common.

use crate::store::{statements::statements, user_record::user_record};

statements! {
    BEGIN = "BEGIN";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    BEGIN_SNAPSHOT = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

    SCHEMA_VERSION = "SELECT max(version) FROM schema_versions";
    ADD_SCHEMA_VERSION =
        "INSERT INTO schema_versions (version) VALUES ($1) ON CONFLICT (version) DO NOTHING";
    SCHEMA_COLUMNS =
        "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT), CAST(data_type AS TEXT), is_nullable = 'YES' \
         FROM information_schema.columns WHERE table_schema = current_schema()";
    SCHEMA_INDEXES =
        "SELECT CAST(indexname AS TEXT), CAST(tablename AS TEXT), indexdef FROM pg_indexes WHERE schemaname = current_schema()";

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

    LOCK_USER = concat!(user_record!(), " FOR UPDATE");
    LOCK_ONE_TIME = "SELECT id FROM one_time_secrets WHERE id = $1 AND user_id = $2 FOR UPDATE";
    /// Locks all users, without sending them.
    LOCK_USERS = "SELECT count(*) FROM (SELECT id FROM users FOR UPDATE) locked";
    LOCK_KEYS = "SELECT kid FROM signing_keys FOR UPDATE";

    /// When another connection of Doorward last began or ended a statement.
    LAST_ACTIVITY =
        "SELECT max(state_change) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND application_name = current_setting('application_name')";

    /// The table has the name of the first secret that was in it.
    SHARED_SECRET = "SELECT secret FROM cookie_secrets WHERE id = $1";
    ADD_SHARED_SECRET =
        "INSERT INTO cookie_secrets (id, secret) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    REPLACE_SHARED_SECRET =
        "INSERT INTO cookie_secrets (id, secret) VALUES ($1, $2) \
         ON CONFLICT (id) DO UPDATE SET secret = excluded.secret";
    KEYS = "SELECT slot, kid, pem, until FROM signing_keys ORDER BY until";
    ADD_KEY =
        "INSERT INTO signing_keys (slot, kid, pem, until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (slot) DO NOTHING";
    SET_NEXT_TIME = "UPDATE signing_keys SET until = $2 WHERE slot = 'next' AND kid = $1";
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
