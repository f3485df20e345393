//! Deleting an account: by its user, who confirms with their password, and by the operator.

use super::{
    UserError, require_found,
    sign_in::{ConfirmError, confirm},
};
use crate::{
    Doorward,
    credential::password::Password,
    network::Requester,
    user::{User, UserId},
};

/// Deletes the account of a user at their request. The password confirms it.
pub(crate) async fn leave(
    doorward: &Doorward,
    user: &User,
    password: Option<Password>,
    requester: Requester,
) -> Result<(), ConfirmError> {
    let user = confirm(doorward, user, password, requester).await?;
    doorward.store().delete_user(user.id, doorward.now()).await?;
    tracing::info!(user = %user.id, "deleted by the user");
    Ok(())
}

impl Doorward {
    /// Deletes a user and everything stored about them, as `doorward user delete` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn delete_user(&self, user: UserId) -> Result<(), UserError> {
        require_found(self.store().delete_user(user, self.now()).await?)?;
        tracing::info!(%user, "deleted by the operator");
        Ok(())
    }
}
