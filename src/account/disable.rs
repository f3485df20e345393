//! Disabling a user and enabling them again.

use super::{UserError, require_found};
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    user::UserId,
};

/// Ends the sessions of a user and refuses their logins.
pub(crate) async fn disable(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    let effects = doorward.event_by_administrator(by, user, EventKind::UserDisabled).into();
    require_found(doorward.store().disable_user(user, doorward.now(), &effects).await?)
}

/// Lets a disabled user log in again.
pub(crate) async fn enable(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    let effects = doorward.event_by_administrator(by, user, EventKind::UserEnabled).into();
    require_found(doorward.store().enable_user(user, &effects).await?)
}

impl Doorward {
    /// Disables a user, as `doorward user disable` does: their sessions end at once and they cannot log in.
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
