//! Proof of knowing a password, wherever one is asked for: throttled before the hash, then checked in the hashing lane.

use std::time::Instant;

use crate::{
    Doorward,
    access::failed_logins::LoginRefusal,
    credential::password::{Password, Verification},
    http::{
        Challenge, Error,
        form::{Form, InvalidField},
    },
    network::{Network, Requester},
    throttle::{LoginAttempt, Throttled},
    user::{EmailKey, User, UserId},
};

/// The user with this address, if the password is theirs and they are not disabled.
pub(crate) async fn user_by_password(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    requester: Requester,
) -> Result<Option<User>, Error> {
    let paid = pay(doorward, email, requester).await?;
    let matched = match_user(doorward, email, password, requester.network).await;
    // Only a wrong password is a failure of the caller's: a full queue or a lost database is ours.
    match &matched {
        Ok(Ok(_)) => paid.succeeded(),
        Ok(Err(_)) => drop(paid),
        Err(_) => paid.cancel(),
    }
    Ok(match matched? {
        Ok(user) => Some(user),
        Err((reason, user_id)) => {
            doorward.record_failed_login(reason, user_id, email, requester.network);
            None
        }
    })
}

/// Pays for a try. Where the budget of the account is spent, a network that the owner has used keeps one of its own;
/// whether the account exists makes no difference to what is done here.
async fn pay<'a>(
    doorward: &'a Doorward,
    email: &EmailKey,
    requester: Requester,
) -> Result<LoginAttempt<'a>, Error> {
    let (throttle, now) = (doorward.throttle(), Instant::now());
    let refused = match throttle.begin_login(email, requester, now) {
        Ok(paid) => return Ok(paid),
        Err(refused) => refused,
    };
    if throttle.may_check_known_networks(&refused, requester, now)
        && doorward.store().known_networks(email).await?.contains(requester.network)
    {
        return throttle
            .begin_login_from_known_network(email, requester, now)
            .map_err(|refused| throttled(doorward, refused, email, requester));
    }
    Err(throttled(doorward, refused, email, requester))
}

/// The user is not looked up: that would be work that others wait for.
fn throttled(
    doorward: &Doorward,
    refused: Throttled,
    email: &EmailKey,
    requester: Requester,
) -> Error {
    doorward.record_failed_login(refused.into(), None, email, requester.network);
    refused.into()
}

/// The field with the password that a user has; a user without one need not send any.
pub(crate) fn own_password(
    form: &mut Form,
    field: &'static str,
    user: &User,
) -> Result<Option<Password>, InvalidField> {
    let tried = |sent| Ok(Password::unchecked(sent));
    match user.password_hash {
        Some(_) => form.required(field, tried).map(Some),
        None => form.optional(field, tried),
    }
}

/// The user as they are in the store, once they have shown that they know their password, if they have one.
pub(crate) async fn confirm(
    doorward: &Doorward,
    user: &User,
    password: Option<Password>,
    requester: Requester,
) -> Result<User, Error> {
    // The token is good and stays so: only this action is refused.
    let refused = Error::Unauthorized(Challenge::InsufficientScope, None);
    let confirmed = match (&user.password_hash, password) {
        (None, _) => Some(user.clone()),
        (Some(_), None) => None,
        (Some(_), Some(password)) => {
            user_by_password(doorward, &user.email.key(), password, requester).await?
        }
    };
    confirmed.filter(|confirmed| confirmed.id == user.id).ok_or(refused)
}

/// Found or not, the same is done up to the verdict, and one line is logged after it.
async fn match_user(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    client: Network,
) -> Result<Result<User, (LoginRefusal, Option<UserId>)>, Error> {
    let found = doorward.store().user_by_email(email).await?;
    let user = found.as_ref().filter(|user| !user.disabled);
    let stored = user.and_then(|user| user.password_hash.as_ref());
    let verdict = doorward.hasher().verify(password, stored, client).await?;
    let reason = match &found {
        None => LoginRefusal::UnknownAddress,
        Some(user) if user.disabled => LoginRefusal::Disabled,
        Some(user) if user.password_hash.is_none() => LoginRefusal::NoPassword,
        Some(_) => LoginRefusal::WrongPassword,
    };
    match (verdict, found) {
        (Verification::Match { rehashed }, Some(user)) if reason == LoginRefusal::WrongPassword => {
            if let (Some(new), Some(old)) = (rehashed, &user.password_hash) {
                doorward.store().replace_password_hash(user.id, old, &new).await?;
            }
            Ok(Ok(user))
        }
        (_, found) => Ok(Err((reason, found.map(|user| user.id)))),
    }
}
