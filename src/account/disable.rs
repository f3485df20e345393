//! Disabling a user and enabling them again.

use super::{
    UserError,
    edit::{Edit, EditError, edit},
    look_up::require,
};
use crate::{Doorward, event::Administrator, store, user::UserId};

/// Ends the sessions, API keys and trusted browsers of a user and refuses their logins, or lets a disabled user log in again. What has
/// ended stays so.
async fn set_disabled(
    doorward: &Doorward,
    user: UserId,
    disabled: bool,
    by: &Administrator,
) -> Result<(), UserError> {
    let user = require(doorward, user).await?;
    let change = Edit { disabled: Some(disabled), ..Edit::default() };
    match edit(doorward, &user, &change, None, by).await {
        Ok(_) => Ok(()),
        Err(EditError::NoSuchUser) => Err(UserError::NoSuchUser),
        Err(EditError::Store(error)) => Err(error.into()),
        Err(error @ (EditError::Changed | EditError::EmailTaken)) => {
            Err(store::Error::Unavailable(error.to_string()).into())
        }
    }
}

/// Ends the sessions, API keys and trusted browsers of a user and refuses their logins.
pub(crate) async fn disable(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    set_disabled(doorward, user, true, by).await
}

/// Lets a disabled user log in again.
pub(crate) async fn enable(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    set_disabled(doorward, user, false, by).await
}

impl Doorward {
    /// Disables a user, as `doorward user disable` does: their sessions, API keys and trusted
    /// browsers end at once and for good, and they cannot log in.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn disable_user(&self, user: UserId) -> Result<(), UserError> {
        disable(self, user, &Administrator::APP).await
    }

    /// Lets a disabled user log in again, as `doorward user enable` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn enable_user(&self, user: UserId) -> Result<(), UserError> {
        enable(self, user, &Administrator::APP).await
    }
}
