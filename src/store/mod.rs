//! Stores all data in SQLite or PostgreSQL. Only this room uses SQL. Each kind of data has one trait, and one file in each
//! database.

pub mod archive;
mod changes;
mod columns;
mod counts;
mod credentials;
mod emergency;
mod ended_tokens;
mod imports;
mod invitations;
mod known_networks;
mod login_failures;
mod memory;
mod one_times;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "postgres_disabled.rs"]
mod postgres;
mod postgres_options;
mod report;
mod sessions;
mod sqlite;
mod users;

use async_trait::async_trait;

#[cfg(all(feature = "internals", feature = "postgres"))]
pub use self::postgres::PostgresStore;
pub(crate) use self::postgres::{
    begin_restoration as begin_postgres_restoration, open as open_postgres,
};
pub use self::{
    changes::{Changes, Connectivity, Stamp},
    counts::{Sizes, StoreCounts},
    credentials::{CredentialStore, PasswordCondition},
    emergency::{EmergencyStore, NewPasswords, Revoked},
    ended_tokens::EndedTokenStore,
    imports::{ImportStore, ImportedHash},
    invitations::InvitationStore,
    known_networks::KnownNetworkStore,
    login_failures::{LoginFailureStore, MAX_ACCOUNTS},
    memory::MemoryDatabase,
    one_times::{MAX_CODES, OneTimeEffect, OneTimeStore},
    outbox::{ClaimedMail, KEEP_GIVEN_UP, OutboxStore, QueuedMail},
    postgres::PostgresUrl,
    postgres_options::PostgresOptions,
    report::DatabaseReport,
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
    UserStore
    + CredentialStore
    + SessionStore
    + EndedTokenStore
    + LoginFailureStore
    + KnownNetworkStore
    + OneTimeStore
    + OutboxStore
    + InvitationStore
    + ImportStore
    + EmergencyStore
{
    /// Deletes up to `limit` expired rows of each kind: sessions, reset codes, one-time secrets, invitations, mail that was given up
    /// long ago and the store's internal records. Returns the largest of these counts.
    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error>;

    /// Counts changes, so that a cached user can be validated without a query.
    fn changes(&self) -> &Changes;

    /// The operations since the start.
    fn counts(&self) -> &StoreCounts;

    /// How much the database holds. The work grows with its size.
    async fn sizes(&self) -> Result<Sizes, Error>;

    /// Whether the schema is one that this version knows. Another instance may have migrated it.
    async fn has_known_schema(&self) -> Result<bool, Error>;

    /// Whether the database can be read and written.
    async fn check(&self) -> Result<(), NotReady>;

    /// What the database says about itself. It may take seconds.
    async fn report(&self) -> Result<DatabaseReport, Error>;
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
        tracing::warn!(%cause, "not ready: the database cannot be read");
        Self::CannotRead
    }
}

/// Why a call to the store failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another user has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// The invitation has expired, was revoked or used.
    #[error("the invitation is not valid any more")]
    InvitationGone,
    /// A temporary failure: a retry may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// An internal error: a bug, or a damaged database.
    #[error("the database failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl archive::DatabaseKind {
    /// The number of the newest schema that this version knows.
    pub fn schema(self) -> usize {
        match self {
            Self::Sqlite => sqlite::SCHEMA,
            Self::Postgres => postgres::SCHEMA,
        }
    }
}

/// Why a backup cannot be restored into a database.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A server, or another command, uses the database.
    #[error("the database is in use by another doorward: stop every server that uses it first")]
    InUse,
    /// Something else holds a lock.
    #[error(
        "other connections hold locks on the tables of the database: wait until pg_dump, backups and other restores have \
         finished, or end the connections (pg_stat_activity shows them); nothing was restored"
    )]
    Locked,
    /// The database has users.
    #[error("the database already has users: add --replace to replace everything in it")]
    NotEmpty,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// A newer version of Doorward has migrated the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a newer doorward has written the database (schema {found}, this version supports up to {known}): \
     start that version, or restore a backup from before the upgrade"
)]
struct NewerSchema {
    found: usize,
    known: usize,
}

impl From<NewerSchema> for Error {
    fn from(error: NewerSchema) -> Self {
        Self::Failed(error.into())
    }
}
