//! Orders from the command line. A running server carries them out over a socket in its data folder; when none runs,
//! the command does it itself.

mod account;
mod embedded;
mod keys;
mod refused;
mod users;

use std::{
    fs::{self, Permissions},
    io,
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use self::account::NotDone;
pub use self::{
    account::Secret,
    keys::KeyReport,
    refused::{RefusedAction, RefusedLately, RefusedUser},
    users::{SessionReport, UserFilter},
};
use crate::{
    Caller, Doorward, OpenError, Settings,
    access::{
        guard::{Explanation, Guard, MAX_ROLES, MadeUpRequest, Mode},
        refusals::Refusal,
    },
    clock::Timestamp,
    config,
    data_folder::{self, DataFolder, SocketPath},
    session::{Origin, Session},
    store,
    user::{EmailKey, Role, User},
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
        /// Which of them.
        filter: UserFilter,
    },
    /// One user.
    User(Who),
    /// Ends all sessions of a user.
    EndSessions(Who),
    /// Removes a user.
    DeleteUser(Who),
    /// Adds a user.
    AddUser {
        /// The name.
        name: String,
        /// The address.
        email: String,
        /// None for a user who cannot log in with one.
        password: Option<Secret>,
    },
    /// Sets the password of a user and ends all their sessions.
    SetPassword(Who, Secret),
    /// Locks a user out.
    Disable(Who),
    /// Lets a user in again.
    Enable(Who),
    /// Notes whether a user's address is verified.
    SetEmailVerified(Who, bool),
    /// Makes a code with which the user can set a password.
    Link(Who),
    /// Gives a role to a user.
    GrantRole(Who, String),
    /// Takes a role from a user.
    RevokeRole(Who, String),
    /// Reads the guards anew.
    Reload,
    /// The guards in force.
    Guards,
    /// What a guard would say to a user.
    CheckGuard {
        /// The guard.
        guard: String,
        /// The user.
        who: Who,
        /// What they ask for.
        request: AskFor,
    },
    /// Why a decision was made.
    Why(String),
    /// What was refused to a user lately.
    WhyUser(Who),
    /// The keys that tokens are signed with.
    Keys,
    /// Publishes a new key, to sign in place of the old one.
    RotateKeys,
    /// Refuses all tokens of a key.
    RevokeKey(String),
}

/// A request that is only imagined.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AskFor {
    /// The method, `GET` unless given.
    pub method: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The path, `/` unless given.
    pub path: Option<String>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
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
    Users {
        /// Some of them.
        users: Vec<UserReport>,
        /// The address to go on behind, if there may be more.
        next: Option<String>,
    },
    /// The user asked for.
    User(UserReport),
    /// How many sessions were ended.
    SessionsEnded(usize),
    /// The code asked for, which nobody can be told again.
    Code(Secret),
    /// It is done.
    Done,
    /// Nothing had to be done.
    NothingToDo,
    /// The guards in force.
    Guards(Vec<GuardReport>),
    /// What a guard says, and why.
    Verdict {
        /// Whether it admits.
        admitted: bool,
        /// Its condition.
        condition: String,
        /// What the operator should know about the guard.
        warning: Option<String>,
        /// The condition taken apart.
        explanation: Explanation,
    },
    /// A refusal and its reason.
    Refusal(Box<Refusal>),
    /// What was refused to a user lately.
    RefusedUser(RefusedUser),
    /// The keys as they are then.
    Keys(Vec<KeyReport>),
    /// There is no such key.
    NoSuchKey,
    /// There is no such guard.
    NoSuchGuard,
    /// There is no such refusal, or it is no longer remembered.
    NoSuchRefusal,
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
    /// Whether the address is verified.
    pub email_verified: bool,
    /// The roles.
    pub roles: Vec<String>,
    /// Whether they can log in with a password.
    pub has_password: bool,
    /// Whether they are locked out.
    pub disabled: bool,
    /// When they registered.
    pub created_at: String,
    /// When the record last changed.
    pub updated_at: String,
    /// When they last logged in.
    pub last_login_at: Option<String>,
    /// Where they are signed in, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionReport>>,
}

/// A guard as an operator sees one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardReport {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The condition.
    pub allow: String,
    /// Whether it only reports.
    pub only_reports: bool,
    /// What the operator should know about it.
    pub warning: Option<String>,
}

impl From<&Guard> for GuardReport {
    fn from(guard: &Guard) -> Self {
        Self {
            name: guard.name.clone(),
            version: guard.version.clone(),
            allow: guard.condition.text().to_owned(),
            only_reports: guard.mode == Mode::Report,
            warning: guard.warning(),
        }
    }
}

impl From<User> for UserReport {
    fn from(user: User) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name.as_str().to_owned(),
            email: user.email.as_str().to_owned(),
            email_verified: user.email_verified,
            roles: user.roles.iter().map(str::to_owned).collect(),
            has_password: user.password_hash.is_some(),
            disabled: user.disabled,
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
            last_login_at: user.last_login_at.map(|at| at.to_string()),
            sessions: None,
        }
    }
}

/// Why an order could not be given.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server runs, and the database cannot be opened without one.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nobody has ever started a server with this database, or it cannot be looked for.
    #[error(transparent)]
    NoDatabase(#[from] config::NotFound),
    /// The database belongs to another user of this machine.
    #[error(
        "{}: {error}: run this command as the user that the server runs as", config::absolute(.path).display()
    )]
    NotAllowed {
        /// What was being used.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The order is for a running server, and none runs.
    #[error("no doorward is running on this database: the guards are read when it starts")]
    NotRunning,
    /// The order asks what a running server remembers, and none runs.
    #[error("no doorward is running on this database: refusals are remembered only while it runs")]
    NothingRemembered,
    /// The order is for a running server, and nobody knows where one is.
    #[error(
        "a server on PostgreSQL is found by its data folder: set data_folder for it and for this command, or send \
         it SIGHUP to have it read its guards anew"
    )]
    NoFolder,
    /// A server runs and cannot be reached.
    #[error("a doorward is running on {}, but cannot be reached: {error}", .folder.display())]
    Unreachable {
        /// Its data folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Gives an order to the running server, or carries it out here when none runs.
///
/// # Errors
/// If neither can be done.
pub async fn give(settings: Settings, order: &Order) -> Result<Report, Error> {
    settings.database.ensure_exists()?;
    let folder = settings.folder().map(Path::to_owned);
    let asks_memory = matches!(order, Order::Why(_) | Order::WhyUser(_));
    if folder.is_none() && (asks_memory || matches!(order, Order::Reload)) {
        return Err(Error::NoFolder);
    }
    let again = settings.clone();
    match (Doorward::open_for_command(settings).await, folder) {
        (Ok(_), _) if matches!(order, Order::Reload) => Err(Error::NotRunning),
        (Ok(_), _) if asks_memory => Err(Error::NothingRemembered),
        (Ok(doorward), _) => Ok(carry_out(&doorward, &move || Ok(again.clone()), order).await),
        (Err(OpenError::Data(data_folder::Error::InUse { .. })), Some(folder)) => {
            send(&folder, order).await.map_err(|error| Error::Unreachable { folder, error })
        }
        (Err(OpenError::Data(data_folder::Error::Io { path, error })), _)
            if error.kind() == io::ErrorKind::PermissionDenied =>
        {
            Err(Error::NotAllowed { path, error })
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// How the settings are read once more.
pub type ReadSettings = dyn Fn() -> Result<Settings, config::Error> + Send + Sync;

/// Puts the guards of the settings file in force, all of them or none.
///
/// # Errors
/// If anything in the file is wrong; then nothing changes.
pub fn reload(doorward: &Doorward, read: &ReadSettings) -> Result<usize, config::Error> {
    match read() {
        Ok(settings) => {
            let guards = settings.guards.len();
            settings.guards.log_warnings();
            doorward.replace_guards(settings.guards);
            tracing::info!(guards, "guards reloaded; other settings need a restart");
            Ok(guards)
        }
        Err(error) => {
            tracing::error!(%error, "guards not reloaded: those in force stay");
            Err(error)
        }
    }
}

/// Carries an order out.
pub async fn carry_out(doorward: &Doorward, read: &ReadSettings, order: &Order) -> Report {
    match try_to(doorward, read, order).await {
        Ok(report) => report,
        Err(error) => Report::Failed(error.to_string()),
    }
}

async fn try_to(
    doorward: &Doorward,
    read: &ReadSettings,
    order: &Order,
) -> Result<Report, NotDone> {
    Ok(match order {
        Order::Users { after, limit, filter } => {
            let after = after.as_deref().map(EmailKey::of);
            users::page(doorward, after, *limit, filter).await?
        }
        Order::AddUser { name, email, password } => {
            let user = account::add(doorward, name, email, password.as_ref()).await?;
            Report::User(user.into())
        }
        Order::User(who)
        | Order::EndSessions(who)
        | Order::DeleteUser(who)
        | Order::SetPassword(who, _)
        | Order::Disable(who)
        | Order::Enable(who)
        | Order::SetEmailVerified(who, _)
        | Order::Link(who)
        | Order::GrantRole(who, _)
        | Order::RevokeRole(who, _)
        | Order::CheckGuard { who, .. } => match find(doorward, who).await? {
            Some(user) => with_user(doorward, user, order).await?,
            None => Report::NoSuchUser,
        },
        Order::Reload => match reload(doorward, read) {
            Ok(_) => Report::Guards(doorward.guards().iter().map(GuardReport::from).collect()),
            Err(error) => Report::Failed(error.to_string()),
        },
        Order::Guards => Report::Guards(doorward.guards().iter().map(GuardReport::from).collect()),
        Order::Why(id) => match doorward.refusal(id) {
            Some(refusal) => Report::Refusal(Box::new(refusal)),
            None => Report::NoSuchRefusal,
        },
        Order::WhyUser(who) => refused::to_user(doorward, who).await?,
        Order::Keys | Order::RotateKeys | Order::RevokeKey(_) => {
            keys::carry_out(doorward, order).await?
        }
    })
}

async fn find(doorward: &Doorward, who: &Who) -> Result<Option<User>, store::Error> {
    match who.0.parse() {
        Ok(id) => doorward.store().user_by_id(id).await,
        Err(_) => doorward.store().user_by_email(&EmailKey::of(&who.0)).await,
    }
}

async fn with_user(doorward: &Doorward, user: User, order: &Order) -> Result<Report, NotDone> {
    let (store, now) = (doorward.store(), doorward.now());
    Ok(match order {
        Order::EndSessions(_) => {
            let ended = store.end_sessions(user.id, now).await?;
            tracing::info!(user = %user.id, ended, "sessions ended by the operator");
            Report::SessionsEnded(ended)
        }
        Order::DeleteUser(_) => done(store.delete_user(user.id, now).await?, &user, "deleted"),
        Order::GrantRole(_, role) | Order::RevokeRole(_, role) => {
            let Some(role) = Role::parse(role) else {
                return Ok(Report::Failed(format!(
                    "\"{role}\" is not a role: 1 to 64 letters, digits and _ - : . /"
                )));
            };
            let granted = matches!(order, Order::GrantRole(..));
            let has_room = user.roles.iter().any(|held| held == role.as_str())
                || user.roles.iter().count() < MAX_ROLES;
            if granted && !has_room {
                return Ok(Report::Failed(format!(
                    "a user has at most {MAX_ROLES} roles: conditions do not see more"
                )));
            }
            let changed = if granted {
                store.grant_role(user.id, &role, now).await?
            } else {
                store.revoke_role(user.id, &role, now).await?
            };
            tracing::info!(user = %user.id, role = role.as_str(), granted, changed, "role set by the operator");
            if changed { Report::Done } else { Report::NothingToDo }
        }
        Order::CheckGuard { guard, request, .. } => match doorward.guards().by_name(guard) {
            Some(guard) => check(guard, user, request, now),
            None => Report::NoSuchGuard,
        },
        Order::SetPassword(_, password) => {
            let set = account::set_password(doorward, &user, password).await?;
            done(set, &user, "given a password")
        }
        Order::Disable(_) => done(store.disable_user(user.id, now).await?, &user, "disabled"),
        Order::Enable(_) => done(store.enable_user(user.id).await?, &user, "enabled"),
        Order::SetEmailVerified(_, verified) => {
            let (email, verified) = (&user.email, *verified);
            let changed = store.set_email_verified(user.id, email, verified, now).await?;
            tracing::info!(user = %user.id, verified, changed, "e-mail address judged by the operator");
            match changed {
                true => Report::Done,
                false if user.email_verified == verified => Report::NothingToDo,
                false => Report::Failed("the user has changed meanwhile: look again".into()),
            }
        }
        Order::Link(_) => {
            account::link(doorward, &user).await?.map_or(Report::NoSuchUser, Report::Code)
        }
        _ => users::with_sessions(doorward, user).await?,
    })
}

/// A user may be gone between being found and being changed.
fn done(found: bool, user: &User, what: &str) -> Report {
    if !found {
        return Report::NoSuchUser;
    }
    tracing::info!(user = %user.id, "{what} by the operator");
    Report::Done
}

/// Decides about a user as if they had just signed in.
fn check(guard: &Guard, user: User, request: &AskFor, now: Timestamp) -> Report {
    let origin = Origin::new(request.address.unwrap_or(Ipv4Addr::LOCALHOST.into()), "");
    let session = Session::new(user.id, origin, now, Duration::ZERO);
    let caller = Caller::new(Arc::new(user), Arc::new(session));
    let AskFor { method, host, path, address } = request;
    let request = MadeUpRequest {
        method: method.clone(),
        host: host.clone(),
        path: path.clone(),
        scheme: None,
        address: *address,
    };
    let facts = request.facts(now);
    Report::Verdict {
        admitted: guard.decide(&caller, &facts).is_ok(),
        condition: guard.condition.text().to_owned(),
        warning: guard.warning(),
        explanation: guard.condition.explain(caller.facts(), &facts),
    }
}

/// An order has one line; so has a report.
const MAX_ORDER_BYTES: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a running server takes orders. The socket is removed when this is dropped.
pub struct Orders {
    listener: UnixListener,
    socket: SocketPath,
}

impl Orders {
    /// Listens in the data folder, which is ours alone: a socket that lies there is a leftover.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn listen(folder: &DataFolder) -> io::Result<Self> {
        let socket = DataFolder::socket(folder.path())?;
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        Ok(Self { listener, socket })
    }

    /// Takes orders, one after the other, for ever.
    pub async fn take(&self, doorward: &Doorward, read: &ReadSettings) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Ok(Err(error)) = timeout(PATIENCE, answer(stream, doorward, read)).await
                    {
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

async fn answer(
    mut stream: UnixStream,
    doorward: &Doorward,
    read: &ReadSettings,
) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    BufReader::new(reader.take(MAX_ORDER_BYTES)).read_line(&mut line).await?;
    let report = match serde_json::from_str(&line) {
        Ok(order) => carry_out(doorward, read, &order).await,
        Err(error) => Report::Failed(format!("not an order that this server knows: {error}")),
    };
    writer.write_all(&to_line(&report)).await
}

async fn send(folder: &Path, order: &Order) -> io::Result<Report> {
    let socket = DataFolder::socket(folder)?;
    let mut stream = UnixStream::connect(&socket).await?;
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
