//! What to make of PostgreSQL's errors: whether another try may do, and what callers are told.

use tokio_postgres::{Error as PgError, error::SqlState};

use super::connection::describe;
use crate::store::Error;

/// What to make of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Somebody else was faster; another try may do.
    Conflict,
    /// The connection, or the server at its other end, is of no use any more.
    Connection,
    /// A unique index has the value already.
    Taken,
    /// There is no room, or too much is going on.
    Exhausted,
    /// Anything else.
    Other,
}

impl Trouble {
    /// Broken connections, transactions that the server ended, servers that stop or take no writes, too many connections,
    /// commits of which nobody knows, and statements that were prepared for another schema or on another connection.
    const OF_CONNECTIONS: [&str; 10] =
        ["08", "57P", "25006", "25P03", "25P04", "53300", "40003", "0A000", "26000", "42P05"];
    /// No room, a statement that took too long, a lock that was not to be had, a disk that failed.
    const OF_EXHAUSTION: [&str; 4] = ["53", "57014", "55P03", "58030"];

    pub(super) fn of(error: &PgError) -> Self {
        let Some(code) = error.code() else {
            // Not an answer of the server.
            return Self::Connection;
        };
        if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED
        {
            Self::Conflict
        } else if *code == SqlState::UNIQUE_VIOLATION {
            Self::Taken
        } else if Self::OF_CONNECTIONS.iter().any(|class| code.code().starts_with(class)) {
            Self::Connection
        } else if Self::OF_EXHAUSTION.iter().any(|class| code.code().starts_with(class)) {
            Self::Exhausted
        } else {
            Self::Other
        }
    }
}

impl From<PgError> for Error {
    fn from(error: PgError) -> Self {
        let is_email = |name: &str| name.contains("email");
        match Trouble::of(&error) {
            Trouble::Taken
                if error.as_db_error().and_then(|e| e.constraint()).is_some_and(is_email) =>
            {
                Self::EmailTaken
            }
            Trouble::Conflict | Trouble::Connection | Trouble::Exhausted => {
                Self::Unavailable(describe(&error))
            }
            Trouble::Taken | Trouble::Other => Self::Failed(describe(&error).into()),
        }
    }
}
