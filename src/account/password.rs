//! Setting a password: by the user, who knows the current one, and by the operator.

use super::{
    Failure, InvalidInput, UserError,
    effects::{password_changed, with_secret},
    has_failure,
    proof::{ConfirmError, Proof, confirm},
};
use crate::{
    Caller, Doorward,
    credential::password::Password,
    event::{Administrator, EventKind},
    fault::Fault,
    network::{Network, Requester},
    store::{self, Effects, PasswordCondition},
    throttle::OwnChange,
    token::one_time::Purpose,
    user::{Email, Name, User, UserId},
};

/// Why the password was not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetPasswordError {
    /// The password breaks a rule.
    #[error(transparent)]
    Invalid(InvalidInput),
    /// The user does not exist.
    #[error("there is no such user")]
    NoSuchUser,
    /// Hashing or the database.
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(SetPasswordError);

/// Checks a new password against the rules of the settings and the words that are easy to guess.
pub(crate) fn parse(doorward: &Doorward, user: &User, sent: String) -> Result<Password, Fault> {
    let password = Password::parse(sent, doorward.settings().password_rules())?;
    reject_known(doorward, password, &user.name, &user.email)
}

/// Rejects a password that is the user's name or address, or the name of the service or a part of its host with or without a
/// number, if the settings refuse common passwords.
pub(super) fn reject_known(
    doorward: &Doorward,
    password: Password,
    name: &Name,
    email: &Email,
) -> Result<Password, Fault> {
    let (settings, base) = (doorward.settings(), doorward.public_base());
    let host = base.rsplit('/').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let service: Vec<_> =
        [settings.service_name(), host].into_iter().chain(host.split('.')).collect();
    password.reject_known(name.as_str(), email.as_str(), &service, settings.password_rules())
}

/// Replaces the caller's password and ends all their sessions but this one.
pub(crate) async fn change(
    doorward: &Doorward,
    caller: &Caller,
    proof: Proof,
    new: Password,
    requester: &Requester,
) -> Result<(), ConfirmError> {
    let user = confirm(doorward, &caller.user, proof, requester).await?;
    doorward.charge_change(user.id, OwnChange::Password)?;
    let hash = doorward.hasher().hash(new, requester.network()).await?;
    let (condition, kept) =
        (PasswordCondition::Unchanged(user.password_version), Some(caller.session.id));
    let event = doorward.event_by_caller(caller, requester, EventKind::PasswordChanged);
    let effects = password_changed(doorward, &user, requester.language).with(event);
    // After a concurrent change, the confirmed password is no longer the current one.
    if !doorward
        .store()
        .set_password(user.id, condition, &hash, kept, doorward.now(), &effects)
        .await?
    {
        return Err(ConfirmError::WrongPassword);
    }
    Ok(())
}

/// Sets a user's password for an administrator and ends all their sessions.
pub(crate) async fn set(
    doorward: &Doorward,
    user: &User,
    password: String,
    by: &Administrator,
) -> Result<(), SetPasswordError> {
    let password = parse(doorward, user, password).map_err(InvalidInput::new("password"));
    let password = password.map_err(SetPasswordError::Invalid)?;
    let hash = doorward.hasher().hash(password, Network::LOOPBACK).await?;
    let (condition, now) = (PasswordCondition::Unconditional, doorward.now());
    let event = doorward.event_by_administrator(by, user.id, EventKind::PasswordChanged);
    let effects = password_changed(doorward, user, doorward.settings().mail.language).with(event);
    let is_set =
        doorward.store().set_password(user.id, condition, &hash, None, now, &effects).await?;
    // Failed logins of others must not keep the user from logging in with the new password.
    doorward.clear_failures(&user.email.key()).await?;
    if !is_set {
        return Err(SetPasswordError::NoSuchUser);
    }
    Ok(())
}

/// Removes the password of a user and ends all their sessions, so that they have to set a new one: with the link that they are
/// mailed, or with a reset code. Returns whether a link is mailed.
pub(crate) async fn require_new(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<bool, UserError> {
    // The link is bound to the password that it replaces, which is none.
    let without = User {
        password_hash: None,
        password_version: user.password_version.next(),
        ..user.clone()
    };
    let language = doorward.settings().mail.language;
    let is_mailed = doorward.sends_mail() && !user.disabled;
    let effects = match is_mailed {
        true => with_secret(doorward, &without, Purpose::ResetPassword, &user.email, language),
        false => Effects::NONE,
    };
    let event = doorward.event_by_administrator(by, user.id, EventKind::PasswordRemoved);
    let (store, now, effects) = (doorward.store(), doorward.now(), effects.with(event));
    match store.remove_password(user.id, user.password_version, now, &effects).await? {
        true => Ok(is_mailed),
        // Somebody has just set another one, with which they may be signed in.
        false if store.user_by_id(user.id).await?.is_some() => {
            let cause = "the password has changed in the meantime: try again";
            Err(store::Error::Unavailable(cause.into()).into())
        }
        false => Err(UserError::NoSuchUser),
    }
}

impl Doorward {
    /// Sets a user's password and ends all their sessions, as `doorward user set-password` does.
    ///
    /// # Errors
    /// If the password breaks a rule of the settings or there is no such user.
    pub async fn set_password(&self, id: UserId, password: &str) -> Result<(), SetPasswordError> {
        let user = self.user_by_id(id).await?.ok_or(SetPasswordError::NoSuchUser)?;
        set(self, &user, password.to_owned(), &Administrator::APP).await
    }
}
