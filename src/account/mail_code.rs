//! Signing in with a mailed code or link, for users without a password. The answer to the request and its time are the same
//! for every address.

use super::{
    OpenedSession, SignInError,
    mailing::{new_sign_in, with_secret, without_secret},
    one_time::{Found, MailError, find, refund},
    silence::request_mail,
};
use crate::{
    Doorward,
    mail::Message,
    network::Requester,
    session::{Origin, Persistence},
    store::OneTimeEffect,
    token::one_time::{Presented, Purpose},
    user::Email,
};

/// Mails a code to the user with this address, if there is one without a password. One with a password is told to use it.
pub(crate) async fn send(
    doorward: &Doorward,
    email: Email,
    requester: Requester,
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
        with_secret(doorward, user, purpose, &user.email, language)
    });
    Ok(requested.await?)
}

/// Opens a session for the user of a mailed code or link.
pub(crate) async fn sign_in(
    doorward: &Doorward,
    presented: Presented,
    origin: Origin,
    requester: Requester,
    persistence: Persistence,
) -> Result<OpenedSession, SignInError> {
    let found = find(doorward, &[Purpose::SignIn], &presented, requester).await?;
    let Found { one_time, user, guess } = found.ok_or(SignInError::WrongCredentials)?;
    let session = doorward.new_session(user.id, origin, persistence);
    let notice = new_sign_in(doorward, &user, &session, requester.language).await?;
    let effect = OneTimeEffect::SignIn(Box::new(session.clone()));
    let used = doorward.store().use_one_time(&one_time, effect, &notice, doorward.now()).await?;
    let user = used.ok_or(SignInError::WrongCredentials)?;
    refund(guess);
    doorward.announce(&notice);
    doorward.throttle().clear_mails(&user.email.key());
    doorward.counts().sign_ins.add_one();
    tracing::info!(user = %user.id, session = %session.id, "logged in with a mailed code");
    Ok(OpenedSession { user, session })
}
