//! Where users and sessions are kept: the only floor that knows SQL. Each method is one transaction.

pub mod archive;
mod changes;
mod endings;
mod login_failures;
mod postgres;
mod sqlite;
pub mod transfer;

use async_trait::async_trait;

pub use self::{
    changes::{Changes, Connectivity, Stamp},
    endings::{Endings, Span},
    login_failures::{LoginFailureStore, MAX_ACCOUNTS},
    postgres::{PostgresOptions, PostgresStore, PostgresUrl},
    sqlite::SqliteStore,
};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    session::{Session, SessionId, TokenId},
    user::{Email, EmailKey, Name, PasswordVersion, Role, User, UserId},
};

/// What the doors ask of a database. A method that changes something returns when the change is safe on disk and
/// has been marked in [`Store::changes`].
#[async_trait]
pub trait Store: LoginFailureStore {
    /// Adds a user together with their first session, if they are to have one: both or neither. The network of the
    /// session is known from then on.
    async fn add_user(&self, user: &User, session: Option<&Session>) -> Result<(), Error>;

    /// The user with this id.
    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error>;

    /// The user with this address.
    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error>;

    /// The user, not disabled, who may use a reset code at this time.
    async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error>;

    /// Users in the order of their addresses, starting behind `after`.
    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error>;

    /// Whether anybody has registered.
    async fn has_users(&self) -> Result<bool, Error>;

    /// Gives a user another name, another address or both, and returns them as they are then; `None` if there is no
    /// such user. An address that differs from the old one in any character is not verified.
    async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
    ) -> Result<Option<User>, Error>;

    /// Notes whether this address of a user is verified; false if that was noted before, or the user is gone or has another
    /// address.
    async fn set_email_verified(
        &self,
        id: UserId,
        email: &Email,
        verified: bool,
        now: Timestamp,
    ) -> Result<bool, Error>;

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

    /// Sets a new password, ends all sessions but `keep` and voids the user's reset code; false if there is no such
    /// user or the old password is not as expected.
    async fn set_password(
        &self,
        id: UserId,
        old: OldPassword,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
    ) -> Result<bool, Error>;

    /// Gives a user a reset code in place of any other; false if there is no such user.
    async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
    ) -> Result<bool, Error>;

    /// Locks a user out, ending all their sessions; false if there is no such user.
    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error>;

    /// Lets a user log in again; false if there is no such user.
    async fn enable_user(&self, id: UserId) -> Result<bool, Error>;

    /// Removes a user and everything that is theirs; false if there is no such user.
    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error>;

    /// Adds a session for a user who has shown to know their password, and notes the login; false if the user is gone
    /// or disabled, or has had another password since. Beyond [`MAX_SESSIONS`] their oldest ones end. The network of the
    /// session is known from then on.
    async fn add_session(&self, user: &User, session: &Session) -> Result<bool, Error>;

    /// A session and whose it is.
    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error>;

    /// The sessions of a user that have not expired, the oldest first.
    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error>;

    /// Makes another token the session's good one; false if the session has ended or another was faster.
    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error>;

    /// Ends a session of which a token has been used again that was replaced at `replaced_by` or before; false if the
    /// session has ended, the token is its good one, or it was replaced later.
    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
    ) -> Result<bool, Error>;

    /// Ends one session of a user; false if they have no such session.
    async fn end_session(&self, user: UserId, id: SessionId, now: Timestamp)
    -> Result<bool, Error>;

    /// Ends all sessions of a user and tells how many there were.
    async fn end_sessions(&self, user: UserId, now: Timestamp) -> Result<usize, Error>;

    /// Writes down when sessions were last used. That changes nothing for their callers, so it is not marked.
    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error>;

    /// Removes up to `limit` of each kind of thing that has expired: sessions, reset codes and whatever the store keeps for
    /// itself. Tells how many there were of the most frequent kind.
    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error>;

    /// Removes up to `limit` endings from before this time, and tells how many there were.
    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error>;

    /// Tells what has changed since it was last looked at.
    fn changes(&self) -> &Changes;

    /// Tokens that have ended before their time; that of a session which expires has expired before it. They are there
    /// when the method that ended them returns or, in a database that others write to as well, within a second.
    fn endings(&self) -> &Endings;

    /// Whether it reads and writes at present.
    async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map(drop).map_err(NotReady::cannot_read)
    }
}

/// Why a store is not ready. Anybody may see it: it tells no more than what to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// It does not answer.
    #[error("The database cannot be read.")]
    CannotRead,
    /// No space is left for writes.
    #[error("The disk is full: nothing can be written but the end of sessions.")]
    DiskFull,
    /// Writes fail.
    #[error("The database cannot be written to.")]
    CannotWrite,
    /// The server takes no writes.
    #[error("The database server is read-only.")]
    ReadOnly,
    /// The journal cannot be moved into the database file.
    #[error("The journal of the database grows because checkpoints fail.")]
    CheckpointsFail,
}

impl NotReady {
    /// The cause is for the log only.
    fn cannot_read(cause: Error) -> Self {
        tracing::warn!(%cause, "not ready");
        Self::CannotRead
    }
}

/// A token that is no longer the good one of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReusedToken {
    /// Whose session it was made for.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// The token.
    pub token_id: TokenId,
}

/// Sessions that one user can have at a time.
pub const MAX_SESSIONS: usize = 100;

/// What must be true for a new password to take the place of the old one.
#[derive(Clone, Debug)]
pub enum OldPassword {
    /// It is still this one: whoever sets the new one knew it.
    Known(PasswordVersion),
    /// This reset code can still be used. It cannot afterwards.
    Forgotten(ResetDigest),
    /// Nothing: the operator decides.
    Overruled,
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
