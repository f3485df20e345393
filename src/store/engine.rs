//! What a database must be able to do. Rules about data are not here: they are written once, over this.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    Changes, DatabaseReport, Error, NotReady, StoreCounts,
    row::Row,
    statements::Lookup,
    value::Value,
    write::{AnyResult, Transaction},
};
use crate::token::{endings::Endings, key_store::StoredKeys, shared_secret::SharedSecrets};

/// Runs statements in one database. Every statement is SQL that both databases know.
#[async_trait]
pub(super) trait Engine: Send + Sync {
    fn kind(&self) -> DatabaseKind;

    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error>;

    /// Runs a query that may take long.
    async fn read_without_limit(
        &self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Error>;

    /// The row with this id. Look-ups at the same time may share a query.
    async fn row_by_id(&self, lookup: Lookup, id: Uuid) -> Result<Option<Row>, Error>;

    /// Runs a write in one transaction and returns after its commit is durable, its change is counted in [`Self::changes`], and
    /// the tokens that it has ended are in [`Self::endings`].
    async fn write(&self, transaction: Transaction) -> Result<AnyResult, Error>;

    /// Begins to read the contents at this moment. Every write that was acknowledged before is in it.
    async fn snapshot(&self) -> Result<Box<dyn SnapshotReader>, Error>;

    /// The time by the clock of the database.
    async fn time(&self) -> Result<SystemTime, Error>;

    /// Deletes up to `limit` expired rows that only the engine knows, and returns their number.
    async fn delete_expired(&self, limit: usize) -> Result<usize, Error>;

    fn changes(&self) -> &Changes;

    fn counts(&self) -> &StoreCounts;

    fn endings(&self) -> &Arc<Endings>;

    async fn has_known_schema(&self) -> Result<bool, Error>;

    async fn check_writes(&self) -> Result<(), NotReady>;

    async fn report(&self) -> Result<DatabaseReport, Error>;
}

/// Reads the contents of a database at one moment.
#[async_trait]
pub(super) trait SnapshotReader: Send + Sync {
    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error>;

    /// The keys, if the database holds them.
    async fn keys(&self) -> Result<Option<KeySnapshot>, Error>;
}

/// The contents of a key store.
#[derive(Default)]
pub struct KeySnapshot {
    pub keys: StoredKeys,
    pub secrets: SharedSecrets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    Sqlite,
    Postgres,
}

impl DatabaseKind {
    /// Its name in a backup.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Sqlite, Self::Postgres].into_iter().find(|kind| kind.name() == name)
    }
}
