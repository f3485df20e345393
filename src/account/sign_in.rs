//! Signing in with a password. An attempt is throttled before the password is hashed.
//! An unknown address costs the same work as a wrong password.

use std::sync::Arc;

use super::{
    Error, NewSession, OpenedSession,
    first_factor::{FirstFactor, SignInOptions, sign_in_with},
};
use crate::{
    Doorward,
    credential::password::{Busy, Password, Verification},
    event::{EventKind, LoginRefusal},
    federation::Login,
    network::{ClientInfo, Network, Requester},
    throttle::{Guess, LoginAttempt, Throttled},
    user::{EmailKey, User, UserId},
};

/// Opens a session for the user with this address and password.
pub(crate) async fn sign_in(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    requester: &Requester,
    options: &SignInOptions,
) -> Result<OpenedSession, Error> {
    // Who signs in elsewhere only, and comes from there, is known.
    let elsewhere = elsewhere(doorward, email);
    let comes_from = options
        .comes_from
        .as_ref()
        .filter(|from| elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.name == from.login));
    let known = comes_from.map(|from| from.user);
    let user = user_by_password(doorward, email, password, known, requester).await?;
    let user = user.ok_or(Error::WrongCredentials)?;
    let opened = sign_in_with(doorward, &user, FirstFactor::Password, options, requester).await;
    if let Err(Error::WrongCredentials) = opened {
        publish_failed(doorward, LoginRefusal::Gone, Some(user.id), email, requester);
    }
    opened
}

/// The user with this address, if the password is theirs and they are not disabled. That of somebody who signs in elsewhere only
/// counts if they are `known`: from a session, a link, or because they come from there.
pub(super) async fn user_by_password(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    known: Option<UserId>,
    requester: &Requester,
) -> Result<Option<User>, Error> {
    let attempt = begin_attempt(doorward, Guess::Password, email, requester).await?;
    let checked = check(doorward, email, password, known, requester.network()).await;
    // A full queue or a lost database is not the caller's fault, as long as nothing is known about the password.
    match &checked {
        // Whoever guesses the second factor knows the password, and must not clear the failures with it.
        Ok(Checked::Correct(user)) if !user.factors.is_empty() => attempt.cancel(),
        Ok(Checked::Correct(_)) => attempt.succeeded(),
        Ok(Checked::Refused(..) | Checked::Undecided) => drop(attempt),
        Err(_) => attempt.cancel(),
    }
    match checked? {
        Checked::Correct(user) => Ok(Some(*user)),
        Checked::Undecided => Err(Busy.into()),
        Checked::Refused(reason, user_id) => {
            publish_failed(doorward, reason, user_id, email, requester);
            Ok(None)
        }
    }
}

/// Publishes that a login failed.
pub(super) fn publish_failed(
    doorward: &Doorward,
    reason: LoginRefusal,
    user: Option<UserId>,
    email: &EmailKey,
    requester: &Requester,
) {
    let kind = EventKind::SignInFailed { reason, email: email.clone() };
    doorward.events().publish(&doorward.event_by_unknown(user, requester, kind));
}

/// Charges the throttle for an attempt. When the budget of the account is spent, networks that its owner has used have a
/// separate budget. The work does not depend on whether the account exists.
pub(super) async fn begin_attempt<'a>(
    doorward: &'a Doorward,
    guess: Guess,
    email: &EmailKey,
    requester: &Requester,
) -> Result<LoginAttempt<'a>, Error> {
    let (throttle, now) = (doorward.throttle(), doorward.instant());
    let refused = match throttle.begin_guess(guess, email, requester, now) {
        Ok(attempt) => return Ok(attempt),
        Err(refused) => refused,
    };
    // The user is not looked up for the record of the failure: a refusal must stay cheap.
    let record = |refused: Throttled| {
        publish_failed(doorward, refused.into(), None, email, requester);
        refused.into()
    };
    if throttle.may_check_known_networks(&refused, requester, now)
        && doorward.store().known_networks(email).await?.contains(requester.network())
    {
        let attempt = throttle.begin_guess_from_known_network(guess, email, requester, now);
        return attempt.map_err(record);
    }
    Err(record(refused))
}

/// The login where the people with an address of this domain sign in, and not with a password here.
pub(crate) fn elsewhere(doorward: &Doorward, email: &EmailKey) -> Option<Arc<Login>> {
    let (_, domain) = email.as_str().rsplit_once('@')?;
    doorward.logins().for_domain(domain).cloned()
}

/// The result of checking a password.
enum Checked {
    Correct(Box<User>),
    Refused(LoginRefusal, Option<UserId>),
    /// It is not the password of a hash of ours. Whether it is that of an imported one was not found out in time.
    Undecided,
}

/// Checks a password. The work is the same for an unknown user, a disabled one and a wrong password.
async fn check(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    known: Option<UserId>,
    network: Network,
) -> Result<Checked, Error> {
    let found = doorward.store().user_by_email(email).await?;
    let reason = match &found {
        None => LoginRefusal::UnknownAddress,
        Some(user) if user.disabled => LoginRefusal::Disabled,
        Some(user) if user.password_hash.is_none() => LoginRefusal::NoPassword,
        Some(user) if known != Some(user.id) && elsewhere(doorward, email).is_some() => {
            LoginRefusal::OnlyElsewhere
        }
        // Else a login would tell whether a registration has created the account.
        Some(user) if doorward.signs_up_silently() && !user.email_verified => {
            LoginRefusal::Unverified
        }
        Some(_) => LoginRefusal::WrongPassword,
    };
    // Who is refused whatever they type gets no hash compared: a match takes another time than a mismatch.
    let may_match = found.as_ref().filter(|_| reason == LoginRefusal::WrongPassword);
    let stored = may_match.and_then(|user| user.password_hash.as_ref());
    let verification = doorward.hasher().verify(password, stored, network).await?;
    match (verification, found) {
        (Verification::Match { rehashed }, Some(user)) => {
            if let (Some(new), Some(old)) = (rehashed, &user.password_hash) {
                doorward.store().replace_password_hash(user.id, old, &new).await?;
            }
            Ok(Checked::Correct(Box::new(user)))
        }
        (Verification::Undecided, _) => Ok(Checked::Undecided),
        (_, found) => Ok(Checked::Refused(reason, found.map(|user| user.id))),
    }
}

impl Doorward {
    /// Opens a session for the user with this address and password, as `POST /api/auth/login` does. `client` sends the
    /// request: its network is throttled and the session records it.
    ///
    /// # Errors
    /// If the credentials are wrong, a second factor is missing, or there were too many failed logins on the account or from the
    /// network.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        client: ClientInfo,
    ) -> Result<NewSession, Error> {
        let password = Password::unchecked(password.to_owned());
        let email = EmailKey::of(email);
        let (requester, options) = (Requester::new(client), SignInOptions::TOKEN);
        let opened = sign_in(self, &email, password, &requester, &options).await?;
        Ok(opened.with_token(self).await)
    }
}
