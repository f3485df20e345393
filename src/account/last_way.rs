//! What keeps people from removing their last way to sign in.

use super::sign_in::elsewhere;
use crate::{
    Doorward,
    store::OtherWays,
    user::{Identity, User},
};

/// By what a user may sign in, besides a passkey. An identity whose login the operator has removed signs nobody in, and neither does the
/// password of somebody who signs in elsewhere.
pub(super) fn other_ways<'a>(
    doorward: &Doorward,
    user: &User,
    mut identities: impl Iterator<Item = &'a Identity>,
) -> OtherWays {
    let logins = doorward.logins();
    let is_usable = |identity: &&Identity| logins.can_use(&identity.issuer, &identity.login);
    OtherWays {
        by_password: elsewhere(doorward, &user.email.key()).is_none(),
        by_mail: doorward.signs_in_by_mail(),
        by_identity: identities.find(is_usable).map(|identity| identity.id),
    }
}
