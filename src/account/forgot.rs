//! A forgotten password: mails a link with which the user sets a new one. The answer and its time are the same for every
//! address.

use super::{
    Error,
    effects::{leading_to, with_secret},
    enumeration::request_mail,
};
use crate::{
    Doorward,
    network::Requester,
    token::{cookie::MailedTarget, one_time::Purpose},
    user::Email,
};

/// Mails a link to the user with this address, if there is one. The link may lead back to an app.
pub(crate) async fn forgot(
    doorward: &Doorward,
    email: Email,
    requester: &Requester,
    target: Option<&MailedTarget>,
) -> Result<(), Error> {
    if !doorward.sends_mail() {
        return Err(Error::NeedsMail);
    }
    let (purpose, language) = (Purpose::ResetPassword, requester.language);
    // To the stored address, not to the one in the request: both have the same key but need not be the same mailbox.
    let requested = request_mail(doorward, email, requester, purpose, |user| {
        leading_to(with_secret(doorward, user, purpose, &user.email, language), target)
    });
    requested.await
}
