//! The commands about mail: what waits or was given up, and trying it again.

use super::{MailInfo, Reply};
use crate::{
    Doorward,
    account::mail_queue::{self, MailPage, MailQueueError},
    event::Administrator,
    mail::MailId,
    store::QueuedMail,
};

/// The most mails in one reply.
const MAX_PAGE: usize = 200;

/// A page of the queue, the oldest first.
pub(super) async fn page(
    doorward: &Doorward,
    after: Option<&str>,
) -> Result<Reply, MailQueueError> {
    let after = after.and_then(|id| id.parse::<MailId>().ok());
    let MailPage { mails: queue, next } = mail_queue::page(doorward, after, MAX_PAGE).await?;
    let next = next.map(|id| id.to_string());
    let now = doorward.now();
    let mails = queue.into_iter().map(|queued| {
        let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
        MailInfo {
            id: mail.id.to_string(),
            address: mail.recipient.as_str().to_owned(),
            message: mail.message.name().to_owned(),
            user: mail.user_id.map(|id| id.to_string()),
            created_at: mail.created_at.to_string(),
            age_seconds: now.duration_since(mail.created_at).as_secs(),
            expires_at: mail.expires_at.to_string(),
            attempts,
            next_attempt_at: given_up_at.is_none().then(|| due_at.to_string()),
            given_up_at: given_up_at.map(|at| at.to_string()),
            failure,
        }
    });
    Ok(Reply::Mails { mails: mails.collect(), next })
}

/// Makes all mail due that has not expired.
pub(super) async fn retry(
    doorward: &Doorward,
    by: &Administrator,
) -> Result<Reply, MailQueueError> {
    Ok(Reply::MailsRetried(mail_queue::retry(doorward, by).await?))
}
