//! Unlocking an account after too many failed logins, by an administrator.

use super::{UserError, factor::budget::code_accounts, require_found};
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    user::User,
};

/// Why an account was not unlocked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnlockError {
    /// Whoever could forget their own wrong codes could try all of them.
    #[error("somebody else has to unlock your account")]
    OwnAccount,
    #[error(transparent)]
    User(#[from] UserError),
}

/// Forgets the failed logins on a user's account, from everywhere and from each network, and their wrong second factors. The failures of a network on all
/// accounts stay. Nobody does this for themselves. Who has made the key of a machine is not known.
pub(crate) async fn unlock(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<(), UnlockError> {
    if by.person() == Some(user.id) {
        return Err(UnlockError::OwnAccount);
    }
    let effects = doorward.event_by_administrator(by, user.id, EventKind::AccountUnlocked).into();
    let codes = code_accounts(doorward, user).await.map_err(UserError::from)?;
    let unlocked = doorward.unlock(user, &codes, &effects).await.map_err(UserError::from)?;
    Ok(require_found(unlocked)?)
}
