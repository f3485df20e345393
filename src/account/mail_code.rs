//! Signing in with a mailed code or link, for users without a password. The answer to the request and its time are the same
//! for every address.

use super::{
    OpenedSession, SignInError,
    effects::{leading_to, with_secret, without_secret},
    enumeration::request_mail,
    one_time::{Found, MailError, find, refund},
    session_start::{Evidence, complete_sign_in},
};
use crate::{
    Doorward,
    mail::Message,
    network::Requester,
    session::Persistence,
    token::{
        cookie::MailedTarget,
        one_time::{Presented, Purpose},
    },
    user::Email,
};

/// Mails a code to the user with this address, if there is one without a password. One with a password is told to use it.
/// The link may lead back to an app.
pub(crate) async fn send(
    doorward: &Doorward,
    email: Email,
    requester: &Requester,
    target: Option<&MailedTarget>,
) -> Result<(), MailError> {
    if !doorward.sends_mail() || !doorward.settings().mail_code_sign_in {
        return Err(MailError::NeedsMail);
    }
    let (purpose, language) = (Purpose::SignIn, requester.language);
    let requested = request_mail(doorward, email, requester, purpose, |user| {
        if user.has_password() {
            let (id, message) = (Some(user.id), Message::HasPassword);
            return without_secret(doorward, id, purpose, &user.email, language, message);
        }
        leading_to(with_secret(doorward, user, purpose, &user.email, language), target)
    });
    Ok(requested.await?)
}

/// Opens a session for the user of a mailed code or link.
pub(crate) async fn sign_in(
    doorward: &Doorward,
    presented: Presented,
    requester: &Requester,
    persistence: Persistence,
) -> Result<OpenedSession, SignInError> {
    let found = find(doorward, &[Purpose::SignIn], &presented, requester).await?;
    let Found { one_time, user, guess } = found.ok_or(SignInError::WrongCredentials)?;
    let evidence = Evidence::MailedCode(&one_time, &user);
    let opened = complete_sign_in(doorward, evidence, requester, persistence).await?;
    let opened = opened.ok_or(SignInError::WrongCredentials)?;
    refund(guess);
    doorward.throttle().clear_mails(&opened.user.email.key());
    Ok(opened)
}
