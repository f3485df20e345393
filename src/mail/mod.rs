//! Mail: what it says, how it is written, and the servers that take it.

mod compose;
mod memory_mailbox;
mod message;
mod settings;
mod test_mail;
mod text;
mod transport;

use lettre::address::Envelope;

#[cfg(test)]
pub(crate) use self::transport::script;
pub use self::{
    compose::{Letterhead, compose, link},
    memory_mailbox::{MemoryMailbox, SentMail},
    message::{DeletedBy, EndedBy, Message, Urgency},
    settings::{
        Encryption, InvalidMailUrl, MailSettings, MailUrl, Mailbox, SmtpServer, parse_mailbox,
        show_mailbox,
    },
    test_mail::test_mail,
    transport::{MAX_SEND_TIME, SendError, Transport, TransportError},
};
use crate::{
    clock::Timestamp,
    id::id,
    language::Language,
    user::{Email, UserId},
};

id!(
    /// The id of a mail, which is part of its `Message-ID`.
    MailId
);

/// A mail in the outbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    pub id: MailId,
    /// The user whom it concerns. Deleting the user deletes it.
    pub user_id: Option<UserId>,
    pub recipient: Email,
    pub language: Language,
    pub message: Message,
    pub created_at: Timestamp,
    /// When it is given up.
    pub expires_at: Timestamp,
}

/// A mail as it is handed to a mail server. It contains the secret of its link.
pub struct Composed {
    /// Whom it is from and whom it is for.
    pub envelope: Envelope,
    /// The mail in the format of RFC 5322.
    pub bytes: Vec<u8>,
    pub contents: Contents,
}

/// What a person reads in a mail.
#[derive(Clone, Default)]
pub struct Contents {
    /// The name of the message, such as `verify_email`.
    pub kind: &'static str,
    pub subject: String,
    /// The text for programs that show no HTML.
    pub text: String,
    pub html: String,
    /// Where the button leads.
    pub link: Option<String>,
    /// The code to type instead.
    pub code: Option<String>,
}
