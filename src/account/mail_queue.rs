//! Mail that waits or was given up: listing it, and trying it again.

use super::Error;
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    mail::MailId,
    store::QueuedMail,
};

/// Mail that waits or was given up, the oldest first.
#[derive(Debug)]
pub(crate) struct MailPage {
    pub(crate) mails: Vec<QueuedMail>,
    /// The mail after which the next page starts, if there may be one.
    pub(crate) next: Option<MailId>,
}

/// Up to `limit` mails after this one.
pub(crate) async fn page(
    doorward: &Doorward,
    after: Option<MailId>,
    limit: usize,
) -> Result<MailPage, Error> {
    check_configured(doorward)?;
    let mails = doorward.store().mail_queue(after, limit).await?;
    let last = mails.last().filter(|_| mails.len() == limit);
    Ok(MailPage { next: last.map(|queued| queued.mail.id), mails })
}

/// Makes all mail due that has not expired. Returns the number of mails.
pub(crate) async fn retry(doorward: &Doorward, by: &Administrator) -> Result<usize, Error> {
    check_configured(doorward)?;
    let count = doorward.retry_mail().await?;
    let kind = EventKind::MailRetried { count };
    doorward.record(doorward.event_by_administrator(by, None, kind)).await;
    Ok(count)
}

fn check_configured(doorward: &Doorward) -> Result<(), Error> {
    if doorward.sends_mail() { Ok(()) } else { Err(Error::MailNotConfigured) }
}
