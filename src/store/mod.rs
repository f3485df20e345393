//! Where accounts are stored: the only room that knows SQL. One trait and one file per kind of data, in both databases.

pub mod archive;
mod changes;
mod columns;
mod credentials;
mod ended_tokens;
mod known_networks;
mod login_failures;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "postgres_disabled.rs"]
mod postgres;
mod postgres_options;
mod sessions;
mod sqlite;
pub mod transfer;
mod users;

use async_trait::async_trait;

#[cfg(all(feature = "internals", feature = "postgres"))]
pub use self::postgres::PostgresStore;
pub(crate) use self::postgres::open as open_postgres;
pub use self::{
    changes::{Changes, Connectivity, Stamp},
    credentials::{CredentialStore, PasswordCondition},
    ended_tokens::EndedTokenStore,
    known_networks::KnownNetworkStore,
    login_failures::{LoginFailureStore, MAX_ACCOUNTS},
    postgres::PostgresUrl,
    postgres_options::PostgresOptions,
    sessions::{MAX_SESSIONS, ReusedToken, SessionStore},
    sqlite::SqliteStore,
    users::UserStore,
};
use crate::{clock::Timestamp, token::endings::Endings};

/// A database: the stores of all kinds of data together.
///
/// Each method is one transaction. A method that changes something returns after the change is durable and counted in
/// [`Self::changes`].
#[async_trait]
pub trait Store:
    UserStore + CredentialStore + SessionStore + EndedTokenStore + LoginFailureStore + KnownNetworkStore
{
    /// Deletes up to `limit` expired rows of each kind: sessions, reset codes and the store's internal records. Returns
    /// the largest of these counts.
    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error>;

    /// Counts changes, so that a cached user can be checked without a query.
    fn changes(&self) -> &Changes;

    /// Whether the database can be read and written.
    async fn check(&self) -> Result<(), NotReady>;
}

/// Why a store is not ready. The text is public, so it names no file, host or cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// Reads fail.
    #[error("The database cannot be read.")]
    CannotRead,
    /// The disk is full.
    #[error("The disk is full: only the end of sessions can be written.")]
    DiskFull,
    /// Writes fail.
    #[error("The database cannot be written to.")]
    CannotWrite,
    /// The server accepts no writes.
    #[error("The database server is read-only.")]
    ReadOnly,
    /// The write-ahead log cannot be moved into the database file.
    #[error("The write-ahead log of the database grows because checkpoints fail.")]
    CheckpointsFail,
}

impl NotReady {
    /// Logs the cause, which is not public.
    fn cannot_read(cause: Error) -> Self {
        tracing::warn!(%cause, "not ready");
        Self::CannotRead
    }
}

/// Why the store refused a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another user has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// A temporary failure: a retry may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// An internal error: a bug, or a damaged database.
    #[error("the database failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}
