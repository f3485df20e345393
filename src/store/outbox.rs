//! The store of mail that waits to be sent.

use std::time::Duration;

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    mail::{Mail, MailId, Mailing, Message},
};

/// Stores mail until a mail server has taken it.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Queues mail, and adds the one-time secrets in it. The work does not depend on whether the users exist.
    async fn queue_mail(&self, mailing: &Mailing) -> Result<(), Error>;

    /// Claims up to `limit` mails that are due, the longest due first. Nobody else can claim them until `lease` has passed.
    /// Reads only, if none is due.
    async fn claim_mail(
        &self,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedMail>, Error>;

    /// Releases the claims of processes that have ended. For a database with one instance: those of all earlier processes. For
    /// one with several: none, because the leases end by themselves.
    async fn release_abandoned_mail(&self) -> Result<(), Error>;

    /// Releases a claim: the mail is due at this time. `failure` is the reason, if the attempt counts.
    async fn postpone_mail(
        &self,
        id: MailId,
        due_at: Timestamp,
        failure: Option<&str>,
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
