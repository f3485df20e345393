//! Connections: made to whichever host takes writes, and what can be sent over one.

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
    AsyncMessage, Client, Config, Error, Row, Statement,
    error::SqlState,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use super::{tls, url::PostgresUrl};
use crate::store;

/// A connection to the server that takes writes.
pub(super) struct Connection {
    client: Client,
    /// Whether the server has warned of something since this was last cleared.
    warned: Arc<AtomicBool>,
    generation: u64,
    made_at: Instant,
    prepared: Mutex<HashMap<&'static str, Statement>>,
}

impl Connection {
    /// Sends an unnamed statement, which works behind every pooler, and waits for its rows.
    pub(super) async fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        self.client.query_typed(sql, &typed(values)).await
    }

    /// The same by a statement that the server has parsed before.
    pub(super) async fn query_named(
        &self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, Error> {
        let known = self.prepared().get(sql).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let types: Vec<_> = values.iter().map(Value::sql_type).collect();
                let statement = self.client.prepare_typed(sql, &types).await?;
                self.prepared().insert(sql, statement.clone());
                statement
            }
        };
        let values: Vec<_> = values.iter().map(Value::as_sql).collect();
        self.client.query(&statement, &values).await
    }

    /// Sends an unnamed statement and tells how many rows it touched.
    pub(super) async fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        self.client.execute_typed(sql, &typed(values)).await
    }

    /// Sends a statement without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Forgets warnings.
    pub(super) fn clear_warnings(&self) {
        self.warned.store(false, Ordering::Release);
    }

    /// Whether there was a warning. One that comes with a commit says that the commit is not as safe as it should be.
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

/// Makes connections, and says which ones are still good.
pub(super) struct Connector {
    hosts: Vec<Config>,
    tls: MakeRustlsConnect,
    /// Read for each connection, so that a password may change.
    password_file: Option<PathBuf>,
    /// Connections of an earlier generation may lead to a server that is no longer the one.
    generation: AtomicU64,
}

impl Connector {
    /// How long each host has for everything up to a connection that is ready.
    const PATIENCE: Duration = Duration::from_secs(3);
    /// Below the hour at which some services end connections.
    const MAX_AGE: Duration = Duration::from_secs(50 * 60);

    pub(super) fn new(url: &PostgresUrl, password_file: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            hosts: url.hosts().to_vec(),
            tls: tls::connector(url)?,
            password_file,
            generation: AtomicU64::new(0),
        })
    }

    /// Asks all hosts at once and takes the first that takes writes.
    pub(super) async fn connect(&self) -> Result<Connection, CannotConnect> {
        let generation = self.generation.load(Ordering::Acquire);
        let password = match &self.password_file {
            Some(file) => Some(std::fs::read_to_string(file).map_err(|error| CannotConnect {
                causes: format!("database.password_file: {}: {error}", file.display()),
                is_refusal: true,
            })?),
            None => None,
        };
        let mut tries: FuturesUnordered<_> =
            self.hosts.iter().map(|host| self.connect_to(host, password.as_deref())).collect();
        let (mut causes, mut is_refusal) = (Vec::new(), false);
        while let Some(outcome) = tries.next().await {
            match outcome {
                Ok((client, warned)) => {
                    let (made_at, prepared) = (Instant::now(), Mutex::default());
                    return Ok(Connection { client, warned, generation, made_at, prepared });
                }
                Err(None) => causes.push("no answer".to_owned()),
                Err(Some(error)) => {
                    causes.push(describe(&error));
                    is_refusal |= is_refusal_between_us(&error);
                }
            }
        }
        Err(CannotConnect { causes: causes.join("; "), is_refusal })
    }

    /// None if the host does not answer in time.
    async fn connect_to(
        &self,
        host: &Config,
        password: Option<&str>,
    ) -> Result<(Client, Arc<AtomicBool>), Option<Error>> {
        let mut host = host.clone();
        if let Some(password) = password {
            host.password(password.trim_end());
        }
        let connected = tokio::time::timeout(Self::PATIENCE, host.connect(self.tls.clone())).await;
        let (client, mut connection) = connected.map_err(|_| None)?.map_err(Some)?;
        let warned = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&warned);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notice(notice) = message
                    && notice.severity() != "NOTICE"
                {
                    tracing::debug!(code = notice.code().code(), "the database warns");
                    noted.store(true, Ordering::Release);
                }
            }
        });
        Ok((client, warned))
    }

    /// Lets go of all connections that there are.
    pub(super) fn begin_anew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn is_good(&self, connection: &Connection) -> bool {
        !connection.client.is_closed()
            && connection.generation == self.generation.load(Ordering::Acquire)
            && connection.made_at.elapsed() < Self::MAX_AGE
    }
}

impl Manager for Connector {
    type Type = Connection;
    type Error = CannotConnect;

    async fn create(&self) -> Result<Connection, CannotConnect> {
        self.connect().await
    }

    async fn recycle(
        &self,
        connection: &mut Connection,
        _: &Metrics,
    ) -> RecycleResult<CannotConnect> {
        if self.is_good(connection) { Ok(()) } else { Err(RecycleError::message("closed or old")) }
    }
}

/// No host gave a connection.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect: {causes}")]
pub(super) struct CannotConnect {
    /// What each of them said.
    causes: String,
    /// Whether one of them was there, and waiting does not help.
    pub(super) is_refusal: bool,
}

/// Waiting does not help: the server does not want this user, password or database, or we do not want the server.
fn is_refusal_between_us(error: &Error) -> bool {
    let of_us =
        |code: &SqlState| ["28", "3D", "42501"].iter().any(|class| code.code().starts_with(class));
    let of_them = std::error::Error::source(error)
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .and_then(io::Error::get_ref)
        .is_some_and(|cause| cause.is::<rustls::Error>());
    of_them || error.code().is_some_and(of_us)
}

impl From<CannotConnect> for store::Error {
    fn from(error: CannotConnect) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// The error with what lies behind it, without any statement or value.
pub(super) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => {
            let cause = std::error::Error::source(error);
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}

/// A value of a statement. It may be a secret, so that it cannot be shown.
#[derive(Clone)]
pub(super) enum Value {
    Id(Option<Uuid>),
    Text(Option<String>),
    Number(Option<i64>),
    Flag(bool),
    Bytes(Option<Vec<u8>>),
    Time(std::time::SystemTime),
}

impl Value {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Id(value) => value,
            Self::Text(value) => value,
            Self::Number(value) => value,
            Self::Flag(value) => value,
            Self::Bytes(value) => value,
            Self::Time(value) => value,
        }
    }

    fn sql_type(&self) -> Type {
        match self {
            Self::Id(_) => Type::UUID,
            Self::Text(_) => Type::TEXT,
            Self::Number(_) => Type::INT8,
            Self::Flag(_) => Type::BOOL,
            Self::Bytes(_) => Type::BYTEA,
            Self::Time(_) => Type::TIMESTAMPTZ,
        }
    }
}

/// Declares what can be a value, and of which kind.
macro_rules! values {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {
        $(impl From<$kind> for Value {
            fn from($value: $kind) -> Self {
                $made
            }
        })*
    };
}

values! {
    Uuid => |id| Self::Id(Some(id));
    Option<Uuid> => |id| Self::Id(id);
    crate::user::UserId => |id| Self::Id(Some(id.uuid()));
    crate::session::SessionId => |id| Self::Id(Some(id.uuid()));
    crate::session::TokenId => |id| Self::Id(Some(id.uuid()));
    &str => |text| Self::Text(Some(text.to_owned()));
    String => |text| Self::Text(Some(text));
    Option<String> => |text| Self::Text(text);
    i64 => |number| Self::Number(Some(number));
    Option<i64> => |number| Self::Number(number);
    crate::clock::Timestamp => |at| Self::Number(Some(at.millis()));
    Option<crate::clock::Timestamp> => |at| Self::Number(at.map(crate::clock::Timestamp::millis));
    bool => |flag| Self::Flag(flag);
    Vec<u8> => |bytes| Self::Bytes(Some(bytes));
    Option<Vec<u8>> => |bytes| Self::Bytes(bytes);
    std::time::SystemTime => |time| Self::Time(time);
}
