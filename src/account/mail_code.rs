//! Signing in with a mailed code or link, for users without a password. The answer to the request and its time are the same
//! for every address.

use std::time::Instant;

use super::{
    OpenedSession, SignInError,
    mailing::{may_be_asked_to_mail, new_sign_in, with_secret, without_secret},
    one_time::{MailError, find},
    silence::on_tick,
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
    doorward.throttle().charge_mail_request(requester, Instant::now())?;
    on_tick(queue(doorward, email, requester)).await
}

async fn queue(doorward: &Doorward, email: Email, requester: Requester) -> Result<(), MailError> {
    if !may_be_asked_to_mail(doorward, &email) {
        tracing::info!(network = %requester.network, "no mail: the address has got too much");
        return Ok(());
    }
    let user = doorward.store().user_by_email(&email.key()).await?;
    let (purpose, language) = (Purpose::SignIn, requester.language);
    let mailing = match user.as_ref().filter(|user| !user.disabled) {
        Some(user) if user.has_password() => {
            let (id, message) = (Some(user.id), Message::HasPassword);
            without_secret(doorward, id, purpose, &user.email, language, message)
        }
        Some(user) => with_secret(doorward, user, purpose, &user.email, language),
        None => without_secret(doorward, None, purpose, &email, language, Message::Nothing),
    };
    doorward.store().queue_mail(&mailing).await?;
    doorward.announce(&mailing);
    tracing::info!(network = %requester.network, "sign-in code requested");
    Ok(())
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
    let (one_time, user) = found.ok_or(SignInError::WrongCredentials)?;
    let session = doorward.new_session(user.id, origin, persistence);
    let notice = new_sign_in(doorward, &user, &session, requester.language).await?;
    let effect = OneTimeEffect::SignIn(Box::new(session.clone()));
    let used = doorward.store().use_one_time(&one_time, effect, &notice, doorward.now()).await?;
    let user = used.ok_or(SignInError::WrongCredentials)?;
    doorward.announce(&notice);
    tracing::info!(user = %user.id, session = %session.id, "logged in with a mailed code");
    Ok(OpenedSession { user, session })
}
