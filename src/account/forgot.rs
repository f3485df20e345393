//! A forgotten password: mails a link with which the user sets a new one. The answer and its time are the same for every
//! address.

use std::time::Instant;

use super::{
    mailing::{may_be_asked_to_mail, with_secret, without_secret},
    one_time::MailError,
    silence::on_tick,
};
use crate::{Doorward, mail::Message, network::Requester, token::one_time::Purpose, user::Email};

/// Mails a link to the user with this address, if there is one.
pub(crate) async fn forgot(
    doorward: &Doorward,
    email: Email,
    requester: Requester,
) -> Result<(), MailError> {
    if !doorward.sends_mail() {
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
    let (purpose, language) = (Purpose::ResetPassword, requester.language);
    // The stored address is used, not the one in the request: both have the same key but need not be the same mailbox.
    let mailing = match user.as_ref().filter(|user| !user.disabled) {
        Some(user) => with_secret(doorward, user, purpose, &user.email, language),
        None => without_secret(doorward, None, purpose, &email, language, Message::Nothing),
    };
    doorward.store().queue_mail(&mailing).await?;
    doorward.announce(&mailing);
    tracing::info!(network = %requester.network, "reset link requested");
    Ok(())
}
