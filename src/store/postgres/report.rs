//! What PostgreSQL says about itself. Other engines lack some of these statements, and a pooler may refuse one: a statement
//! that fails leaves its part open.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{engine::PostgresEngine, statements as sql};
use crate::store::{
    DatabaseReport, Error,
    row::{FromCell, Row},
};

const VERSION: &str = "SHOW server_version";
const MAX_CONNECTIONS: &str = "SHOW max_connections";
const CONNECTIONS: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
const SYNCHRONOUS: &str = "SHOW synchronous_standby_names";
/// As it is now: a connection shows what the role was when it began.
const IS_SUPERUSER: &str = "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER";
const STANDBYS: &str = "SELECT COUNT(*) FROM pg_stat_replication";

pub(super) async fn report(engine: &PostgresEngine) -> Result<DatabaseReport, Error> {
    // The one statement that every engine has tells whether the database answers.
    let clock: Option<SystemTime> = value(engine, sql::TIME).await?;
    let version: Option<String> = value(engine, VERSION).await.unwrap_or_default();
    let max: Option<String> = value(engine, MAX_CONNECTIONS).await.unwrap_or_default();
    let connections: Option<i64> = value(engine, CONNECTIONS).await.unwrap_or_default();
    let standbys: Option<i64> = value(engine, STANDBYS).await.unwrap_or_default();
    let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
    Ok(DatabaseReport {
        version: format!("PostgreSQL {}", version.unwrap_or_default()).trim_end().to_owned(),
        clock: clock.and_then(since_1970).and_then(|time| i64::try_from(time.as_millis()).ok()),
        connections: connections.and_then(|count| u64::try_from(count).ok()),
        max_connections: max.and_then(|max| max.parse().ok()),
        is_superuser: value(engine, IS_SUPERUSER).await.unwrap_or_default(),
        standbys: standbys.and_then(|count| u64::try_from(count).ok()),
        synchronous_standbys: value(engine, SYNCHRONOUS).await.unwrap_or_default(),
        ..DatabaseReport::default()
    })
}

/// The one value that a statement returns.
async fn value<T: for<'a> FromCell<'a>>(
    engine: &PostgresEngine,
    statement: &'static str,
) -> Result<Option<T>, Error> {
    let rows = engine.read(statement, []).await?;
    rows.first().map(|row: &Row| row.get(0)).transpose()
}
