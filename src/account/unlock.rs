//! Unlocking an account after too many failed logins, by the operator.

use crate::{Doorward, store, user::User};

/// Forgets the failed logins on a user's account, from everywhere and from each network. The failures of a network on all
/// accounts stay.
pub(crate) async fn unlock(doorward: &Doorward, user: &User) -> Result<(), store::Error> {
    doorward.unlock(&user.email.key()).await?;
    tracing::info!(user = %user.id, "unlocked by the operator");
    Ok(())
}
