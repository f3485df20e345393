//! Deleting an account: by its user, who proves that it is they, and by the operator.

use super::{
    Error,
    effects::account_deleted,
    proof::{Proof, confirm},
    user_order::Order,
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
) -> Result<(), Error> {
    let user = confirm(doorward, &caller.user, proof, requester).await?;
    let event = doorward.event_by_caller(caller, requester, EventKind::UserDeleted);
    let effects = account_deleted(doorward, &user, DeletedBy::User, requester.language).with(event);
    doorward.store().delete_user(user.id, doorward.now(), &effects).await?;
    Ok(())
}

/// Deletes a user and what is stored about them, for an administrator. The audit trail keeps ids, kinds and times of events.
#[derive(Default)]
pub(crate) struct Delete {
    /// Only the record of this version is deleted.
    pub(crate) version: Option<UserVersion>,
}

impl Order for Delete {
    type Outcome = ();

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<(), Error> {
        let event = doorward.event_by_administrator(by, user.id, EventKind::UserDeleted);
        let language = doorward.settings().mail.language;
        let effects = account_deleted(doorward, user, DeletedBy::Operator, language).with(event);
        let (store, now) = (doorward.store(), doorward.now());
        match store.delete_user_of_version(user.id, self.version, now, &effects).await? {
            Conditional::Done => Ok(()),
            Conditional::Changed => Err(Error::UserChanged),
            Conditional::Gone => Err(Error::NoSuchUser),
        }
    }
}

impl Doorward {
    /// Deletes a user and what is stored about them, as `doorward user delete` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn delete_user(&self, user: UserId) -> Result<(), Error> {
        self.order(Delete::default(), user).await
    }
}
