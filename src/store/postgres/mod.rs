//! PostgreSQL, a database that any number of instances share.

mod change_listener;
mod connection;
mod conversion;
mod engine;
mod error_class;
mod live_schema;
mod migrations;
mod query_batch;
mod report;
mod restoration;
mod shared_connection;
mod signing_keys;
mod snapshot;
mod statements;
mod tls;
mod url;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use uuid::Uuid;

pub(crate) use self::restoration::{begin_restoration, ensure_database_unused};
pub use self::url::PostgresUrl;
use self::{
    connection::Connection, engine::PostgresEngine, query_batch::QueryBatch,
    signing_keys::DatabaseKeys, snapshot::PostgresSnapshot, statements as sql,
};
#[cfg(test)]
pub(super) use self::{
    live_schema::statements_of,
    migrations::{CREATE_VERSIONS_TABLE, MIGRATIONS},
    statements::STATEMENTS,
};
use super::{
    Changes, DatabaseReport, Error, NotReady, OldSchema, PostgresOptions, StoreCounts,
    engine::{DatabaseKind, Engine, SnapshotReader},
    row::Row,
    statements::Lookup,
    value::{Value, sql_limit},
    write::{AnyResult, Done, StatementBatch, Transaction, WriteScope},
};
use crate::{
    supervisor::supervise,
    token::{endings::Endings, key_store::KeyStore},
};

/// The number of the newest schema that this version knows.
pub(super) const SCHEMA: usize = migrations::MIGRATIONS.len();

/// How long [`open`] waits for a database that is starting.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the database and sees to its schema. Also returns its signing keys.
pub(super) async fn open(
    url: &PostgresUrl,
    options: PostgresOptions,
    old: OldSchema,
) -> Result<(Box<dyn Engine>, Arc<dyn KeyStore>), Error> {
    let engine = PostgresEngine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
    let started = Instant::now();
    let prepared_at = loop {
        let outcome = match engine.connector().connect().await {
            Ok(db) => prepare(&engine, &db, old).await,
            Err(error) if error.is_permanent => Err(Error::Failed(error.into())),
            Err(error) => Err(error.into()),
        };
        match outcome {
            Ok(prepared_at) => break prepared_at,
            Err(Error::Unavailable(cause)) if started.elapsed() < START_TIMEOUT => {
                tracing::warn!(%cause, "waiting for the database");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            Err(error) => return Err(error),
        }
    };
    engine.set_reachable();
    let engine = Arc::new(engine);
    let keys = Arc::new(DatabaseKeys::new(&engine));
    let listened = Arc::downgrade(&engine);
    // Without it, revocations by other instances would not take effect here.
    tokio::spawn(async move {
        let listen = || change_listener::listen(listened.clone(), prepared_at);
        supervise("change listener", listen).await;
    });
    Ok((Box::new(PostgresDatabase { engine, lookups: Mutex::default() }), keys))
}

/// A PostgreSQL database.
struct PostgresDatabase {
    engine: Arc<PostgresEngine>,
    /// Look-ups by id, by their statement.
    lookups: Mutex<HashMap<&'static str, Arc<QueryBatch>>>,
}

/// Sees to the schema and loads the ended tokens. Returns the time, by the clock of the database, since which changes must
/// be polled.
async fn prepare(
    engine: &PostgresEngine,
    db: &Connection,
    old: OldSchema,
) -> Result<SystemTime, Error> {
    migrations::apply(db, old).await?;
    let now = change_listener::database_time(db).await?;
    change_listener::load_endings(engine, db).await?;
    engine.connect_readers().await?;
    Ok(now)
}

#[async_trait]
impl Engine for PostgresDatabase {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Postgres
    }

    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        self.engine.read(sql, values).await
    }

    async fn read_without_limit(
        &self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        self.engine.read_without_limit(sql, &values).await
    }

    async fn row_by_id(&self, lookup: Lookup, id: Uuid) -> Result<Option<Row>, Error> {
        let batch = {
            let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lookups.entry(lookup.one).or_insert_with(|| QueryBatch::new(lookup)))
        };
        batch.look_up(&self.engine, id).await
    }

    async fn write(&self, transaction: Transaction) -> Result<AnyResult, Error> {
        self.engine.write(transaction).await
    }

    async fn snapshot(&self) -> Result<Box<dyn SnapshotReader>, Error> {
        Ok(Box::new(PostgresSnapshot::begin(self.engine.connector()).await?))
    }

    async fn time(&self) -> Result<SystemTime, Error> {
        let rows = self.engine.read(sql::TIME, []).await?;
        rows.first().ok_or_else(|| Error::Failed("the time query returned no row".into()))?.get(0)
    }

    /// Deletes changes that every instance has read.
    async fn delete_expired(&self, limit: usize) -> Result<usize, Error> {
        let delete = Transaction::new(WriteScope::Uncached, false, None, move |_, _| {
            let mut batch = StatementBatch::default();
            let deleted = batch.add(sql::DELETE_EXPIRED_CHANGES, [sql_limit(limit)]);
            batch.counting(move |rows| rows.of(deleted))
        });
        Ok(Done::of(self.engine.write(delete).await?).result)
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    fn counts(&self) -> &StoreCounts {
        self.engine.counts()
    }

    fn endings(&self) -> &Arc<Endings> {
        self.engine.endings()
    }

    async fn has_known_schema(&self) -> Result<bool, Error> {
        let rows = self.engine.read(sql::SCHEMA_VERSION, []).await?;
        Ok(migrations::applied(&rows)? <= migrations::MIGRATIONS.len())
    }

    /// Asks whether the server accepts writes: one that was demoted keeps its connections.
    async fn check_writes(&self) -> Result<(), NotReady> {
        let rows = self.engine.read(sql::IS_READ_ONLY, []).await;
        match rows.map_err(NotReady::cannot_read)?.first().map(|row| row.get::<&str>(0)) {
            Some(Ok("on")) => Err(NotReady::ReadOnly),
            _ => Ok(()),
        }
    }

    async fn report(&self) -> Result<DatabaseReport, Error> {
        report::report(&self.engine).await
    }
}
