//! Marking the e-mail address of a user as verified or not.

use crate::{
    Doorward, store,
    user::{EmailKey, User, UserId},
};

/// Why the mark of an e-mail address was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The user has another e-mail address, or was changed in the meantime.
    #[error("the user has changed in the meantime: check the e-mail address and try again")]
    UserChanged,
    /// The user does not exist.
    #[error("there is no such user")]
    NoSuchUser,
    /// The database could not be used.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Marks the user's current address as verified or not. False if it is marked so already.
pub(crate) async fn set_verified(
    doorward: &Doorward,
    user: &User,
    verified: bool,
) -> Result<bool, VerifyError> {
    let now = doorward.now();
    let changed = doorward.store().set_email_verified(user.id, &user.email, verified, now).await?;
    tracing::info!(user = %user.id, verified, changed, "e-mail address verification set by the operator");
    if !changed && user.email_verified != verified {
        return Err(VerifyError::UserChanged);
    }
    Ok(changed)
}

impl Doorward {
    /// Marks this e-mail address of a user as verified, as `doorward user verify` does. Returns whether that changed
    /// anything.
    ///
    /// # Errors
    /// If there is no such user, or the user has another address.
    pub async fn verify_email(&self, id: UserId, email: &str) -> Result<bool, VerifyError> {
        let user = self.user_by_id(id).await?.ok_or(VerifyError::NoSuchUser)?;
        if user.email.key() != EmailKey::of(email) {
            return Err(VerifyError::UserChanged);
        }
        set_verified(self, &user, true).await
    }
}
