//! Tests with a queue in memory. The outbox has those with a database and a mail server (`doorward/outbox`).

use std::sync::{Mutex as StdMutex, MutexGuard};

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A queue of items, each of which is what its attempt ends with.
#[derive(Clone, Default)]
struct Attempts(Arc<StdMutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    waiting: VecDeque<Option<Attempt>>,
    outcomes: Vec<Outcome>,
}

impl Attempts {
    /// `None` panics.
    fn new(waiting: impl IntoIterator<Item = Option<Attempt>>) -> Self {
        let queue = Self::default();
        queue.lock().waiting.extend(waiting);
        queue
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap()
    }
}

impl Queue for Attempts {
    type Item = Option<Attempt>;
    type Channel = ();
    type Error = &'static str;

    const MAX_ATTEMPT_TIME: Duration = Duration::from_secs(1);

    fn now(&self) -> Timestamp {
        NOW
    }

    async fn release_abandoned(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn claim(
        &self,
        _: Duration,
        limit: usize,
    ) -> Result<Vec<Claimed<Self::Item>>, Self::Error> {
        let waiting = &mut self.lock().waiting;
        let count = limit.min(waiting.len());
        let claimed = waiting.drain(..count).map(|item| Claimed {
            item,
            expires_at: NOW + minutes(1),
            attempts: 0,
            failure: None,
        });
        Ok(claimed.collect())
    }

    async fn attempt(&self, (): &mut (), item: &Self::Item) -> Attempt {
        item.clone().expect("planted")
    }

    async fn close_if_idle((): &mut (), _: Duration, _: Instant) {}

    async fn record(&self, _: &Self::Item, outcome: &Outcome) -> Result<(), Self::Error> {
        self.lock().outcomes.push(outcome.clone());
        Ok(())
    }

    fn expired(_: Option<&str>) -> String {
        "expired".into()
    }

    fn log(_: LogEntry<'_, Self>) {}
}

fn postponed(after: Duration, failure: &str) -> Outcome {
    Outcome::Postponed { due_at: NOW + after, failure: failure.into() }
}

#[tokio::test]
async fn each_attempt_has_its_outcome() {
    let queue = Attempts::new([
        Some(Attempt::Delivered),
        Some(Attempt::Discarded),
        Some(Attempt::Unusable("unusable".into())),
        Some(Attempt::Temporary("later".into())),
        Some(Attempt::Permanent("never".into())),
        Some(Attempt::Lost("unknown".into())),
        Some(Attempt::Unreachable("down".into())),
        Some(Attempt::Delivered),
    ]);
    let delivery = Delivery::new(());
    let now = Instant::now();
    assert_eq!(delivery.round(&queue, now).await, Ok(Round::More));
    assert!(!delivery.is_out());
    assert_eq!(delivery.round(&queue, now).await, Ok(Round::Outage));
    assert!(delivery.is_out());
    let given_up = |failure: &str| Outcome::GivenUp { failure: failure.into() };
    assert_eq!(
        queue.lock().outcomes,
        [
            Outcome::Delivered,
            Outcome::Discarded,
            given_up("unusable"),
            postponed(minutes(1), "later"),
            given_up("never"),
            postponed(AFTER_LOSS, "unknown"),
            Outcome::Released,
            // What was claimed with it.
            Outcome::Released,
        ]
    );
    let fates: Vec<_> = delivery.fates().values().collect();
    assert_eq!(fates, [("sent", 1), ("postponed", 2), ("given_up", 2), ("discarded", 1)]);
}

#[tokio::test]
async fn an_item_that_panics_is_postponed_and_the_others_are_delivered() {
    let queue = Attempts::new([Some(Attempt::Delivered), None, Some(Attempt::Delivered)]);
    let delivery = Delivery::new(());
    assert_eq!(delivery.round(&queue, Instant::now()).await, Ok(Round::Done));
    let failure = "an internal error, which is in the log";
    assert_eq!(
        queue.lock().outcomes,
        [Outcome::Delivered, postponed(minutes(1), failure), Outcome::Delivered]
    );
}
