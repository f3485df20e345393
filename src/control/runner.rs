//! Running a command from the command line: on the running server or, if none runs, in this process.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use axum::http::StatusCode;

use super::{
    Command, Reply,
    execution::{check_browsers, execute},
    operator::Operator,
    socket,
    spool::{Content, Sent, request},
};
use crate::{Doorward, OpenError, Settings, account::export, config, data_folder, store};

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server runs, and the database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database does not exist or cannot be accessed.
    #[error(transparent)]
    NoDatabase(#[from] config::InaccessibleDatabase),
    /// The database belongs to another user of this machine.
    #[error(
        "{}: {error}: run this command as the user that the server runs as", config::absolute(.path).display()
    )]
    NotAllowed { path: PathBuf, error: io::Error },
    /// The command is for a running server, and none runs.
    #[error("no server is running on this database: a server reads its guards when it starts")]
    NotRunning,
    /// The command reads the memory of a running server, and none runs.
    #[error(
        "no server is running on this database: refusals are kept only in the memory of a server"
    )]
    NothingInMemory,
    /// The command is about requests to a running server, and none runs.
    #[error("no server is running on this database: nobody receives requests")]
    NoListener,
    /// The command is for a running server, and there is no data folder to find it by.
    #[error(
        "a command finds a server on PostgreSQL by its data folder: set data_folder for the server and for this \
         command, or send the server SIGHUP to reload its guards"
    )]
    NoFolder,
    /// A server runs and cannot be reached.
    #[error("a server is running on {}, but cannot be reached: {error}", config::absolute(.folder).display())]
    Unreachable {
        /// Its data folder.
        folder: PathBuf,
        error: io::Error,
    },
    /// The API refuses.
    #[error("{reason}")]
    Refused { status: StatusCode, reason: String },
    /// The exchange with the API failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Whether the API knows nothing of this name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }
}

/// Why users were not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The server has not sent all users.
    #[error("the running server made no export: {0}")]
    Server(io::Error),
    #[error(transparent)]
    Store(store::Error),
    #[error(transparent)]
    Output(io::Error),
}

impl From<export::WriteError> for ExportError {
    fn from(error: export::WriteError) -> Self {
        match error {
            export::WriteError::Store(error) => Self::Store(error),
            export::WriteError::Output(error) => Self::Output(error),
        }
    }
}

/// Runs one command. See [`CommandRunner`].
///
/// # Errors
/// If there is neither a server to run it nor a database to run it on.
pub async fn run(settings: Settings, command: &Command) -> Result<Reply, Error> {
    if settings.folder().is_none() && command.server_only().is_some() {
        return Err(Error::NoFolder);
    }
    // Only the settings decide, so they can be checked before the first start creates the database.
    if let Command::CheckBrowsers { guard } = command
        && settings.database.is_missing()
    {
        let base = settings.base_url(settings.listen);
        return Ok(check_browsers(&settings.guards, guard, &settings, &base));
    }
    CommandRunner::open_with(settings, command.makes_secrets()).await?.run(command).await
}

/// Runs commands: on the running server, or on a database that it opens once and keeps open.
pub struct CommandRunner {
    place: Place,
}

enum Place {
    /// The data folder of the running server.
    Server(PathBuf),
    Database(Box<(Doorward, Settings)>),
}

impl CommandRunner {
    /// Finds out whether a server runs, and opens the database if none does.
    ///
    /// # Errors
    /// If there is no database, or it cannot be opened.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        Self::open_with(settings, false).await
    }

    /// The same, for commands that encrypt something which a server has to read later.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_to_import(settings: Settings) -> Result<Self, Error> {
        Self::open_with(settings, true).await
    }

    async fn open_with(settings: Settings, makes_secrets: bool) -> Result<Self, Error> {
        settings.database.ensure_exists()?;
        let folder = settings.folder().map(Path::to_owned);
        let place =
            match (Doorward::open_for_command(settings.clone(), makes_secrets).await, folder) {
                (Ok(doorward), _) => Place::Database(Box::new((doorward, settings))),
                (Err(OpenError::Data(data_folder::Error::InUse { .. })), Some(folder)) => {
                    Place::Server(folder)
                }
                (Err(OpenError::Data(data_folder::Error::Io { path, error })), _)
                    if error.kind() == io::ErrorKind::PermissionDenied =>
                {
                    return Err(Error::NotAllowed { path, error });
                }
                (Err(error), _) => return Err(error.into()),
            };
        Ok(Self { place })
    }

    /// Whether a server runs and executes the commands.
    pub fn is_server(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }

    /// Runs a command.
    ///
    /// # Errors
    /// If the server cannot be reached, or the command needs one and none runs.
    pub async fn run(&self, command: &Command) -> Result<Reply, Error> {
        match (&self.place, command.server_only()) {
            (Place::Server(folder), _) => socket::send(folder, command)
                .await
                .map_err(|error| Error::Unreachable { folder: folder.clone(), error }),
            (Place::Database(_), Some(error)) => Err(error),
            (Place::Database(opened), None) => {
                let (doorward, settings) = &**opened;
                let settings = settings.clone();
                let operator = Operator::of_this_process().administrator();
                Ok(execute(doorward, &move || Ok(settings.clone()), command, &operator).await)
            }
        }
    }

    /// Writes all users, which the running server sends or which are read from the database. `report` gets what is done and
    /// the whole, in any unit. Returns the number of users.
    ///
    /// # Errors
    /// If the users cannot be read or written. Then the output may have a part of them.
    pub async fn export_users(
        &self,
        output: &mut (dyn Write + Send),
        report: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<u64, ExportError> {
        let users = match &self.place {
            Place::Server(folder) => {
                let sent = request(folder, Content::Export).map_err(ExportError::Server)?;
                receive(sent, output, report)?
            }
            Place::Database(opened) => export::write_users(&opened.0, output, report).await?,
        };
        output.flush().map_err(ExportError::Output)?;
        Ok(users)
    }
}

/// Copies the users that a server sends. Returns their number, which is that of lines.
fn receive(
    Sent { mut stream, bytes }: Sent,
    output: &mut dyn Write,
    report: &mut dyn FnMut(u64, u64),
) -> Result<u64, ExportError> {
    let (mut buffer, mut received, mut users) = (vec![0; 64 << 10], 0, 0);
    while received < bytes {
        let read = match stream.read(&mut buffer).map_err(ExportError::Server)? {
            0 => {
                let cause = io::Error::other("it stopped before everything was sent: try again");
                return Err(ExportError::Server(cause));
            }
            read => &buffer[..read],
        };
        output.write_all(read).map_err(ExportError::Output)?;
        received += read.len() as u64;
        users += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        report(received, bytes);
    }
    Ok(users)
}

impl Command {
    /// Whether it derives one-time secrets, which the server has to recognise later.
    fn makes_secrets(&self) -> bool {
        matches!(self, Self::Invite(_))
    }

    /// The error without a running server, for a command that only a server can execute.
    fn server_only(&self) -> Option<Error> {
        match self {
            Self::ReloadGuards => Some(Error::NotRunning),
            Self::ExpectProbe(_) | Self::ShowProbe(_) => Some(Error::NoListener),
            Self::ShowRefusal(_) | Self::ListRefusals(_) => Some(Error::NothingInMemory),
            Self::ListUsers { .. }
            | Self::ShowUser(_)
            | Self::AddUser { .. }
            | Self::DeleteUser(_)
            | Self::EndSessions(_)
            | Self::EndSession(..)
            | Self::ExportPerson(_)
            | Self::SetPassword(..)
            | Self::CreateResetCode(_)
            | Self::CreateFactorReset(_)
            | Self::DisableUser(_)
            | Self::EnableUser(_)
            | Self::UnlockUser(_)
            | Self::SetEmailVerified(..)
            | Self::GrantRole(..)
            | Self::RevokeRole(..)
            | Self::Invite(_)
            | Self::ListInvitations { .. }
            | Self::RevokeInvitation(_)
            | Self::ListGuards
            | Self::CheckGuard { .. }
            | Self::CheckBrowsers { .. }
            | Self::Emergency { .. }
            | Self::ListMail { .. }
            | Self::RetryMail
            | Self::Diagnose
            | Self::ImportUsers { .. }
            | Self::ListImportedHashes { .. }
            | Self::DropImportedHashes(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DatabaseUrl;

    #[tokio::test]
    async fn a_runner_keeps_the_database_open_from_command_to_command() {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let settings = Settings { database, ..Settings::default() };
        drop(Doorward::open(settings.clone()).await.unwrap());
        let runner = CommandRunner::open(settings.clone()).await.unwrap();
        for _ in 0..2 {
            let reply = runner.run(&Command::ListGuards).await.unwrap();
            assert!(matches!(&reply, Reply::Guards(guards) if guards.is_empty()), "{reply:?}");
            let second = Doorward::open(settings.clone()).await.err();
            assert!(
                matches!(second, Some(OpenError::Data(data_folder::Error::InUse { .. }))),
                "{second:?}"
            );
        }
        let reload = runner.run(&Command::ReloadGuards).await;
        assert!(matches!(reload, Err(Error::NotRunning)), "{reload:?}");
        let why = runner.run(&Command::ShowRefusal(String::new())).await;
        assert!(matches!(why, Err(Error::NothingInMemory)), "{why:?}");
    }
}
