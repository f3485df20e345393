//! Disabling a user and enabling them again.

use super::{UserError, require_found};
use crate::{Doorward, user::UserId};

impl Doorward {
    /// Disables a user, as `doorward user disable` does: their sessions end at once and they cannot log in.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn disable_user(&self, user: UserId) -> Result<(), UserError> {
        require_found(self.store().disable_user(user, self.now()).await?)?;
        tracing::info!(%user, "disabled by the operator");
        Ok(())
    }

    /// Lets a disabled user log in again, as `doorward user enable` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn enable_user(&self, user: UserId) -> Result<(), UserError> {
        require_found(self.store().enable_user(user).await?)?;
        tracing::info!(%user, "enabled by the operator");
        Ok(())
    }
}
