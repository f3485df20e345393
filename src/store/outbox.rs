//! The store of mail that waits to be sent.

use std::time::Duration;

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    mail::{Mail, MailId, Mailing, Message, Urgency},
};

/// Stores mail until a mail server has taken it.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Queues mail, and adds the one-time secrets in it. The work does not depend on whether the users exist.
    async fn queue_mail(&self, mailing: &Mailing) -> Result<(), Error>;

    /// Claims up to `limit` mails that are due. What people wait for comes first, and then what networks have caused that have
    /// caused little. Nobody else can claim them until `lease` has passed. Reads only, if none is due.
    async fn claim_mail(
        &self,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedMail>, Error>;

    /// Releases the claims of processes that have ended. For a database with one instance: those of all earlier processes. For
    /// one with several: none, because the leases end by themselves.
    async fn release_abandoned_mail(&self) -> Result<(), Error>;

    /// Releases a claim of a mail that was not tried.
    async fn release_mail(&self, id: MailId) -> Result<(), Error>;

    /// Releases a claim after an attempt that failed: the mail is due at this time.
    async fn postpone_mail(
        &self,
        id: MailId,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Error>;

    /// Deletes a mail that the server has taken.
    async fn delete_mail(&self, id: MailId) -> Result<(), Error>;

    /// Gives a mail up. It stays for the operator to see. Counts as an attempt unless the mail has expired.
    async fn give_up_mail(&self, id: MailId, failure: &str, now: Timestamp) -> Result<(), Error>;

    /// Mail that waits or was given up, the oldest first, from the first one after `after`. From the oldest one if that is
    /// gone.
    async fn mail_queue(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error>;

    /// Makes all mail due now that waits or was given up and has not expired. Returns the number of mails.
    async fn retry_mail(&self, now: Timestamp) -> Result<usize, Error>;
}

/// A mail that this process may send.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedMail {
    /// The mail.
    pub mail: Mail,
    /// How often it was tried before.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// A mail as an operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMail {
    /// The mail.
    pub mail: Mail,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next.
    pub due_at: Timestamp,
    /// Why the last attempt failed.
    pub failure: Option<String>,
    /// When it was given up.
    pub given_up_at: Option<Timestamp>,
}

impl From<QueuedMail> for ClaimedMail {
    fn from(queued: QueuedMail) -> Self {
        let QueuedMail { mail, attempts, failure, due_at: _, given_up_at: _ } = queued;
        Self { mail, attempts, failure }
    }
}

/// How long mail that was given up stays for the operator to see.
pub const KEEP_GIVEN_UP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl QueuedMail {
    /// A mail that is due when it is queued.
    pub(super) fn new(mail: Mail) -> Self {
        let due_at = mail.created_at;
        Self { mail, attempts: 0, due_at, failure: None, given_up_at: None }
    }
}

/// The most mails whose next attempt is due that get a turn at once.
pub(super) const MAX_TURNS: usize = 1000;

/// The column `turn_at`. Only its order matters: mail that is due is sent at once, unless another mail is due as well.
pub(super) fn turn_of(mail: &Mail, earlier: u32) -> Timestamp {
    /// Longer than any mail is tried, so that every mail of one kind comes before those of the next.
    const BETWEEN_KINDS: Duration = Duration::from_secs(24 * 60 * 60);
    /// Between two mails of a network. In this time, other networks come first with their first mail.
    const BETWEEN_MAILS: Duration = Duration::from_secs(10 * 60);
    let kinds = match mail.message.urgency() {
        Urgency::SignIn => 0,
        Urgency::Verification => 1,
        Urgency::Invitation => 2,
        Urgency::Notice => 3,
    };
    mail.created_at + (BETWEEN_KINDS * kinds + BETWEEN_MAILS * earlier)
}

/// The column `attempts`.
pub(super) fn attempts_from_store(stored: i64) -> u32 {
    u32::try_from(stored).unwrap_or(u32::MAX)
}

/// The column `message`.
pub(super) fn message_to_store(message: &Message) -> String {
    serde_json::to_string(message).expect("a message has no map whose keys are not texts")
}

/// The column `failure`. PostgreSQL text cannot contain NUL.
pub(super) fn failure_to_store(failure: &str) -> String {
    failure.replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{language::Language, token::one_time::OneTimeId, user::Email};

    fn turn(message: Message, hour: u64, earlier: u32) -> Timestamp {
        let created_at = Timestamp::from_millis(0) + Duration::from_secs(hour * 60 * 60);
        let recipient = Email::parse("ada@example.com".into()).unwrap();
        let (id, language) = (MailId::random(), Language::English);
        let expires_at = created_at;
        let mail = Mail { id, user_id: None, recipient, language, message, created_at, expires_at };
        turn_of(&mail, earlier)
    }

    #[test]
    fn what_people_wait_for_comes_first() {
        let one_time = OneTimeId::random();
        let turns = [
            turn(Message::ResetPassword { one_time }, 23, 0),
            turn(Message::VerifyEmail { one_time }, 0, 0),
            turn(Message::Invitation { one_time, invited_by: None }, 0, 0),
            turn(Message::PasswordChanged { at: 0 }, 0, 0),
        ];
        assert!(turns.is_sorted());
    }

    #[test]
    fn a_network_that_causes_much_mail_comes_after_others() {
        let turn = |hour, earlier| turn(Message::HasPassword, hour, earlier);
        assert!(turn(0, 0) < turn(0, 1));
        // An hour later, six mails of a flood come before the first mail of another network.
        let flood = (0..1000).filter(|earlier| turn(0, *earlier) < turn(1, 0)).count();
        assert_eq!(flood, 6);
    }
}
