//! Unlocking an account after too many failed logins, by the operator.

use super::factor::budget::forget_all;
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    store,
    user::User,
};

/// Forgets the failed logins on a user's account, from everywhere and from each network, and their wrong second factors. The failures of a network on all
/// accounts stay.
pub(crate) async fn unlock(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<(), store::Error> {
    let effects = doorward.event_by_administrator(by, user.id, EventKind::AccountUnlocked).into();
    doorward.unlock(&user.email.key(), &effects).await?;
    forget_all(doorward, user).await
}
