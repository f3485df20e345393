//! Where users and sessions are kept: the only floor that knows SQL. Each method is one transaction.

mod changes;
mod sqlite;

use async_trait::async_trait;

pub use self::{
    changes::{Changes, Stamp},
    sqlite::SqliteStore,
};
use crate::{
    clock::Timestamp,
    password::PasswordHash,
    session::{Session, SessionId},
    user::{EmailKey, Role, User, UserId},
};

/// What the doors ask of a database. A method that changes something returns when the change is safe on disk and
/// has been marked in [`Store::changes`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Adds a user together with their first session: both or neither.
    async fn add_user(&self, user: &User, session: &Session) -> Result<(), Error>;

    /// The user with this id.
    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error>;

    /// The user with this address.
    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error>;

    /// Users in the order of their addresses, starting behind `after`.
    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error>;

    /// Whether anybody has registered.
    async fn has_users(&self) -> Result<bool, Error>;

    /// Replaces a hash by another of the same password, unless the password has changed meanwhile.
    async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error>;

    /// Gives a role to a user; false if they had it.
    async fn grant_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error>;

    /// Takes a role from a user; false if they did not have it.
    async fn revoke_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error>;

    /// Removes a user and all their sessions; false if there is no such user.
    async fn delete_user(&self, id: UserId) -> Result<bool, Error>;

    /// Adds a session and notes the login; false if its user is gone or disabled.
    async fn add_session(&self, session: &Session) -> Result<bool, Error>;

    /// A session and whose it is.
    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error>;

    /// Ends all sessions of a user and tells how many there were.
    async fn end_sessions(&self, user: UserId) -> Result<usize, Error>;

    /// Removes up to `limit` sessions that have expired and tells how many there were.
    async fn sweep_sessions(&self, now: Timestamp, limit: usize) -> Result<usize, Error>;

    /// Tells what has changed since it was last looked at.
    fn changes(&self) -> &Changes;
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another user has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// It cannot at present, and may soon: worth another try.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// It should have been able to: a bug, or a damaged database.
    #[error("the database failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}
