//! Sends the mail in the outbox. One task claims mail that is due, hands it over and records the outcome, one mail after the
//! other. Nothing waits for it.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tokio::{sync::Mutex, time::timeout};

use super::Doorward;
use crate::{
    clock::Timestamp,
    count::{Counters, labels},
    mail::{
        self, Letterhead, MAX_SEND_TIME, Mail, MailId, MailSettings, Message, SendError, Transport,
        TransportError,
    },
    store::{self, ClaimedMail},
    token::one_time::Purpose,
};

/// How long nobody else can claim a mail. Longer than the longest send, so that another instance does not send it as well.
const LEASE: Duration = Duration::from_secs(5 * 60);
/// Claimed mail is released if sending it has not begun after this time, because the send might outlast the lease.
const MAX_WAIT: Duration = LEASE.saturating_sub(MAX_SEND_TIME);
/// The most mails that are claimed at once. A mail that is more urgent waits for so many at most.
const BATCH: usize = 5;
/// How often the outbox is read if nothing wakes the task. Another instance, or a command, may have queued mail.
const INTERVAL: Duration = Duration::from_secs(1);
/// A connection without mail is closed after this time.
const IDLE: Duration = Duration::from_secs(5);
/// How long a mail waits after its first attempts that failed, and after all later ones.
const BACKOFF: [Duration; 4] = [minutes(1), minutes(5), minutes(15), minutes(30)];
const MAX_BACKOFF: Duration = minutes(60);
/// How long a mail waits at least that may have been taken. The server, or the program that shows it, recognises a second one
/// by its `Message-ID`, which is the same.
const AFTER_LOSS: Duration = minutes(5);
/// While the server takes no mail at all, it is tried again after this time, doubled each time up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// What sends mail, and what it remembers from round to round.
pub(super) struct Delivery {
    state: Option<Mutex<State>>,
    /// The task ends after the mail that it is sending.
    is_stopping: AtomicBool,
    /// An outage is not waited for.
    tries_now: AtomicBool,
    /// Whether the server takes no mail at all.
    is_out: AtomicBool,
    fates: Counters<MailFate, 4>,
}

/// What has become of a mail that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailFate {
    /// The server has taken it.
    Sent,
    /// It is tried again later.
    Postponed,
    /// It is not tried again.
    GivenUp,
    /// Nobody was to receive it.
    Discarded,
}

labels!(MailFate {
    Sent => "sent",
    Postponed => "postponed",
    GivenUp => "given_up",
    Discarded => "discarded",
});

struct State {
    transport: Transport,
    outage: Option<Outage>,
    /// Outcomes that the database has not taken yet. They are recorded before more mail is claimed, so that a mail is not sent
    /// twice because the database was away.
    outcomes: VecDeque<(Mail, Outcome)>,
}

/// The server takes no mail at all.
struct Outage {
    cause: String,
    pause: Duration,
    until: Instant,
}

/// What becomes of a claimed mail.
enum Outcome {
    Sent,
    /// Nobody was to receive it.
    Discarded,
    /// It is due again at once, and nothing is counted.
    Released,
    Postponed {
        due_at: Timestamp,
        failure: String,
    },
    GivenUp {
        failure: String,
    },
}

/// What one round has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// No mail was due, or the server is not tried at the moment.
    Idle,
    /// All mail that was due was handled.
    Done,
    /// More mail may be due.
    More,
    /// The server takes no mail.
    Outage,
}

impl Outcome {
    /// `None` if nothing was tried.
    fn fate(&self) -> Option<MailFate> {
        match self {
            Self::Sent => Some(MailFate::Sent),
            Self::Discarded => Some(MailFate::Discarded),
            Self::Released => None,
            Self::Postponed { .. } => Some(MailFate::Postponed),
            Self::GivenUp { .. } => Some(MailFate::GivenUp),
        }
    }
}

impl State {
    fn begin_outage(&mut self, cause: String, now: Instant) {
        let pause = match &self.outage {
            Some(outage) => (outage.pause * 2).min(MAX_PAUSE),
            None => {
                tracing::warn!(%cause, "the mail server takes no mail; it waits in the outbox");
                MIN_PAUSE
            }
        };
        self.outage = Some(Outage { cause, pause, until: now + pause });
    }

    fn end_outage(&mut self) {
        if self.outage.take().is_some() {
            tracing::info!("the mail server takes mail again");
        }
    }
}

/// Logs what became of a mail, without the address.
fn log(mail: &Mail, outcome: &Outcome) {
    let (id, user) = (mail.id, mail.user_id.map(tracing::field::display));
    match outcome {
        Outcome::Sent => tracing::debug!(mail = %id, user, "mail sent"),
        Outcome::Postponed { failure, .. } => {
            tracing::info!(mail = %id, user, %failure, "mail not taken; it is tried again later");
        }
        Outcome::GivenUp { failure } => {
            tracing::warn!(mail = %id, user, %failure, "mail given up");
        }
        Outcome::Discarded | Outcome::Released => {}
    }
}

impl Delivery {
    /// # Errors
    /// If a file that the settings name cannot be used.
    pub(super) fn new(settings: &MailSettings) -> Result<Self, TransportError> {
        let state = match settings.url {
            Some(_) => Some(Mutex::new(State {
                transport: Transport::new(settings)?,
                outage: None,
                outcomes: VecDeque::new(),
            })),
            None => None,
        };
        Ok(Self { state, ..Self::none() })
    }

    /// Sends no mail.
    pub(super) fn none() -> Self {
        Self {
            state: None,
            is_stopping: false.into(),
            tries_now: false.into(),
            is_out: false.into(),
            fates: Counters::default(),
        }
    }
}

/// Tells the task to end when the future that started it is dropped.
struct StopOnDrop(Doorward);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.inner.delivery.is_stopping.store(true, Ordering::Release);
    }
}

impl Doorward {
    /// Sends mail for as long as the future is polled. A mail that is being sent then is finished by its own task.
    pub(super) async fn deliver_mail(&self) {
        let delivery = &self.inner.delivery;
        if delivery.state.is_none() {
            return;
        }
        delivery.is_stopping.store(false, Ordering::Release);
        let _stop = StopOnDrop(self.clone());
        let (mut is_released, mut is_failing) = (false, false);
        loop {
            let doorward = self.clone();
            let round = tokio::spawn(async move {
                if !is_released {
                    doorward.store().release_abandoned_mail().await?;
                }
                doorward.deliver_due(Instant::now()).await
            });
            let outcome = match round.await {
                Ok(outcome) => outcome,
                Err(panic) => {
                    tracing::error!(error = %panic, "sending mail has failed");
                    Ok(Round::Idle)
                }
            };
            if let Err(error) = &outcome
                && !is_failing
            {
                tracing::warn!(%error, "cannot read or write the outbox; mail waits");
            }
            is_released |= outcome.is_ok();
            is_failing = outcome.is_err();
            if !matches!(outcome, Ok(Round::More)) {
                let _ = timeout(INTERVAL, self.mail_queued().notified()).await;
            }
        }
    }

    /// Waits until the mail that is being sent has been handled, but not for long. Call it after the future of
    /// [`Self::run_upkeep`] was dropped, before the process ends. Mail that is still being sent then is sent again.
    pub async fn finish_mail(&self) {
        /// A server that does not answer must not delay the stop.
        const LIMIT: Duration = Duration::from_secs(5);
        if let Some(state) = &self.inner.delivery.state {
            let finished = async {
                state.lock().await.transport.close_if_idle(Duration::ZERO, Instant::now()).await
            };
            let _ = timeout(LIMIT, finished).await;
        }
    }

    /// Makes all mail due now that waits or was given up, and tries the server at once. Returns the number of mails.
    pub(crate) async fn retry_mail(&self) -> Result<usize, store::Error> {
        let count = self.store().retry_mail(self.now()).await?;
        self.inner.delivery.tries_now.store(true, Ordering::Release);
        self.mail_queued().notify_one();
        Ok(count)
    }

    /// Whether the mail server takes mail, as far as is known. `None` if no mail is sent.
    pub(crate) fn is_mail_taken(&self) -> Option<bool> {
        let delivery = &self.inner.delivery;
        delivery.state.as_ref().map(|_| !delivery.is_out.load(Ordering::Relaxed))
    }

    /// What has become of mail since the start.
    pub(crate) fn mail_fates(&self) -> &Counters<MailFate, 4> {
        &self.inner.delivery.fates
    }

    /// Sends all mail that is due, for a test that reads it next.
    ///
    /// # Errors
    /// If the database cannot be read or written.
    pub(crate) async fn deliver_queued_mail(&self) -> Result<(), store::Error> {
        while self.deliver_due(Instant::now()).await? == Round::More {}
        Ok(())
    }

    /// Sends a batch of the mail that is due. `now` is the time for pauses.
    ///
    /// # Errors
    /// If the database cannot be read or written. Nothing is lost: the next call continues.
    async fn deliver_due(&self, now: Instant) -> Result<Round, store::Error> {
        let delivery = &self.inner.delivery;
        let Some(state) = &delivery.state else { return Ok(Round::Idle) };
        let mut state = state.lock().await;
        let state = &mut *state;
        self.record(state).await?;
        let tries_now = delivery.tries_now.swap(false, Ordering::AcqRel);
        if delivery.is_stopping.load(Ordering::Acquire)
            || !tries_now && state.outage.as_ref().is_some_and(|outage| now < outage.until)
        {
            return Ok(Round::Idle);
        }
        // During an outage, one mail finds out whether it is over.
        let limit = if state.outage.is_some() { 1 } else { BATCH };
        let claimed_at = Instant::now();
        let claimed = self.store().claim_mail(self.now(), LEASE, limit).await?;
        if claimed.is_empty() {
            state.transport.close_if_idle(IDLE, now).await;
            return Ok(Round::Idle);
        }
        let is_batch_full = claimed.len() == limit;
        let (mut is_over, mut begins_outage) = (false, false);
        for claimed in claimed {
            let is_late = claimed_at.elapsed() > MAX_WAIT;
            if is_over || is_late || delivery.is_stopping.load(Ordering::Acquire) {
                state.outcomes.push_back((claimed.mail, Outcome::Released));
                continue;
            }
            let outcome = self.deliver(state, &claimed, now).await;
            delivery.is_out.store(state.outage.is_some(), Ordering::Relaxed);
            begins_outage = matches!(outcome, Outcome::Released);
            state.outcomes.push_back((claimed.mail, outcome));
            // After an error, the other mails are released by the next round.
            is_over = begins_outage || self.record(state).await.is_err();
        }
        self.record(state).await?;
        Ok(match (begins_outage, is_batch_full) {
            (true, _) => Round::Outage,
            (false, true) => Round::More,
            (false, false) => Round::Done,
        })
    }

    /// Sends one mail.
    async fn deliver(&self, state: &mut State, claimed: &ClaimedMail, now: Instant) -> Outcome {
        let ClaimedMail { mail, attempts, failure } = claimed;
        if mail.expires_at <= self.now() {
            let outage = state.outage.as_ref().map(|outage| &outage.cause);
            let failure = failure.as_ref().or(outage).map_or("it was not tried", String::as_str);
            let failure = format!("expired before a mail server took it: {failure}");
            return Outcome::GivenUp { failure };
        }
        if self.is_revoked(mail).await {
            return Outcome::Discarded;
        }
        let settings = self.settings();
        let Some(from) = &settings.mail.from else {
            return Outcome::Released;
        };
        let site = settings.pages.then(|| self.public_base());
        let letterhead = Letterhead {
            site: site.as_deref(),
            name: &settings.branding.name,
            accent: settings.branding.accent.0,
            from,
            reply_to: settings.mail.reply_to.as_ref(),
        };
        let composed = match mail::compose(mail, self.one_times(), &letterhead) {
            Ok(Some(composed)) => composed,
            Ok(None) => return Outcome::Discarded,
            Err(error) => {
                return Outcome::GivenUp { failure: format!("it cannot be written: {error}") };
            }
        };
        let error = match state.transport.send(mail.id, mail.created_at, composed).await {
            Ok(()) => {
                state.end_outage();
                return Outcome::Sent;
            }
            Err(error) => error,
        };
        let failure = error.failure().to_string();
        let backoff = *BACKOFF.get(*attempts as usize).unwrap_or(&MAX_BACKOFF);
        match error {
            SendError::Unreachable(_) => {
                state.begin_outage(failure, now);
                Outcome::Released
            }
            SendError::Temporary(_) => {
                state.end_outage();
                Outcome::Postponed { due_at: self.now() + backoff, failure }
            }
            SendError::Permanent(_) => {
                state.end_outage();
                Outcome::GivenUp { failure }
            }
            SendError::Lost(_) => {
                state.end_outage();
                // A server that never confirms a mail must not flood its recipient.
                Outcome::Postponed { due_at: self.now() + backoff.max(AFTER_LOSS), failure }
            }
        }
    }

    /// Whether it is an invitation that does not exist any more.
    async fn is_revoked(&self, mail: &Mail) -> bool {
        let Message::Invitation { one_time, .. } = &mail.message else { return false };
        let secret = self.one_times().secret(*one_time, Purpose::Invitation);
        let found = self.store().invitation_by_digest(&secret.digest(), self.now()).await;
        // A dead link does less harm than a lost one.
        matches!(found, Ok(None))
    }

    /// Writes outcomes to the database, the oldest first.
    async fn record(&self, state: &mut State) -> Result<(), store::Error> {
        while let Some((mail, outcome)) = state.outcomes.front() {
            let (id, store): (MailId, _) = (mail.id, self.store());
            match outcome {
                Outcome::Sent | Outcome::Discarded => store.delete_mail(id).await?,
                Outcome::Released => store.release_mail(id).await?,
                Outcome::Postponed { due_at, failure } => {
                    store.postpone_mail(id, *due_at, failure).await?;
                }
                Outcome::GivenUp { failure } => {
                    store.give_up_mail(id, failure, self.now()).await?;
                }
            }
            log(mail, outcome);
            if let Some(fate) = outcome.fate() {
                self.inner.delivery.fates.add_one(fate);
            }
            state.outcomes.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
