//! Signing in with a mailed code or link, for users without a password, or for everybody. The answer to the request and its
//! time are the same for every address.

use super::{
    Error, OpenedSession,
    effects::{leading_to, with_secret, without_secret},
    enumeration::request_mail,
    first_factor::{FirstFactor, SignInOptions, sign_in_with},
    one_time::{FoundSecret, find, refund},
};
use crate::{
    Doorward,
    config::MailCodeSignIn,
    mail::Message,
    network::Requester,
    token::{
        cookie::MailedTarget,
        one_time::{LinkOrCode, Purpose},
    },
    user::{Email, User},
};

/// Mails a code to the user with this address, if there is one who signs in with codes. Another one is told to use their password.
/// The link may lead back to an app.
pub(crate) async fn send(
    doorward: &Doorward,
    email: Email,
    requester: &Requester,
    target: Option<&MailedTarget>,
) -> Result<(), Error> {
    if !doorward.signs_in_by_mail() {
        return Err(Error::NeedsMail);
    }
    let (purpose, language) = (Purpose::SignIn, requester.language);
    let requested = request_mail(doorward, email, requester, purpose, |user| {
        if !may_sign_in(doorward, user) {
            let (id, message) = (Some(user.id), Message::HasPassword);
            return without_secret(doorward, id, purpose, &user.email, language, message);
        }
        leading_to(with_secret(doorward, user, purpose, &user.email, language), target)
    });
    requested.await
}

/// Whether a user signs in with mailed codes. Somebody else may have registered an address that is not verified, and would
/// still know the password when its owner has signed in with a code.
fn may_sign_in(doorward: &Doorward, user: &User) -> bool {
    let everybody = doorward.settings().mail_code_sign_in == MailCodeSignIn::Everybody;
    !user.has_password() || (everybody && user.email_verified)
}

/// Opens a session for the user of a mailed code or link.
pub(crate) async fn sign_in(
    doorward: &Doorward,
    presented: LinkOrCode,
    requester: &Requester,
    options: &SignInOptions,
) -> Result<OpenedSession, Error> {
    let found = find(doorward, &[Purpose::SignIn], &presented, requester).await?;
    let found = found.filter(|found| may_sign_in(doorward, &found.user));
    let FoundSecret { one_time, user, guess } = found.ok_or(Error::WrongCredentials)?;
    let factor = FirstFactor::MailedCode(&one_time);
    let opened = sign_in_with(doorward, &user, factor, options, requester).await;
    if let Ok(_) | Err(Error::FactorMissing(_)) = opened {
        refund(guess);
    }
    let opened = opened?;
    doorward.throttle().clear_mails(&opened.user.email.key());
    Ok(opened)
}
