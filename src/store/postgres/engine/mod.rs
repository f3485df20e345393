//! Runs statements: reads share a few connections, and each write is one transaction on a pooled connection.

mod availability;
mod lost_commits;
mod readers;
mod transactions;

use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasher, RandomState},
    io, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use deadpool::{Runtime, managed::Pool};
use tokio::sync::watch;
use uuid::Uuid;

use self::{availability::Availability, lost_commits::CommitChecks, readers::Readers};
use super::{connection::Connector, url::PostgresUrl};
use crate::{
    store::{
        Changes, Error, PostgresOptions, StoreCounts, row::Row, value::Value, write::WriteScope,
    },
    token::endings::Endings,
};

/// How long a caller waits for a read or a write.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of attempts at a read or a write. Most of them fit into [`CALL_TIMEOUT`].
const MAX_ATTEMPTS: usize = 10;

/// The connections to one database, and what is known of its state.
pub(super) struct PostgresEngine {
    pool: Pool<Connector>,
    readers: Readers,
    availability: Availability,
    commit_checks: CommitChecks,
    changes: Changes,
    counts: StoreCounts,
    /// Changes by this instance since they were last taken. They are already counted.
    own_changes: Mutex<HashSet<Uuid>>,
    endings: Arc<Endings>,
    keys_changed: watch::Sender<()>,
}

impl PostgresEngine {
    pub(super) fn new(url: &PostgresUrl, options: PostgresOptions) -> io::Result<Self> {
        let connector = Connector::new(url, options.password_file)?;
        let pool = Pool::builder(connector)
            .max_size(options.connections)
            // As long as a caller waits, so that no queue forms behind commits that wait for a standby.
            .wait_timeout(Some(CALL_TIMEOUT))
            .runtime(Runtime::Tokio1)
            .build();
        Ok(Self {
            pool: pool.map_err(io::Error::other)?,
            readers: Readers::new(options.named_statements),
            availability: Availability::new(),
            commit_checks: CommitChecks::new(),
            changes: Changes::shared(options.outage_grace),
            counts: StoreCounts::default(),
            own_changes: Mutex::default(),
            endings: Arc::new(Endings::new()),
            keys_changed: watch::Sender::new(()),
        })
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(super) fn counts(&self) -> &StoreCounts {
        &self.counts
    }

    pub(super) fn endings(&self) -> &Arc<Endings> {
        &self.endings
    }

    pub(super) fn keys_changed(&self) -> &watch::Sender<()> {
        &self.keys_changed
    }

    pub(super) fn connector(&self) -> &Connector {
        self.pool.manager()
    }

    /// Opens the connections for reads.
    pub(super) async fn connect_readers(&self) -> Result<(), Error> {
        self.readers.connect(self.connector()).await
    }

    /// Runs a query on a shared connection.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, Error> {
        let (values, began) = (values.into(), Instant::now());
        let query = self.readers.query(self.connector(), sql, &values);
        let outcome = self.while_reachable(query).await.and_then(|outcome| outcome);
        self.counts.add_read(began, &outcome);
        outcome
    }

    /// Runs a query without a time limit, on a separate connection.
    pub(super) async fn read_without_limit(
        &self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, Error> {
        let db = self.connector().connect().await?;
        Ok(db.query(sql, values).await?)
    }

    /// Runs the work until it times out or the database becomes unreachable.
    pub(super) async fn while_reachable<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        self.availability.while_reachable(CALL_TIMEOUT, work).await
    }

    /// Records that the database has answered.
    pub(super) fn set_reachable(&self) {
        self.changes.set_polled();
        if self.availability.set_reachable() {
            tracing::info!("the database is reachable again");
        }
    }

    /// Records that the database does not answer.
    pub(super) fn set_unreachable(&self, cause: &impl fmt::Display) {
        self.changes.set_unreachable();
        if self.availability.set_unreachable() {
            tracing::error!(%cause, "the database is unreachable: guards admit only known callers");
            // After the outage, another server may answer.
            self.connector().expire_connections();
            self.readers.disconnect();
        }
    }

    /// Counts a change, so that this instance does not use outdated cache entries.
    fn mark(&self, scope: WriteScope) {
        scope.count_in(&self.changes);
        if matches!(scope, WriteScope::SigningKeys | WriteScope::Everybody) {
            self.keys_changed.send_replace(());
        }
    }

    /// Takes the ids of changes that this instance has already counted.
    pub(super) fn take_own_changes(&self) -> HashSet<Uuid> {
        mem::take(&mut self.own_changes())
    }

    fn own_changes(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.own_changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A random duration up to this one, so that transactions that conflicted do not retry at the same time.
pub(super) fn jitter(max: Duration) -> Duration {
    let random = RandomState::new().hash_one(0);
    max.mul_f64(random as f64 / u64::MAX as f64)
}
