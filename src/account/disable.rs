//! Disabling a user and enabling them again.

use super::{UserError, require_found};
use crate::{Doorward, event::EventKind, user::UserId};

impl Doorward {
    /// Disables a user, as `doorward user disable` does: their sessions end at once and they cannot log in.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn disable_user(&self, user: UserId) -> Result<(), UserError> {
        let effects = self.event_by_operator(user, EventKind::UserDisabled).into();
        require_found(self.store().disable_user(user, self.now(), &effects).await?)
    }

    /// Lets a disabled user log in again, as `doorward user enable` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn enable_user(&self, user: UserId) -> Result<(), UserError> {
        let effects = self.event_by_operator(user, EventKind::UserEnabled).into();
        require_found(self.store().enable_user(user, &effects).await?)
    }
}
