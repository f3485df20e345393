//! Reset codes: the operator creates one, and the user sets a new password with it.

use std::time::Instant;

use super::{Failure, InvalidInput, UserError, has_failure, require_found};
use crate::{
    Doorward,
    credential::{
        password::Password,
        reset_code::{ResetCode, ResetDigest},
    },
    network::Requester,
    store::PasswordCondition,
    user::{User, UserId},
};

/// Why the password was not reset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResetError {
    /// The code is wrong, expired or used. The error does not say which.
    #[error("the reset code is wrong or has expired")]
    WrongCode,
    #[error(transparent)]
    Invalid(InvalidInput),
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(ResetError);

/// Sets the password of the user of a reset code, and ends all their sessions.
pub(crate) async fn reset(
    doorward: &Doorward,
    code: ResetDigest,
    password: Password,
    requester: Requester,
) -> Result<User, ResetError> {
    doorward.throttle().charge_reset(requester, Instant::now())?;
    let Some(user) = doorward.store().user_by_reset_code(&code, doorward.now()).await? else {
        tracing::info!(network = %requester.network, "failed reset");
        return Err(ResetError::WrongCode);
    };
    let rules = doorward.settings().password_rules;
    let password = password.reject_identity(user.name.as_str(), user.email.as_str(), rules);
    let password = password.map_err(InvalidInput::new("password")).map_err(ResetError::Invalid)?;
    let hash = doorward.hasher().hash(password, requester.network).await?;
    let (condition, now) = (PasswordCondition::ResetCode(code), doorward.now());
    if !doorward.store().set_password(user.id, condition, &hash, None, now).await? {
        return Err(ResetError::WrongCode);
    }
    doorward.throttle().clear_account(&user.email.key(), Instant::now());
    tracing::info!(user = %user.id, "password reset");
    Ok(user)
}

impl Doorward {
    /// Creates a code with which a user can set a password once within 30 minutes (`POST /api/auth/reset`), as
    /// `doorward user reset-code` does. It replaces any earlier code.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn create_reset_code(&self, user: UserId) -> Result<ResetCode, UserError> {
        let (code, expires_at) = (ResetCode::random(), self.now() + ResetCode::LIFETIME);
        require_found(self.store().add_reset_code(user, &code.digest(), expires_at).await?)?;
        tracing::info!(%user, "reset code created by the operator");
        Ok(code)
    }
}
