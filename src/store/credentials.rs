//! The store of credentials: password hashes, reset codes and used sign-in codes.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    mail::Mailing,
    session::SessionId,
    token::cookie::CodeId,
    user::{PasswordVersion, User, UserId},
};

/// Stores password hashes, reset codes and which sign-in codes have been used.
#[async_trait]
pub trait CredentialStore: Send + Sync {
    /// Replaces a hash with another hash of the same password, unless the password has changed since.
    async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error>;

    /// Sets a new password, ends all sessions but `keep` and deletes the user's reset code. Returns false if there is no
    /// such user or the condition does not hold; else queues the mail.
    async fn set_password(
        &self,
        id: UserId,
        condition: PasswordCondition,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error>;

    /// Sets the reset code of a user, which replaces an earlier one. Returns false if there is no such user.
    async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
    ) -> Result<bool, Error>;

    /// The enabled user whose unexpired reset code this is.
    async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error>;

    /// Records the use of a sign-in code, which expires at this time. Returns false if it has been used before.
    async fn use_code(&self, id: CodeId, expires_at: Timestamp) -> Result<bool, Error>;
}

/// The condition under which a new password replaces the old one.
#[derive(Clone, Debug)]
pub enum PasswordCondition {
    /// The password still has this version, which the caller has verified.
    Unchanged(PasswordVersion),
    /// This reset code is still valid. Setting the password deletes it.
    ResetCode(ResetDigest),
    /// No condition: the operator sets the password.
    Unconditional,
}
