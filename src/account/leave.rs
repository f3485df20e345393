//! Deleting an account: by its user, who proves that it is they, and by the operator.

use super::{
    UserError,
    edit::EditError,
    effects::account_deleted,
    look_up::require,
    proof::{ConfirmError, Proof, confirm},
};
use crate::{
    Caller, Doorward,
    event::{Administrator, EventKind},
    mail::DeletedBy,
    network::Requester,
    store::Conditional,
    user::{User, UserId, UserVersion},
};

/// Deletes the account of the caller.
pub(crate) async fn leave(
    doorward: &Doorward,
    caller: &Caller,
    proof: Proof,
    requester: &Requester,
) -> Result<(), ConfirmError> {
    let user = confirm(doorward, &caller.user, proof, requester).await?;
    let event = doorward.event_by_caller(caller, requester, EventKind::UserDeleted);
    let effects = account_deleted(doorward, &user, DeletedBy::User, requester.language).with(event);
    doorward.store().delete_user(user.id, doorward.now(), &effects).await?;
    Ok(())
}

/// Deletes a user and what is stored about them, for an administrator. The audit trail keeps ids, kinds and times of events.
pub(crate) async fn delete(
    doorward: &Doorward,
    user: UserId,
    by: &Administrator,
) -> Result<(), UserError> {
    let user = require(doorward, user).await?;
    match delete_version(doorward, &user, None, by).await {
        Ok(()) => Ok(()),
        Err(EditError::Store(error)) => Err(error.into()),
        Err(_) => Err(UserError::NoSuchUser),
    }
}

/// The same. With `version`, only the record of this version is deleted.
pub(crate) async fn delete_version(
    doorward: &Doorward,
    user: &User,
    version: Option<UserVersion>,
    by: &Administrator,
) -> Result<(), EditError> {
    let event = doorward.event_by_administrator(by, user.id, EventKind::UserDeleted);
    let language = doorward.settings().mail.language;
    let effects = account_deleted(doorward, user, DeletedBy::Operator, language).with(event);
    let (store, now) = (doorward.store(), doorward.now());
    match store.delete_user_of_version(user.id, version, now, &effects).await? {
        Conditional::Done => Ok(()),
        Conditional::Changed => Err(EditError::Changed),
        Conditional::Gone => Err(EditError::NoSuchUser),
    }
}

impl Doorward {
    /// Deletes a user and what is stored about them, as `doorward user delete` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn delete_user(&self, user: UserId) -> Result<(), UserError> {
        delete(self, user, &Administrator::APP).await
    }
}
