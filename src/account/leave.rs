//! Deleting an account: by its user, who proves that it is they, and by the operator.

use super::{
    UserError,
    effects::account_deleted,
    proof::{ConfirmError, Proof, confirm},
    require_found,
};
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    mail::DeletedBy,
    network::Requester,
    store::Effects,
    user::{User, UserId},
};

/// Deletes the account of a user at their request.
pub(crate) async fn leave(
    doorward: &Doorward,
    user: &User,
    proof: Proof,
    requester: &Requester,
) -> Result<(), ConfirmError> {
    let user = confirm(doorward, user, proof, requester).await?;
    let event = doorward.event_by_user(user.id, requester, EventKind::UserDeleted);
    let effects = account_deleted(doorward, &user, DeletedBy::User, requester.language).with(event);
    doorward.store().delete_user(user.id, doorward.now(), &effects).await?;
    Ok(())
}

/// Deletes a user and everything stored about them.
pub(crate) async fn delete(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    let event = doorward.event_by_administrator(by, user, EventKind::UserDeleted);
    let effects = match doorward.user_by_id(user).await? {
        Some(user) => {
            let language = doorward.settings().mail.language;
            account_deleted(doorward, &user, DeletedBy::Operator, language)
        }
        None => Effects::NONE,
    };
    let effects = effects.with(event);
    require_found(doorward.store().delete_user(user, doorward.now(), &effects).await?)
}

impl Doorward {
    /// Deletes a user and everything stored about them, as `doorward user delete` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn delete_user(&self, user: UserId) -> Result<(), UserError> {
        delete(self, user, &Administrator::APP).await
    }
}
