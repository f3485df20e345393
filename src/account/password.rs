//! Setting a password: by the user, who knows the current one, and by the operator.

use super::{
    Error, InvalidInput,
    effects::{password_changed, with_secret},
    proof::{Proof, confirm},
    user_order::{Attempts, Order, require_found},
};
use crate::{
    Caller, Doorward,
    credential::password::Password,
    event::{Administrator, EventKind},
    fault::Fault,
    network::{Network, Requester},
    store::{Effects, PasswordCondition},
    throttle::OwnChange,
    token::one_time::Purpose,
    user::{Email, Name, User, UserId},
};

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
) -> Result<(), Error> {
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
        return Err(Error::WrongPassword);
    }
    Ok(())
}

/// Sets a user's password for an administrator and ends all their sessions.
pub(crate) struct SetPassword {
    pub(crate) password: String,
}

impl Order for SetPassword {
    type Outcome = ();

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<(), Error> {
        let password =
            parse(doorward, user, self.password).map_err(InvalidInput::new("password"))?;
        let hash = doorward.hasher().hash(password, Network::LOOPBACK).await?;
        let (any, now, store) =
            (PasswordCondition::Unconditional, doorward.now(), doorward.store());
        let language = doorward.settings().mail.language;
        let event = doorward.event_by_administrator(by, user.id, EventKind::PasswordChanged);
        let effects = password_changed(doorward, user, language).with(event);
        let is_set = store.set_password(user.id, any, &hash, None, now, &effects).await?;
        // Failed logins of others must not keep the user from logging in with the new password.
        doorward.clear_failures(&user.email.key()).await?;
        require_found(is_set)
    }
}

/// Removes the password of a user and ends all their sessions, so that they have to set a new one: with the link that they are
/// mailed, or with a reset code. One that somebody sets at the same time is removed, too.
pub(crate) struct RequireNewPassword;

impl Order for RequireNewPassword {
    /// Whether a link is mailed.
    type Outcome = bool;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<bool, Error> {
        let mut attempts = Attempts::with(user);
        loop {
            let read = attempts.next(doorward).await?;
            let is_mailed = doorward.sends_mail() && !read.disabled;
            let effects = match is_mailed {
                true => with_new_password_link(doorward, &read),
                false => Effects::NONE,
            };
            let event = doorward.event_by_administrator(by, read.id, EventKind::PasswordRemoved);
            let (store, version, now) = (doorward.store(), read.password_version, doorward.now());
            if store.remove_password(read.id, version, now, &effects.with(event)).await? {
                return Ok(is_mailed);
            }
        }
    }
}

/// The mail with a link that is bound to the password that it replaces, which is none.
fn with_new_password_link(doorward: &Doorward, user: &User) -> Effects {
    let without = User {
        password_hash: None,
        password_version: user.password_version.next(),
        ..user.clone()
    };
    let language = doorward.settings().mail.language;
    with_secret(doorward, &without, Purpose::ResetPassword, &user.email, language)
}

impl Doorward {
    /// Sets a user's password and ends all their sessions, as `doorward user set-password` does.
    ///
    /// # Errors
    /// If the password breaks a rule of the settings or there is no such user.
    pub async fn set_password(&self, id: UserId, password: &str) -> Result<(), Error> {
        self.order(SetPassword { password: password.to_owned() }, id).await
    }
}
