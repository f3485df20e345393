//! The outbox as a queue of deliveries: mail is composed when it is sent, and handed to the mail server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::Doorward;
use crate::{
    clock::Timestamp,
    delivery::{Attempt, Claimed, Delivery, LogEntry, Outcome, Queue, Round},
    event::{Event, EventKind},
    mail::{
        self, Letterhead, MAX_SEND_TIME, Mail, MailSettings, Message, SendError, Transport,
        TransportError,
    },
    store::{self, ClaimedMail},
    token::one_time::Purpose,
};

/// What sends the mail in the outbox.
pub(crate) type MailDelivery = Delivery<Outbox>;

/// The mail that waits in the database.
#[derive(Clone)]
pub(crate) struct Outbox(Doorward);

/// What sends mail to the server that the settings name; `None` if they name none.
///
/// # Errors
/// If a file that the settings name cannot be used.
pub(super) fn mail_delivery(
    settings: &MailSettings,
) -> Result<Option<Arc<MailDelivery>>, TransportError> {
    match settings.url {
        Some(_) => Ok(Some(Arc::new(Delivery::new(Transport::new(settings)?)))),
        None => Ok(None),
    }
}

impl Doorward {
    /// Sends mail for as long as the future is polled. A mail that is being sent then is finished by its own task.
    pub(super) async fn deliver_mail(&self) {
        if let Some(delivery) = &self.inner.mail_delivery {
            delivery.run(&Outbox(self.clone())).await;
        }
    }

    /// What sends mail, if any is sent.
    pub(crate) fn mail_delivery(&self) -> Option<&MailDelivery> {
        self.inner.mail_delivery.as_deref()
    }

    /// Waits until the mail that is being sent has been handled, but not for long. Call it after the future of
    /// [`Self::run_upkeep`] was dropped, before the process ends. Mail that is still being sent then is sent again.
    pub async fn finish_mail(&self) {
        if let Some(delivery) = self.mail_delivery() {
            delivery.finish().await;
        }
    }

    /// Makes all mail due now that waits or was given up, and tries the server at once. Returns the number of mails.
    pub(crate) async fn retry_mail(&self) -> Result<usize, store::Error> {
        let count = self.store().retry_mail(self.now()).await?;
        if let Some(delivery) = self.mail_delivery() {
            delivery.try_now();
        }
        Ok(count)
    }

    /// Sends all mail that is due, for a test that reads it next.
    ///
    /// # Errors
    /// If the database cannot be read or written.
    pub(crate) async fn deliver_queued_mail(&self) -> Result<(), store::Error> {
        while self.deliver_due_mail(Instant::now()).await? == Round::More {}
        Ok(())
    }

    /// Sends a batch of the mail that is due. `now` is the time for pauses.
    async fn deliver_due_mail(&self, now: Instant) -> Result<Round, store::Error> {
        match self.mail_delivery() {
            Some(delivery) => delivery.round(&Outbox(self.clone()), now).await,
            None => Ok(Round::Idle),
        }
    }
}

impl Queue for Outbox {
    type Item = Mail;
    type Channel = Transport;
    type Error = store::Error;

    const MAX_ATTEMPT_TIME: Duration = MAX_SEND_TIME;

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn release_abandoned(&self) -> Result<(), store::Error> {
        self.0.store().release_abandoned_mail().await
    }

    async fn claim(
        &self,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Claimed<Mail>>, store::Error> {
        let claimed = self.0.store().claim_mail(self.now(), lease, limit).await?;
        let claimed = claimed.into_iter().map(|ClaimedMail { mail, attempts, failure }| Claimed {
            expires_at: mail.expires_at,
            item: mail,
            attempts,
            failure,
        });
        Ok(claimed.collect())
    }

    async fn attempt(&self, transport: &mut Transport, mail: &Mail) -> Attempt {
        if self.is_revoked(mail).await {
            return Attempt::Discarded;
        }
        let doorward = &self.0;
        let settings = doorward.settings();
        let Some(from) = &settings.mail.from else {
            return Attempt::Withheld;
        };
        let site = settings.pages.then(|| doorward.public_base());
        let letterhead = Letterhead {
            site: site.as_deref(),
            name: settings.service_name(),
            accent: settings.branding.accent.0,
            from,
            reply_to: settings.mail.reply_to.as_ref(),
        };
        let composed = match mail::compose(mail, doorward.one_time_secrets(), &letterhead) {
            Ok(Some(composed)) => composed,
            Ok(None) => return Attempt::Discarded,
            Err(error) => return Attempt::Unusable(format!("it cannot be written: {error}")),
        };
        let error = match transport.send(mail.id, mail.created_at, composed).await {
            Ok(()) => return Attempt::Delivered,
            Err(error) => error,
        };
        let failure = error.failure().to_string();
        match error {
            SendError::Unreachable(_) => Attempt::Unreachable(failure),
            SendError::Temporary(_) => Attempt::Temporary(failure),
            SendError::Permanent(_) => Attempt::Permanent(failure),
            // A second one has the same `Message-ID`, by which the server, or the program that shows it, recognises it.
            SendError::Lost(_) => Attempt::Lost(failure),
        }
    }

    async fn close_if_idle(transport: &mut Transport, idle: Duration, now: Instant) {
        transport.close_if_idle(idle, now).await;
    }

    async fn record(&self, mail: &Mail, outcome: &Outcome) -> Result<(), store::Error> {
        let (id, store) = (mail.id, self.0.store());
        match outcome {
            Outcome::Delivered | Outcome::Discarded => store.delete_mail(id).await,
            Outcome::Released => store.release_mail(id).await,
            Outcome::Postponed { due_at, failure } => {
                store.postpone_mail(id, *due_at, failure).await
            }
            Outcome::GivenUp { failure } => {
                let kind =
                    EventKind::MailGivenUp { mail: id.to_string(), failure: failure.clone() };
                let event = Event { subject: mail.user_id, ..Event::by_service(self.now(), kind) };
                store.give_up_mail(id, failure, self.now(), &event.into()).await
            }
        }
    }

    fn expired(failure: Option<&str>) -> String {
        let failure = failure.unwrap_or("it was not tried");
        format!("expired before a mail server took it: {failure}")
    }

    /// Logs it, without the address.
    fn log(entry: LogEntry<'_, Self>) {
        match entry {
            LogEntry::OutageBegan { cause } => {
                tracing::warn!(%cause, "the mail server takes no mail; it waits in the outbox");
            }
            LogEntry::OutageEnded => tracing::info!("the mail server takes mail again"),
            LogEntry::Recorded(mail, outcome) => log_outcome(mail, outcome),
            LogEntry::QueueFailed(error) => {
                tracing::warn!(%error, "cannot read or write the outbox; mail waits");
            }
            LogEntry::Panicked(error) => tracing::error!(%error, "sending mail has failed"),
        }
    }
}

impl Outbox {
    /// Whether it is an invitation that does not exist any more.
    async fn is_revoked(&self, mail: &Mail) -> bool {
        let Message::Invitation { one_time, .. } = &mail.message else { return false };
        let secret = self.0.one_time_secrets().secret(*one_time, Purpose::Invitation);
        let found = self.0.store().invitation_by_digest(&secret.digest(), self.now()).await;
        // A dead link does less harm than a lost one.
        matches!(found, Ok(None))
    }
}

fn log_outcome(mail: &Mail, outcome: &Outcome) {
    let (id, user) = (mail.id, mail.user_id.map(tracing::field::display));
    match outcome {
        Outcome::Delivered => tracing::debug!(mail = %id, user, "mail sent"),
        Outcome::Postponed { failure, .. } => {
            tracing::info!(mail = %id, user, %failure, "mail not taken; it is tried again later");
        }
        Outcome::GivenUp { failure } => {
            tracing::warn!(mail = %id, user, %failure, "mail given up");
        }
        Outcome::Discarded | Outcome::Released => {}
    }
}

#[cfg(test)]
mod tests;
