//! Why a command could not be run.

use std::{io, path::PathBuf};

use axum::http::StatusCode;

use crate::{OpenError, config};

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
