//! What PostgreSQL says about itself. Other engines lack some of these statements, and a pooler may refuse one: a statement
//! that fails leaves its part open.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::types::FromSqlOwned;

use super::{PostgresStore, row::column, statements as sql};
use crate::store::{DatabaseReport, Error};

const VERSION: &str = "SHOW server_version";
const MAX_CONNECTIONS: &str = "SHOW max_connections";
const CONNECTIONS: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
const SYNCHRONOUS: &str = "SHOW synchronous_standby_names";
const STANDBYS: &str = "SELECT COUNT(*) FROM pg_stat_replication";

pub(super) async fn report(store: &PostgresStore) -> Result<DatabaseReport, Error> {
    // The one statement that every engine has tells whether the database answers.
    let clock: Option<SystemTime> = value(store, sql::TIME).await?;
    let version: Option<String> = value(store, VERSION).await.unwrap_or_default();
    let max: Option<String> = value(store, MAX_CONNECTIONS).await.unwrap_or_default();
    let connections: Option<i64> = value(store, CONNECTIONS).await.unwrap_or_default();
    let standbys: Option<i64> = value(store, STANDBYS).await.unwrap_or_default();
    let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
    Ok(DatabaseReport {
        version: format!("PostgreSQL {}", version.unwrap_or_default()).trim_end().to_owned(),
        clock: clock.and_then(since_1970).and_then(|time| i64::try_from(time.as_millis()).ok()),
        connections: connections.and_then(|count| u64::try_from(count).ok()),
        max_connections: max.and_then(|max| max.parse().ok()),
        standbys: standbys.and_then(|count| u64::try_from(count).ok()),
        synchronous_standbys: value(store, SYNCHRONOUS).await.unwrap_or_default(),
        ..DatabaseReport::default()
    })
}

/// The one value that a statement returns.
async fn value<T: FromSqlOwned>(
    store: &PostgresStore,
    statement: &'static str,
) -> Result<Option<T>, Error> {
    let rows = store.engine.read(statement, []).await?;
    rows.first().map(|row| column(row, 0)).transpose()
}
