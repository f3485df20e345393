//! Delivers what waits in a queue of the database. One task claims items that are due, tries them one after the other and
//! records the outcomes. Nothing waits for it. What an item is, and who takes it, is up to the [`Queue`].

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fmt::Display,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tokio::{
    sync::{Mutex, Notify},
    time::timeout,
};

use crate::{
    clock::Timestamp,
    count::{Counters, labels},
    supervisor,
};

/// How long nobody else can claim an item. Longer than the longest attempt, so that another instance does not deliver it as
/// well.
pub const LEASE: Duration = minutes(5);
/// The most items that are claimed at once. An item that is more urgent waits for so many at most.
pub const BATCH: usize = 5;
/// How often the queue is read if nothing wakes the task. Another instance, or a command, may have queued something.
const INTERVAL: Duration = Duration::from_secs(1);
/// A connection that is not used is closed after this time.
const IDLE: Duration = Duration::from_secs(5);
/// How long an item waits after its first attempts that failed, and after all later ones.
const BACKOFF: [Duration; 4] = [minutes(1), minutes(5), minutes(15), minutes(30)];
const MAX_BACKOFF: Duration = minutes(60);
/// How long an item waits at least that may have been taken.
pub const AFTER_LOSS: Duration = minutes(5);
/// While the receiver takes nothing at all, it is tried again after this time, doubled each time up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

pub(crate) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// Where items wait, and how one of them is handed over.
pub trait Queue: Clone + Send + Sync + 'static {
    /// What is delivered.
    type Item: Send + Sync;
    /// What items are handed over on, such as a connection. It is kept from attempt to attempt.
    type Channel: Send;
    /// Why the queue cannot be read or written.
    type Error: Display + Send;

    /// The most time of an attempt. Less than [`LEASE`].
    const MAX_ATTEMPT_TIME: Duration;

    /// The time that items are due by.
    fn now(&self) -> Timestamp;

    /// Releases the claims of processes that have ended.
    fn release_abandoned(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Claims up to `limit` items that are due. Nobody else can claim them until `lease` has passed.
    fn claim(
        &self,
        lease: Duration,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Claimed<Self::Item>>, Self::Error>> + Send;

    /// Tries to hand one item over.
    fn attempt(
        &self,
        channel: &mut Self::Channel,
        item: &Self::Item,
    ) -> impl Future<Output = Attempt> + Send;

    /// Closes a connection that was not used for this long.
    fn close_if_idle(
        channel: &mut Self::Channel,
        idle: Duration,
        now: Instant,
    ) -> impl Future<Output = ()> + Send;

    /// Writes what has become of a claimed item.
    fn record(
        &self,
        item: &Self::Item,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Why an item is given up that has expired. `failure` is the last failure, if there was one.
    fn expired(failure: Option<&str>) -> String;

    fn log(entry: LogEntry<'_, Self>);
}

/// An item that this process may deliver.
#[derive(Clone, Debug)]
pub struct Claimed<T> {
    pub item: T,
    /// When it is given up.
    pub expires_at: Timestamp,
    /// How often it was tried before.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// How an attempt ended. The texts say why it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The receiver has taken it.
    Delivered,
    /// Nobody is to receive it.
    Discarded,
    /// It was not tried, and is due again at once.
    Withheld,
    /// It can never be tried.
    Unusable(String),
    /// The receiver takes nothing at all. It is not about this item.
    Unreachable(String),
    /// The receiver does not take this item now.
    Temporary(String),
    /// The receiver will never take this item.
    Permanent(String),
    /// It may have been taken or not.
    Lost(String),
}

/// What becomes of a claimed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is deleted.
    Delivered,
    /// It is deleted, because nobody is to receive it.
    Discarded,
    /// It is due again at once, and nothing is counted.
    Released,
    /// It is tried again later.
    Postponed {
        /// When it is tried again.
        due_at: Timestamp,
        failure: String,
    },
    /// It is not tried again.
    GivenUp { failure: String },
}

/// What has become of an item that was tried, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver has taken it.
    Sent,
    /// It is tried again later.
    Postponed,
    /// It is not tried again.
    GivenUp,
    /// Nobody was to receive it.
    Discarded,
}

labels!(Fate {
    Sent => "sent",
    Postponed => "postponed",
    GivenUp => "given_up",
    Discarded => "discarded",
});

/// What is logged.
pub enum LogEntry<'a, Q: Queue> {
    /// The receiver takes nothing at all.
    OutageBegan { cause: &'a str },
    /// The receiver takes items again.
    OutageEnded,
    /// What became of an item.
    Recorded(&'a Q::Item, &'a Outcome),
    /// The queue cannot be read or written.
    QueueFailed(&'a Q::Error),
    /// An attempt, or what is around it, has panicked.
    Panicked(&'a str),
}

/// What delivers the items of a queue, and what it remembers from round to round.
pub struct Delivery<Q: Queue> {
    state: Mutex<State<Q>>,
    /// Wakes the task.
    queued: Notify,
    /// The task ends after the item that it is delivering.
    is_stopping: AtomicBool,
    /// An outage is not waited for.
    tries_now: AtomicBool,
    /// Whether the receiver takes nothing at all.
    is_out: AtomicBool,
    fates: Counters<Fate, 4>,
}

struct State<Q: Queue> {
    channel: Q::Channel,
    outage: Option<Outage>,
    /// Outcomes that the database has not taken yet. They are recorded before more is claimed, so that nothing is delivered
    /// twice because the database was away.
    outcomes: VecDeque<(Q::Item, Outcome)>,
}

/// The receiver takes nothing at all.
struct Outage {
    cause: String,
    pause: Duration,
    until: Instant,
}

/// What one round has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nothing was due, or the receiver is not tried at the moment.
    Idle,
    /// All that was due was handled.
    Done,
    /// More may be due.
    More,
    /// The receiver takes nothing.
    Outage,
}

impl Outcome {
    /// `None` if nothing was tried.
    fn fate(&self) -> Option<Fate> {
        match self {
            Self::Delivered => Some(Fate::Sent),
            Self::Discarded => Some(Fate::Discarded),
            Self::Released => None,
            Self::Postponed { .. } => Some(Fate::Postponed),
            Self::GivenUp { .. } => Some(Fate::GivenUp),
        }
    }
}

impl<Q: Queue> State<Q> {
    fn begin_outage(&mut self, cause: String, now: Instant) {
        let pause = match &self.outage {
            Some(outage) => (outage.pause * 2).min(MAX_PAUSE),
            None => {
                Q::log(LogEntry::OutageBegan { cause: &cause });
                MIN_PAUSE
            }
        };
        self.outage = Some(Outage { cause, pause, until: now + pause });
    }

    fn end_outage(&mut self) {
        if self.outage.take().is_some() {
            Q::log(LogEntry::OutageEnded);
        }
    }
}

/// Tells the task to end when the future that started it is dropped.
struct StopOnDrop<Q: Queue>(Arc<Delivery<Q>>);

impl<Q: Queue> Drop for StopOnDrop<Q> {
    fn drop(&mut self) {
        self.0.is_stopping.store(true, Ordering::Release);
    }
}

impl<Q: Queue> Delivery<Q> {
    /// A claimed item is released if its attempt has not begun after this time, because it might outlast the lease.
    const MAX_WAIT: Duration = LEASE.saturating_sub(Q::MAX_ATTEMPT_TIME);

    /// Hands items over on this channel.
    pub fn new(channel: Q::Channel) -> Self {
        Self {
            state: Mutex::new(State { channel, outage: None, outcomes: VecDeque::new() }),
            queued: Notify::new(),
            is_stopping: false.into(),
            tries_now: false.into(),
            is_out: false.into(),
            fates: Counters::default(),
        }
    }

    /// Delivers for as long as the future is polled. An item that is being delivered then is finished by its own task.
    pub async fn run(self: &Arc<Self>, queue: &Q) {
        self.is_stopping.store(false, Ordering::Release);
        let _stop = StopOnDrop(Arc::clone(self));
        let (mut is_released, mut is_failing) = (false, false);
        loop {
            let (delivery, queue) = (Arc::clone(self), queue.clone());
            let round = tokio::spawn(async move {
                if !is_released {
                    queue.release_abandoned().await?;
                }
                delivery.round(&queue, Instant::now()).await
            });
            let outcome = match round.await {
                Ok(outcome) => outcome,
                Err(error) => {
                    let panic = error.try_into_panic();
                    let cause =
                        panic.as_ref().map_or("cancelled", |panic| supervisor::message(&**panic));
                    Q::log(LogEntry::Panicked(cause));
                    Ok(Round::Idle)
                }
            };
            if let Err(error) = &outcome
                && !is_failing
            {
                Q::log(LogEntry::QueueFailed(error));
            }
            is_released |= outcome.is_ok();
            is_failing = outcome.is_err();
            if !matches!(outcome, Ok(Round::More)) {
                let _ = timeout(INTERVAL, self.queued.notified()).await;
            }
        }
    }

    /// Wakes the task, because something was queued.
    pub fn wake(&self) {
        self.queued.notify_one();
    }

    /// Wakes the task, which tries the receiver at once, even during an outage.
    pub fn try_now(&self) {
        self.tries_now.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits until the item that is being delivered has been handled, but not for long. For the end of the process, after the
    /// future of [`Self::run`] was dropped.
    pub async fn finish(&self) {
        /// A receiver that does not answer must not delay the stop.
        const LIMIT: Duration = Duration::from_secs(5);
        let finished = async {
            let channel = &mut self.state.lock().await.channel;
            Q::close_if_idle(channel, Duration::ZERO, Instant::now()).await;
        };
        let _ = timeout(LIMIT, finished).await;
    }

    /// Whether the receiver takes nothing at all, as far as is known.
    pub fn is_out(&self) -> bool {
        self.is_out.load(Ordering::Relaxed)
    }

    /// What has become of items since the start.
    pub fn fates(&self) -> &Counters<Fate, 4> {
        &self.fates
    }

    /// Delivers a batch of what is due. `now` is the time for pauses.
    ///
    /// # Errors
    /// If the queue cannot be read or written. Nothing is lost: the next call continues.
    pub async fn round(&self, queue: &Q, now: Instant) -> Result<Round, Q::Error> {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        self.record(state, queue).await?;
        let tries_now = self.tries_now.swap(false, Ordering::AcqRel);
        if self.is_stopping.load(Ordering::Acquire)
            || !tries_now && state.outage.as_ref().is_some_and(|outage| now < outage.until)
        {
            return Ok(Round::Idle);
        }
        // During an outage, one item finds out whether it is over.
        let limit = if state.outage.is_some() { 1 } else { BATCH };
        let claimed_at = Instant::now();
        let claimed = queue.claim(LEASE, limit).await?;
        if claimed.is_empty() {
            Q::close_if_idle(&mut state.channel, IDLE, now).await;
            return Ok(Round::Idle);
        }
        let is_batch_full = claimed.len() == limit;
        let (mut is_over, mut begins_outage) = (false, false);
        for claimed in claimed {
            let is_late = claimed_at.elapsed() > Self::MAX_WAIT;
            if is_over || is_late || self.is_stopping.load(Ordering::Acquire) {
                state.outcomes.push_back((claimed.item, Outcome::Released));
                continue;
            }
            let outcome = deliver(state, queue, &claimed, now).await;
            self.is_out.store(state.outage.is_some(), Ordering::Relaxed);
            begins_outage = outcome == Outcome::Released;
            state.outcomes.push_back((claimed.item, outcome));
            // After an error, the other items are released by the next round.
            is_over = begins_outage || self.record(state, queue).await.is_err();
        }
        self.record(state, queue).await?;
        Ok(match (begins_outage, is_batch_full) {
            (true, _) => Round::Outage,
            (false, true) => Round::More,
            (false, false) => Round::Done,
        })
    }

    /// Writes outcomes to the database, the oldest first.
    async fn record(&self, state: &mut State<Q>, queue: &Q) -> Result<(), Q::Error> {
        while let Some((item, outcome)) = state.outcomes.front() {
            queue.record(item, outcome).await?;
            Q::log(LogEntry::Recorded(item, outcome));
            if let Some(fate) = outcome.fate() {
                self.fates.add_one(fate);
            }
            state.outcomes.pop_front();
        }
        Ok(())
    }
}

/// Delivers one item.
async fn deliver<Q: Queue>(
    state: &mut State<Q>,
    queue: &Q,
    claimed: &Claimed<Q::Item>,
    now: Instant,
) -> Outcome {
    let Claimed { item, expires_at, attempts, failure } = claimed;
    if *expires_at <= queue.now() {
        let outage = state.outage.as_ref().map(|outage| &outage.cause);
        let failure = failure.as_ref().or(outage).map(String::as_str);
        return Outcome::GivenUp { failure: Q::expired(failure) };
    }
    let backoff = *BACKOFF.get(*attempts as usize).unwrap_or(&MAX_BACKOFF);
    let attempt = AssertUnwindSafe(queue.attempt(&mut state.channel, item)).catch_unwind();
    let attempt = match attempt.await {
        Ok(attempt) => attempt,
        Err(panic) => {
            Q::log(LogEntry::Panicked(supervisor::message(&*panic)));
            // Other items must not wait for one that always panics.
            let failure = "an internal error, which is in the log".to_owned();
            return Outcome::Postponed { due_at: queue.now() + backoff, failure };
        }
    };
    match attempt {
        Attempt::Withheld => Outcome::Released,
        Attempt::Discarded => Outcome::Discarded,
        Attempt::Unusable(failure) => Outcome::GivenUp { failure },
        Attempt::Unreachable(failure) => {
            state.begin_outage(failure, now);
            Outcome::Released
        }
        Attempt::Delivered => {
            state.end_outage();
            Outcome::Delivered
        }
        Attempt::Temporary(failure) => {
            state.end_outage();
            Outcome::Postponed { due_at: queue.now() + backoff, failure }
        }
        Attempt::Permanent(failure) => {
            state.end_outage();
            Outcome::GivenUp { failure }
        }
        Attempt::Lost(failure) => {
            state.end_outage();
            // A receiver that never confirms an item must not get it again and again.
            Outcome::Postponed { due_at: queue.now() + backoff.max(AFTER_LOSS), failure }
        }
    }
}
