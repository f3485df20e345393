//! What was refused, until it is written to the audit trail. There is no change that it could be stored with, and anybody can cause
//! it, so it is written in batches and at a bounded rate. What is above the rate is counted.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{Event, EventKind, LeftOut};

/// Events that wait to be recorded.
pub struct Unrecorded(Mutex<Waiting>);

struct Waiting {
    events: Vec<Event>,
    /// Of users, of others, and of guards: a flood of one kind does not displace the others.
    budgets: [Budget; 3],
    left_out: BTreeMap<&'static str, u64>,
}

/// How many events may be recorded.
struct Budget {
    most: f64,
    per_second: f64,
    left: f64,
    changed_at: Instant,
}

impl Budget {
    fn new(most: f64, per_second: f64) -> Self {
        Self { most, per_second, left: most, changed_at: Instant::now() }
    }

    fn charge(&mut self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.changed_at).as_secs_f64();
        self.left = (self.left + elapsed * self.per_second).min(self.most);
        self.changed_at = now;
        let is_charged = self.left >= 1.0;
        if is_charged {
            self.left -= 1.0;
        }
        is_charged
    }
}

impl Default for Unrecorded {
    fn default() -> Self {
        let budgets = [Budget::new(500.0, 5.0), Budget::new(500.0, 2.0), Budget::new(100.0, 1.0)];
        let waiting = Waiting { events: Vec::new(), budgets, left_out: BTreeMap::new() };
        Self(Mutex::new(waiting))
    }
}

impl Unrecorded {
    /// Keeps an event to be recorded, or counts it.
    pub(super) fn add(&self, event: &Event, now: Instant) {
        let kind = match (&event.kind, event.subject) {
            (EventKind::GuardRefused { .. }, _) => 2,
            (_, None) => 1,
            (_, Some(_)) => 0,
        };
        let mut waiting = self.lock();
        // Whoever gives orders does not cause a flood.
        if event.administrator().is_some() || waiting.budgets[kind].charge(now) {
            waiting.events.push(event.clone());
        } else {
            *waiting.left_out.entry(event.kind.name()).or_default() += 1;
        }
    }

    /// Removes and returns the events that wait.
    pub fn take(&self) -> Vec<Event> {
        mem::take(&mut self.lock().events)
    }

    /// Puts events back that could not be recorded. They are bounded as others are: what does not fit is counted.
    pub fn put_back(&self, events: Vec<Event>) {
        /// What the budgets allow at once.
        const MOST: usize = 1100;
        let mut waiting = self.lock();
        let newer = mem::replace(&mut waiting.events, events);
        waiting.events.extend(newer);
        while waiting.events.len() > MOST {
            let event = waiting.events.pop().expect("there are more than none");
            *waiting.left_out.entry(event.kind.name()).or_default() += 1;
        }
    }

    /// Removes and returns how many events were not recorded.
    pub fn take_left_out(&self) -> Vec<LeftOut> {
        let left_out = mem::take(&mut self.lock().left_out);
        left_out.into_iter().map(|(kind, count)| LeftOut { kind, count }).collect()
    }

    /// Puts counts back that could not be recorded.
    pub fn put_back_left_out(&self, left_out: Vec<LeftOut>) {
        let mut waiting = self.lock();
        for LeftOut { kind, count } in left_out {
            *waiting.left_out.entry(kind).or_default() += count;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{clock::Timestamp, user::UserId};

    fn failed(user: Option<UserId>) -> Event {
        let event = Event::by_service(Timestamp::from_millis(0), EventKind::ResetFailed);
        Event { subject: user, ..event }
    }

    #[test]
    fn a_flood_is_recorded_at_a_bounded_rate_and_the_rest_is_counted() {
        let (unrecorded, begin) = (Unrecorded::default(), Instant::now());
        for millis in 0..60_000 {
            unrecorded.add(&failed(None), begin + Duration::from_millis(millis));
        }
        let recorded = unrecorded.take().len();
        assert!((615..=625).contains(&recorded), "{recorded}");
        let left_out = unrecorded.take_left_out();
        assert_eq!(left_out, [LeftOut { kind: "reset_failed", count: 60_000 - recorded as u64 }]);
        assert_eq!((unrecorded.take(), unrecorded.take_left_out()), (vec![], vec![]));
    }

    #[test]
    fn a_flood_without_accounts_does_not_displace_failures_of_users() {
        let (unrecorded, now) = (Unrecorded::default(), Instant::now());
        (0..10_000).for_each(|_| unrecorded.add(&failed(None), now));
        let user = UserId::random();
        unrecorded.add(&failed(Some(user)), now);
        assert!(unrecorded.take().iter().any(|event| event.subject == Some(user)));
    }

    #[test]
    fn events_that_cannot_be_recorded_wait_in_a_bounded_space() {
        let unrecorded = Unrecorded::default();
        unrecorded.put_back((0..5000).map(|_| failed(None)).collect());
        assert_eq!(unrecorded.take().len(), 1100);
        assert_eq!(unrecorded.take_left_out()[0].count, 3900);
    }
}
