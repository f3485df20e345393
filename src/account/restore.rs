//! Taking back a change of the address, from the notice that the old address got. Whoever made the change may know the
//! password, hold sessions and have added factors since, so a new password is set, all sessions end and these factors are removed.

use super::{
    Error, InvalidInput,
    one_time::{FoundSecret, find},
    password::reject_known,
};
use crate::{
    Doorward,
    credential::password::Password,
    event::EventKind,
    network::Requester,
    store::{self, Effects, OneTimeUse},
    token::one_time::{LinkOrCode, Purpose, SecretDigest},
    user::{EmailKey, User},
};

/// Restores the old address of a user and sets a new password. Only the secret of the link does that: no code can be typed.
pub(crate) async fn restore(
    doorward: &Doorward,
    secret: SecretDigest,
    password: Password,
    requester: &Requester,
) -> Result<User, Error> {
    let (purposes, presented) = ([Purpose::RestoreEmail], LinkOrCode::Secret(secret));
    let found = find(doorward, &purposes, &presented, requester).await?;
    let FoundSecret { one_time, user, .. } = found.ok_or(Error::WrongCode)?;
    let password = reject_known(doorward, password, &user.name, &one_time.email);
    let password = password.map_err(InvalidInput::new("password"))?;
    let hash = doorward.hasher().hash(password, requester.network()).await?;
    let kind = EventKind::EmailRestored;
    let effects = Effects::from(doorward.event_by_unknown(user.id, requester, kind));
    let (usage, store, now) = (OneTimeUse::RestoreEmail(hash), doorward.store(), doorward.now());
    let mut used = store.use_one_time(&one_time, usage.clone(), &effects, now).await;
    if let Err(store::Error::EmailTaken) = used
        && give_way(doorward, &one_time.email.key(), requester).await?
    {
        used = store.use_one_time(&one_time, usage, &effects, now).await;
    }
    let user = used?.ok_or(Error::WrongCode)?;
    doorward.clear_failures(&user.email.key()).await?;
    Ok(user)
}

/// Deletes the account that has registered the address since the change and has never verified it. Else whoever made the change
/// could keep its owner from the way back. The owner can delete that account anyway, with a new password by mail. One with
/// roles stays: the operator knows it.
async fn give_way(
    doorward: &Doorward,
    email: &EmailKey,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let other = doorward.store().user_by_email(email).await?;
    let is_unknown = |other: &User| !other.email_verified && other.roles.is_empty();
    let Some(other) = other.filter(is_unknown) else { return Ok(false) };
    let kind = EventKind::UnverifiedUserDeleted;
    let effects = doorward.event_by_unknown(other.id, requester, kind).into();
    doorward.store().delete_user(other.id, doorward.now(), &effects).await
}
