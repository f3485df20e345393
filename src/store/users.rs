//! The store of users.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    mail::Mailing,
    session::Session,
    user::{Email, EmailKey, InvitationId, Name, Role, User, UserId},
};

/// Stores users.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Adds a user and, if given, their first session, uses the invitation and queues the mail: all or nothing. The session's
    /// network becomes a known one.
    ///
    /// # Errors
    /// [`Error::EmailTaken`] if another user has the address. [`Error::InvitationGone`] if the invitation does not exist, has
    /// expired or is to another address.
    async fn add_user(
        &self,
        user: &User,
        session: Option<&Session>,
        invitation: Option<InvitationId>,
        mailing: &Mailing,
    ) -> Result<(), Error>;

    /// The user with this id.
    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error>;

    /// The user with this address.
    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error>;

    /// Up to `limit` users in the order of their addresses, from the first one after `after`.
    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error>;

    /// Whether there is any user.
    async fn has_users(&self) -> Result<bool, Error>;

    /// Changes a user's name, address or both, and returns the changed user; `None` if there is no such user. An address
    /// that differs from the old one in any character is not verified.
    async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
    ) -> Result<Option<User>, Error>;

    /// Sets whether this address of a user is verified. Returns false if nothing changes, or if the user is gone or has
    /// another address.
    async fn set_email_verified(
        &self,
        id: UserId,
        email: &Email,
        verified: bool,
        now: Timestamp,
    ) -> Result<bool, Error>;

    /// Grants a role to a user. Returns false if they already have it.
    async fn grant_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error>;

    /// Revokes a role of a user. Returns false if they do not have it.
    async fn revoke_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error>;

    /// Disables a user and ends all their sessions. Returns false if there is no such user.
    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error>;

    /// Enables a user. Returns false if there is no such user.
    async fn enable_user(&self, id: UserId) -> Result<bool, Error>;

    /// Deletes a user with all their sessions, reset codes, one-time secrets, mail in the outbox, the invitations that they have
    /// made and the one to their address. Returns false if there is no such user.
    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error>;
}
