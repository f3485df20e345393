//! The mail that `doorward mail test` sends.

use lettre::{
    Message,
    address::AddressError,
    message::{Mailbox, header::ContentType},
};

use super::{Composed, Contents, MailId};

/// A mail that tests the way to a mailbox. It says nothing that is secret.
///
/// # Errors
/// If the address cannot be written into a mail.
pub fn test_mail(
    id: MailId,
    service: &str,
    from: &Mailbox,
    reply_to: Option<&Mailbox>,
    to: &str,
) -> Result<Composed, AddressError> {
    let mut mail = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to.parse()?))
        .message_id(Some(format!("<{id}@{}>", from.email.domain())))
        .subject(format!("Test mail of {service}"))
        .header(ContentType::TEXT_PLAIN);
    if let Some(reply_to) = reply_to {
        mail = mail.reply_to(reply_to.clone());
    }
    let body = format!("{service} can send mail to this address.\r\n");
    let mail = mail.body(body).map_err(|_| AddressError::Unbalanced)?;
    let (envelope, bytes) = (mail.envelope().clone(), mail.formatted());
    Ok(Composed { envelope, bytes, contents: Contents::default() })
}
