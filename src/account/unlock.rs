//! Unlocking an account after too many failed logins, by an administrator.

use super::{
    Error,
    factor::budget::code_accounts,
    user_order::{Order, require_found},
};
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    user::User,
};

/// Forgets the failed logins on a user's account, from everywhere and from each network, and their wrong second factors. The failures of a network on all
/// accounts stay. Nobody does this for themselves. Who has made the key of a machine is not known.
pub(crate) struct Unlock;

impl Order for Unlock {
    type Outcome = ();

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<(), Error> {
        if by.person() == Some(user.id) {
            return Err(Error::OwnAccount);
        }
        let event = doorward.event_by_administrator(by, user.id, EventKind::AccountUnlocked);
        let codes = code_accounts(doorward, user).await?;
        require_found(doorward.unlock(user, &codes, &event.into()).await?)
    }
}
