//! Proof of knowing a password, wherever one is asked for: throttled before the hash, then checked in the hashing lane.

use std::time::Instant;

use super::{
    Challenge, Error,
    form::{Faulty, Form},
};
use crate::{
    Doorward,
    client::Client,
    password::{Password, Verdict},
    user::{EmailKey, User},
};

/// The user with this address, if the password is theirs and they are not disabled.
pub(super) async fn user_by_password(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    client: Client,
) -> Result<Option<User>, Error> {
    let paid = doorward.throttle().login(email, client, Instant::now())?;
    let matched = match_user(doorward, email, password, client).await;
    // Only a wrong password is a failure of the caller's: a full queue or a lost database is ours.
    if !matches!(matched, Ok(None)) {
        paid.pay_back();
    }
    matched
}

/// The field with the password that a user has; a user without one need not send any.
pub(super) fn own_password(
    form: &mut Form,
    field: &'static str,
    user: &User,
) -> Result<Option<Password>, Faulty> {
    let tried = |sent| Ok(Password::tried(sent));
    match user.password_hash {
        Some(_) => form.required(field, tried).map(Some),
        None => form.optional(field, tried),
    }
}

/// The user as they are in the store, once they have shown that they know their password, if they have one.
pub(super) async fn confirm(
    doorward: &Doorward,
    user: &User,
    password: Option<Password>,
    client: Client,
) -> Result<User, Error> {
    // The token is good and stays so: only this action is refused.
    let refused = Error::Unauthorized(Challenge::InsufficientScope, None);
    let confirmed = match (&user.password_hash, password) {
        (None, _) => Some(user.clone()),
        (Some(_), None) => None,
        (Some(_), Some(password)) => {
            user_by_password(doorward, &user.email.key(), password, client).await?
        }
    };
    confirmed.filter(|confirmed| confirmed.id == user.id).ok_or(refused)
}

/// Found or not, the same is done up to the verdict.
async fn match_user(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    client: Client,
) -> Result<Option<User>, Error> {
    let user = doorward.store().user_by_email(email).await?.filter(|user| !user.disabled);
    let stored = user.as_ref().and_then(|user| user.password_hash.as_ref());
    match doorward.hasher().verify(password, stored, client).await? {
        Verdict::Wrong => Ok(None),
        Verdict::Right { rehashed: None } => Ok(user),
        Verdict::Right { rehashed: Some(new) } => {
            if let (Some(user), Some(old)) = (&user, stored) {
                doorward.store().replace_password_hash(user.id, old, &new).await?;
            }
            Ok(user)
        }
    }
}
