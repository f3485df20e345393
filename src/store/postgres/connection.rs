//! Connections to the host that accepts writes.

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio_postgres::{
    AsyncMessage, Client, Config, Error, Statement,
    error::SqlState,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{conversion::row_from_driver, tls, url::PostgresUrl};
use crate::store::{self, row::Row, value::Value};

/// A connection to the server that accepts writes.
pub(super) struct Connection {
    client: Client,
    /// Whether the server has sent a warning since this was last cleared.
    warned: Arc<AtomicBool>,
    generation: u64,
    opened_at: Instant,
    prepared: Mutex<HashMap<&'static str, Statement>>,
}

impl Connection {
    /// Runs an unnamed statement, which works behind every pooler, and returns its rows.
    pub(super) async fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let rows = self.client.query_typed(sql, &typed(values)).await?;
        Ok(rows.iter().map(row_from_driver).collect())
    }

    /// Runs a named statement, which the server parses once per connection.
    pub(super) async fn query_named(
        &self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, Error> {
        let prepared = self.prepared().get(sql).cloned();
        let statement = match prepared {
            Some(statement) => statement,
            None => {
                let types: Vec<_> = values.iter().map(Value::sql_type).collect();
                let statement = self.client.prepare_typed(sql, &types).await?;
                self.prepared().insert(sql, statement.clone());
                statement
            }
        };
        let values: Vec<_> = values.iter().map(Value::as_sql).collect();
        let rows = self.client.query(&statement, &values).await?;
        Ok(rows.iter().map(row_from_driver).collect())
    }

    /// Runs an unnamed statement and returns the number of rows that it changed.
    pub(super) async fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        self.client.execute_typed(sql, &typed(values)).await
    }

    /// Runs a statement without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    pub(super) fn clear_warnings(&self) {
        self.warned.store(false, Ordering::Release);
    }

    /// Whether the server has sent a warning. A warning during a commit means that it was not replicated as configured.
    pub(super) fn was_warned(&self) -> bool {
        self.warned.load(Ordering::Acquire)
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn typed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value.as_sql(), value.sql_type())).collect()
}

/// Opens connections, and checks whether they are still usable.
pub(super) struct Connector {
    hosts: Vec<Config>,
    tls: MakeRustlsConnect,
    /// Read for each connection, so that the password can change.
    password_file: Option<PathBuf>,
    /// Incremented after an outage: connections of an earlier generation may lead to a former primary.
    generation: AtomicU64,
}

impl Connector {
    /// The time limit for each host, including TLS and authentication.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
    /// Less than the hour after which some services close connections.
    const MAX_AGE: Duration = Duration::from_secs(50 * 60);

    pub(super) fn new(url: &PostgresUrl, password_file: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            hosts: url.hosts().to_vec(),
            tls: tls::connector(url)?,
            password_file,
            generation: AtomicU64::new(0),
        })
    }

    /// Connects to all hosts at once and returns the first connection that accepts writes.
    pub(super) async fn connect(&self) -> Result<Connection, ConnectError> {
        let generation = self.generation.load(Ordering::Acquire);
        let password = match &self.password_file {
            Some(file) => Some(std::fs::read_to_string(file).map_err(|error| ConnectError {
                causes: format!("database.password_file: {}: {error}", file.display()),
                is_permanent: true,
            })?),
            None => None,
        };
        let mut attempts: FuturesUnordered<_> =
            self.hosts.iter().map(|host| self.connect_to(host, password.as_deref())).collect();
        let (mut causes, mut is_permanent) = (Vec::new(), false);
        while let Some(outcome) = attempts.next().await {
            match outcome {
                Ok((client, warned)) => {
                    let (opened_at, prepared) = (Instant::now(), Mutex::default());
                    return Ok(Connection { client, warned, generation, opened_at, prepared });
                }
                Err(None) => causes.push("the connection timed out".to_owned()),
                Err(Some(error)) => {
                    causes.push(describe(&error));
                    is_permanent |= is_permanent_error(&error);
                }
            }
        }
        Err(ConnectError { causes: causes.join("; "), is_permanent })
    }

    /// The error is `None` if the host does not answer in time.
    async fn connect_to(
        &self,
        host: &Config,
        password: Option<&str>,
    ) -> Result<(Client, Arc<AtomicBool>), Option<Error>> {
        let mut host = host.clone();
        if let Some(password) = password {
            host.password(password.trim_end());
        }
        let connected =
            tokio::time::timeout(Self::CONNECT_TIMEOUT, host.connect(self.tls.clone())).await;
        let (client, mut connection) = connected.map_err(|_| None)?.map_err(Some)?;
        let warned = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&warned);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notice(notice) = message
                    && notice.severity() != "NOTICE"
                {
                    tracing::debug!(code = notice.code().code(), "the database sent a warning");
                    flag.store(true, Ordering::Release);
                }
            }
        });
        Ok((client, warned))
    }

    /// Makes all open connections unusable.
    pub(super) fn expire_connections(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn is_usable(&self, connection: &Connection) -> bool {
        !connection.client.is_closed()
            && connection.generation == self.generation.load(Ordering::Acquire)
            && connection.opened_at.elapsed() < Self::MAX_AGE
    }
}

impl Manager for Connector {
    type Type = Connection;
    type Error = ConnectError;

    async fn create(&self) -> Result<Connection, ConnectError> {
        self.connect().await
    }

    async fn recycle(
        &self,
        connection: &mut Connection,
        _: &Metrics,
    ) -> RecycleResult<ConnectError> {
        if self.is_usable(connection) {
            Ok(())
        } else {
            Err(RecycleError::message("the connection is closed or too old"))
        }
    }
}

/// No host accepted a connection.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect: {causes}")]
pub(super) struct ConnectError {
    /// Why each host failed.
    causes: String,
    /// Whether a retry cannot help.
    pub(super) is_permanent: bool,
}

/// Whether the server refused the user, the password or the database, or its certificate is not trusted.
fn is_permanent_error(error: &Error) -> bool {
    let is_access_error =
        |code: &SqlState| ["28", "3D", "42501"].iter().any(|class| code.code().starts_with(class));
    let is_certificate_error = std::error::Error::source(error)
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .and_then(io::Error::get_ref)
        .is_some_and(|cause| cause.is::<rustls::Error>());
    is_certificate_error || error.code().is_some_and(is_access_error)
}

impl From<ConnectError> for store::Error {
    fn from(error: ConnectError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// The error and its cause, without statements and values.
pub(super) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => {
            let cause = std::error::Error::source(error);
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}
