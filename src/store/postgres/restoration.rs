//! Replaces all rows in one transaction, for `doorward restore`.

use std::{
    io::{self, Write},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::{
    PostgresUrl,
    connection::Connection,
    engine::PostgresEngine,
    error_class::ErrorClass,
    migrations,
    signing_keys::{key_insertions, keys_from_rows, secret_insertions},
    statements as sql,
};
use crate::{
    clock::Timestamp,
    store::{
        Error, OldSchema, PostgresOptions, RestoreError,
        archive::{KeySnapshot, Record, Restoration},
        tables::{EMPTIED_TABLES, KEPT_TABLES, Table},
        users::HAS_USERS,
        value::Value,
    },
    token::KeyId,
};

/// Connections that are idle for this long belong to no running server.
const IDLE_TIME: Duration = Duration::from_secs(5);
/// A command that was killed may leave a statement, which begins and ends later. More activity is that of a server.
const LEFT_ACTIVITY: usize = 2;

/// Keeps servers, other restores and everything else away until the end of the transaction. It waits for longer than
/// autovacuum needs to give way, which is a second. Not among the portable statements: an engine without such a lock
/// refuses it.
fn lock_contents() -> String {
    let tables: Vec<_> = replaced_tables().chain(KEPT_TABLES.iter().copied()).collect();
    let tables = tables.join(", ");
    format!("SET LOCAL lock_timeout = '3s'; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
}

/// The tables whose contents are replaced.
fn replaced_tables() -> impl Iterator<Item = &'static str> {
    Table::all().map(|table| table.name).chain(EMPTIED_TABLES.iter().copied())
}

/// Connects to the database and deletes its contents in a transaction. Refuses a database that a server uses, and one with
/// users unless `replace` is true, before it migrates the schema. That is not part of the transaction: the schema stays the new one,
/// also if nothing is restored. Standard error says so, because a command has no log.
pub(crate) async fn begin_restoration(
    url: &PostgresUrl,
    options: PostgresOptions,
    replace: bool,
) -> Result<Box<dyn Restoration>, RestoreError> {
    let engine = PostgresEngine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
    let db = engine.connector().connect().await.map_err(Error::from)?;
    let last_used = ensure_unused(&db).await?;
    if !replace && has_users(&db).await? {
        return Err(RestoreError::NotEmpty);
    }
    let old = OldSchema::Migrate {
        announce: |change| {
            let _ = writeln!(io::stderr(), "doorward: {change}");
        },
        copy: false,
    };
    migrations::apply(&db, old).await?;
    // A server that started in the meantime was active before the lock, or waits for it.
    if begin_with_lock(&db).await? && last_activity(&db).await? > last_used {
        return Err(RestoreError::InUse);
    }
    let change_id = Uuid::new_v4();
    let replaced_keys = keys_from_rows(&db.query(sql::KEYS, &[]).await?);
    for table in replaced_tables() {
        db.execute(&format!("DELETE FROM {table}"), &[]).await?;
    }
    db.execute(sql::ADD_CHANGE, &[change_id.into(), None::<Uuid>.into()]).await?;
    // Keys that cannot be read are replaced like others.
    let replaced_keys = replaced_keys.map(|keys| keys.ids()).unwrap_or_default();
    Ok(Box::new(PostgresRestoration { engine, db, change_id, replaced_keys }))
}

/// Returns an error if a server uses the database.
pub(crate) async fn ensure_database_unused(
    url: &PostgresUrl,
    options: PostgresOptions,
) -> Result<(), RestoreError> {
    let engine = PostgresEngine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
    let db = engine.connector().connect().await.map_err(Error::from)?;
    ensure_unused(&db).await.map(drop)
}

/// Returns an error if a server uses the database, and otherwise when one last did. A server polls for changes four times a
/// second, so that its connections are never idle for long. A pooler keeps the connections of a stopped server open, but
/// they stay idle.
async fn ensure_unused(db: &Connection) -> Result<Option<SystemTime>, RestoreError> {
    let started = Instant::now();
    let mut last_used = match last_activity(db).await {
        // Some engines have no such table.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(None),
        last_used => last_used?,
    };
    let mut activity = 0;
    while last_used.is_some() && started.elapsed() < IDLE_TIME {
        sleep(Duration::from_millis(50)).await;
        let last = last_activity(db).await?;
        activity += usize::from(last > last_used);
        if activity > LEFT_ACTIVITY {
            return Err(RestoreError::InUse);
        }
        last_used = last;
    }
    Ok(last_used)
}

/// When another connection of Doorward last began or ended a statement, if there is such a connection.
async fn last_activity(db: &Connection) -> Result<Option<SystemTime>, tokio_postgres::Error> {
    let rows = db.query(sql::LAST_ACTIVITY, &[]).await?;
    Ok(rows.first().and_then(|row| row.get(0).ok().flatten()))
}

async fn has_users(db: &Connection) -> Result<bool, RestoreError> {
    match db.query(HAS_USERS, &[]).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(false),
        rows => Ok(!rows?.is_empty()),
    }
}

/// Begins the transaction. Returns false if the engine has no lock.
async fn begin_with_lock(db: &Connection) -> Result<bool, RestoreError> {
    db.batch(sql::BEGIN).await?;
    let Err(error) = db.batch(&lock_contents()).await else { return Ok(true) };
    match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            Err(RestoreError::Locked)
        }
        Some(
            &SqlState::SYNTAX_ERROR
            | &SqlState::FEATURE_NOT_SUPPORTED
            | &SqlState::UNDEFINED_OBJECT,
        ) => {
            db.batch(sql::ROLLBACK).await?;
            db.batch(sql::BEGIN).await?;
            Ok(false)
        }
        _ => Err(error.into()),
    }
}

impl From<tokio_postgres::Error> for RestoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Store(error.into())
    }
}

struct PostgresRestoration {
    engine: PostgresEngine,
    db: Connection,
    change_id: Uuid,
    replaced_keys: Vec<KeyId>,
}

impl PostgresRestoration {
    /// Sends all statements at once. Each of them inserts one row.
    async fn insert(&self, statements: Vec<(&'static str, Vec<Value>)>) -> Result<(), Error> {
        let counts = statements.iter().map(|(sql, values)| self.db.execute(sql, values));
        let counts = try_join_all(counts).await?;
        if counts.contains(&0) {
            return Err(Error::Failed("a record occurs twice in the backup".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl Restoration for PostgresRestoration {
    fn replaced_keys(&self) -> &[KeyId] {
        &self.replaced_keys
    }

    async fn add(&mut self, records: &[Record]) -> Result<(), Error> {
        self.insert(records.iter().map(Record::insertion).collect()).await
    }

    async fn add_keys(&mut self, keys: &KeySnapshot, signs_at: Timestamp) -> Result<(), Error> {
        self.insert(key_insertions(&keys.keys, signs_at)).await?;
        self.insert(secret_insertions(&keys.secrets)).await
    }

    async fn commit(self: Box<Self>) -> Result<(), Error> {
        self.db.clear_warnings();
        let is_lost = match self.db.batch(sql::COMMIT).await {
            Ok(()) => self.db.was_warned(),
            Err(error) if ErrorClass::of(&error) == ErrorClass::Connection => true,
            Err(error) => return Err(error.into()),
        };
        if is_lost && !self.engine.has_committed(self.change_id).await? {
            return Err(Error::Unavailable("the commit failed: nothing was restored".into()));
        }
        Ok(())
    }
}
