//! Orders from the command line. A running server carries them out over a socket in its data folder; when none runs,
//! the command does it itself.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use crate::{
    Doorward, OpenError, Settings,
    data::{self, DataFolder},
    store,
    user::{EmailKey, User},
};

/// What an operator may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Users in the order of their addresses, starting behind one.
    Users {
        /// The address to start behind; none for the beginning.
        after: Option<String>,
        /// How many at most.
        limit: usize,
    },
    /// One user.
    User(Who),
    /// Ends all sessions of a user.
    EndSessions(Who),
    /// Removes a user.
    DeleteUser(Who),
}

/// A user by id or e-mail address, as typed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Who(pub String);

/// What came of an order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The users asked for.
    Users(Vec<UserReport>),
    /// The user asked for.
    User(UserReport),
    /// How many sessions were ended.
    SessionsEnded(usize),
    /// It is done.
    Done,
    /// There is no such user.
    NoSuchUser,
    /// It could not be done.
    Failed(String),
}

/// A user as an operator sees one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserReport {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// Whether they can log in with a password.
    pub has_password: bool,
    /// When they registered, in milliseconds since 1970.
    pub created_at: i64,
    /// When the record last changed, in milliseconds since 1970.
    pub updated_at: i64,
}

impl From<User> for UserReport {
    fn from(user: User) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name.as_str().to_owned(),
            email: user.email.as_str().to_owned(),
            has_password: user.password_hash.is_some(),
            created_at: user.created_at.millis(),
            updated_at: user.updated_at.millis(),
        }
    }
}

/// Why an order could not be given.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server runs, and the database cannot be opened without one.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A server runs and cannot be reached.
    #[error("a doorward is running, but {} cannot be reached: {error}", .socket.display())]
    Unreachable {
        /// Where it should listen.
        socket: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Gives an order to the running server, or carries it out here when none runs.
///
/// # Errors
/// If neither can be done.
pub async fn give(settings: Settings, order: &Order) -> Result<Report, Error> {
    let socket = DataFolder::socket(settings.database.data_folder());
    match Doorward::open(settings).await {
        Ok(doorward) => Ok(carry_out(&doorward, order).await),
        Err(OpenError::Data(data::Error::InUse { .. })) => {
            send(&socket, order).await.map_err(|error| Error::Unreachable { socket, error })
        }
        Err(error) => Err(error.into()),
    }
}

/// Carries an order out.
pub async fn carry_out(doorward: &Doorward, order: &Order) -> Report {
    match try_to(doorward, order).await {
        Ok(report) => report,
        Err(error) => Report::Failed(error.to_string()),
    }
}

async fn try_to(doorward: &Doorward, order: &Order) -> Result<Report, store::Error> {
    let store = doorward.store();
    let who = match order {
        Order::Users { after, limit } => {
            let after = after.as_deref().map(EmailKey::of);
            let users = store.users(after.as_ref(), *limit).await?;
            return Ok(Report::Users(users.into_iter().map(UserReport::from).collect()));
        }
        Order::User(who) | Order::EndSessions(who) | Order::DeleteUser(who) => who,
    };
    let user = match who.0.parse() {
        Ok(id) => store.user_by_id(id).await?,
        Err(_) => store.user_by_email(&EmailKey::of(&who.0)).await?,
    };
    let Some(user) = user else { return Ok(Report::NoSuchUser) };
    Ok(match order {
        Order::EndSessions(_) => {
            let ended = store.end_sessions(user.id).await?;
            tracing::info!(user = %user.id, ended, "sessions ended by the operator");
            Report::SessionsEnded(ended)
        }
        Order::DeleteUser(_) => {
            store.delete_user(user.id).await?;
            tracing::info!(user = %user.id, "deleted by the operator");
            Report::Done
        }
        Order::Users { .. } | Order::User(_) => Report::User(user.into()),
    })
}

/// An order has one line; so has a report.
const MAX_ORDER_BYTES: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a running server takes orders. The socket is removed when this is dropped.
pub struct Orders {
    listener: UnixListener,
    socket: PathBuf,
}

impl Orders {
    /// Listens in the data folder of this Doorward, which is ours alone: a socket that lies there is a leftover.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn listen(doorward: &Doorward) -> io::Result<Self> {
        let socket = DataFolder::socket(doorward.folder().path());
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        Ok(Self { listener, socket })
    }

    /// Takes orders, one after the other, for ever.
    pub async fn take(&self, doorward: &Doorward) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Ok(Err(error)) = timeout(PATIENCE, answer(stream, doorward)).await {
                        tracing::debug!(%error, "an order broke off");
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot take orders");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}

async fn answer(mut stream: UnixStream, doorward: &Doorward) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    BufReader::new(reader.take(MAX_ORDER_BYTES)).read_line(&mut line).await?;
    let report = match serde_json::from_str(&line) {
        Ok(order) => carry_out(doorward, &order).await,
        Err(error) => Report::Failed(format!("not an order that this server knows: {error}")),
    };
    writer.write_all(&to_line(&report)).await
}

async fn send(socket: &Path, order: &Order) -> io::Result<Report> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&to_line(order)).await?;
    let mut report = String::new();
    BufReader::new(stream).read_line(&mut report).await?;
    serde_json::from_str(&report).map_err(io::Error::from)
}

fn to_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("orders and reports are valid JSON");
    line.push(b'\n');
    line
}
