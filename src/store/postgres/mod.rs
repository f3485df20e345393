//! PostgreSQL, a database that any number of instances share.

mod archive;
mod change_listener;
mod connection;
mod credentials;
mod emergency;
mod ended_tokens;
mod engine;
mod error_class;
mod imports;
mod invitations;
mod known_networks;
mod login_failures;
mod mailing;
mod migrations;
mod one_times;
mod outbox;
mod query_batch;
mod report;
mod restoration;
mod row;
mod sessions;
mod shared_connection;
mod signing_keys;
mod snapshot;
mod statements;
mod tls;
mod url;
mod users;
mod value;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use tokio::sync::{Mutex, watch};
use uuid::Uuid;

pub(crate) use self::restoration::begin_restoration;
pub use self::url::PostgresUrl;
use self::{
    connection::Connection,
    engine::{Engine, StatementBatch, Write, WriteScope},
    query_batch::QueryBatch,
    row::{column, session_with_user_from_row, user_from_row},
    statements as sql,
    value::{Value, sql_limit},
};
use super::{
    Changes, DatabaseReport, Error, KEEP_GIVEN_UP, NotReady, PostgresOptions, Sizes, Store,
    StoreCounts, UserStore,
    archive::{Installation, UserRecord},
    counts::size,
};
use crate::{
    clock::Timestamp,
    session::Session,
    user::{User, UserId},
};

/// The number of the newest schema that this version knows.
pub(super) const SCHEMA: usize = migrations::MIGRATIONS.len();

/// Connects to the database. Returns the same store twice: for a service, and as the source or target of a move.
pub(crate) async fn open(
    url: &PostgresUrl,
    options: PostgresOptions,
) -> Result<(Arc<dyn Store>, Installation), Error> {
    let store = Arc::new(PostgresStore::open(url, options).await?);
    let (archive, key_store) = (Arc::clone(&store) as _, Arc::clone(&store) as _);
    Ok((store, Installation { archive, key_store }))
}

/// A store in PostgreSQL.
pub struct PostgresStore {
    engine: Arc<Engine>,
    users: Arc<QueryBatch<User>>,
    sessions: Arc<QueryBatch<(Session, User)>>,
    /// Subscribed before the keys are first read, so that no change to them is missed.
    keys_changed: Mutex<watch::Receiver<()>>,
}

impl PostgresStore {
    /// How long `open` waits for a database that is starting.
    const START_TIMEOUT: Duration = Duration::from_secs(10);

    /// Connects to the database and migrates its schema.
    ///
    /// # Errors
    /// If it cannot be reached, or a newer version has written it.
    pub async fn open(url: &PostgresUrl, options: PostgresOptions) -> Result<Self, Error> {
        let engine = Engine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
        let started = Instant::now();
        let prepared_at = loop {
            let outcome = match engine.connector().connect().await {
                Ok(db) => prepare(&engine, &db).await,
                Err(error) if error.is_permanent => Err(Error::Failed(error.into())),
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(prepared_at) => break prepared_at,
                Err(Error::Unavailable(cause)) if started.elapsed() < Self::START_TIMEOUT => {
                    tracing::warn!(%cause, "waiting for the database");
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                Err(error) => return Err(error),
            }
        };
        engine.set_reachable();
        let engine = Arc::new(engine);
        let keys_changed = Mutex::new(engine.keys_changed().subscribe());
        tokio::spawn(change_listener::listen(Arc::downgrade(&engine), prepared_at));
        let users = QueryBatch::new(sql::USER_BY_ID, sql::USERS_BY_ID, |row| user_from_row(row, 0));
        let sessions = QueryBatch::new(
            sql::SESSION_WITH_USER,
            sql::SESSIONS_WITH_USERS,
            session_with_user_from_row,
        );
        Ok(Self { engine, users, sessions, keys_changed })
    }

    async fn read_user(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Option<User>, Error> {
        self.engine.read(sql, values).await?.first().map(|row| user_from_row(row, 0)).transpose()
    }

    /// Writes to a user or their sessions. Returns `otherwise` if there is no such user or `prepare` returns `None`.
    /// `prepare` gets the id of the change and the locked row, and may be called more than once.
    async fn write_user<T: Clone + Send + Sync + 'static>(
        &self,
        id: UserId,
        otherwise: T,
        prepare: impl Fn(Uuid, &UserRecord) -> Option<Write<T>> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let prepare = move |change_id, record: Option<&UserRecord>| {
            let write = record.and_then(|record| prepare(change_id, record));
            write.unwrap_or_else(|| Write::nothing(otherwise.clone()))
        };
        self.engine.write(WriteScope::User(id), prepare).await
    }
}

/// Migrates the schema and loads the ended tokens. Returns the time, by the clock of the database, since which changes must
/// be polled.
async fn prepare(engine: &Engine, db: &Connection) -> Result<SystemTime, Error> {
    migrations::apply(db).await?;
    let now = change_listener::database_time(db).await?;
    change_listener::load_endings(engine, db).await?;
    engine.connect_readers().await?;
    Ok(now)
}

#[async_trait]
impl Store for PostgresStore {
    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let values = || [now.into(), sql_limit(limit)];
                let sessions = batch.add(sql::DELETE_EXPIRED_SESSIONS, values());
                let codes = batch.add(sql::DELETE_EXPIRED_RESET_CODES, values());
                let used = batch.add(sql::DELETE_EXPIRED_USED_CODES, values());
                let one_times = batch.add(sql::DELETE_EXPIRED_ONE_TIMES, values());
                let invitations = batch.add(sql::DELETE_EXPIRED_INVITATIONS, values());
                let given_up = [(now - KEEP_GIVEN_UP).into(), sql_limit(limit)];
                let mails = batch.add(sql::DELETE_GIVEN_UP_MAIL, given_up);
                let changes = batch.add(sql::DELETE_EXPIRED_CHANGES, [sql_limit(limit)]);
                batch.counting(move |rows| {
                    let counts = [sessions, codes, used, one_times, invitations, mails, changes];
                    counts.map(|count| rows.of(count)).into_iter().max().unwrap_or(0)
                })
            })
            .await
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    fn counts(&self) -> &StoreCounts {
        self.engine.counts()
    }

    async fn sizes(&self) -> Result<Sizes, Error> {
        let rows = self.engine.read(sql::SIZES, []).await?;
        let Some(row) = rows.first() else { return Ok(Sizes::default()) };
        let count = |number| column(row, number).map(size);
        Ok(Sizes {
            users: count(0)?,
            sessions: count(1)?,
            mail_waiting: count(2)?,
            mail_given_up: count(3)?,
            imported_hashes: count(4)?,
        })
    }

    async fn has_known_schema(&self) -> Result<bool, Error> {
        let applied = migrations::applied(&self.engine.read(sql::SCHEMA_VERSION, []).await?)?;
        Ok(applied <= migrations::MIGRATIONS.len())
    }

    /// Also asks whether the server accepts writes: one that was demoted keeps its connections.
    async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map_err(NotReady::cannot_read)?;
        let rows = self.engine.read(sql::IS_READ_ONLY, []).await.map_err(NotReady::cannot_read)?;
        match rows.first().map(|row| column::<String>(row, 0)) {
            Some(Ok(setting)) if setting == "on" => Err(NotReady::ReadOnly),
            _ => Ok(()),
        }
    }

    async fn report(&self) -> Result<DatabaseReport, Error> {
        report::report(self).await
    }
}
