//! A clock that tests set, advance and stop. Everything that depends on time follows it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::DateTime;

use crate::clock::{Clock, Timestamp};

/// The latest time that can be set: lifetimes are added to it, and a year has four digits.
const LATEST: Timestamp = Timestamp::from_seconds(221_845_392_000);

/// A clock that can be set. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct SettableClock {
    system: Clock,
    state: Arc<Mutex<State>>,
    /// The instant that stands for the beginning of 1970. Later ones are those of the future, because the instants of a system may
    /// begin with its start.
    epoch: Instant,
}

#[derive(Clone, Copy)]
enum State {
    /// Ahead of the system's clock by this many milliseconds.
    Running {
        ahead: i64,
    },
    Frozen(Timestamp),
}

/// The text is not a time that the clock can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a time from 1970 to 8999 in RFC 3339, such as 2027-01-15T08:00:00Z")]
pub(crate) struct InvalidTime;

/// A time in RFC 3339 that the clock can be set to.
pub(crate) fn parse_time(text: &str) -> Result<Timestamp, InvalidTime> {
    let time = DateTime::parse_from_rfc3339(text).map_err(|_| InvalidTime)?;
    let time = Timestamp::from_millis(time.timestamp_millis());
    ((0..LATEST.millis()).contains(&time.millis())).then_some(time).ok_or(InvalidTime)
}

impl SettableClock {
    /// A clock that shows the time of `system` until it is set.
    pub(crate) fn new(system: Clock) -> Self {
        let epoch = Instant::now();
        Self { system, state: Arc::new(Mutex::new(State::Running { ahead: 0 })), epoch }
    }

    /// The clock for a service.
    pub(crate) fn to_clock(&self) -> Clock {
        let (now, instant) = (self.clone(), self.clone());
        Clock::new(move || now.now()).with_instants(move || instant.instant())
    }

    pub(crate) fn now(&self) -> Timestamp {
        match *self.state() {
            State::Running { ahead } => {
                Timestamp::from_millis(self.system.now().millis().saturating_add(ahead))
            }
            State::Frozen(time) => time,
        }
    }

    pub(crate) fn is_frozen(&self) -> bool {
        matches!(*self.state(), State::Frozen(_))
    }

    /// Sets the time. A frozen clock shows it until the next call; any other runs on from it.
    pub(crate) fn set(&self, time: Timestamp, is_frozen: bool) {
        *self.state() = match is_frozen {
            true => State::Frozen(time),
            false => State::Running { ahead: time.millis() - self.system.now().millis() },
        };
    }

    /// Shows the system's time again.
    pub(crate) fn follow_system(&self) {
        *self.state() = State::Running { ahead: 0 };
    }

    /// The time this much later, unless that is too late.
    pub(crate) fn later(&self, duration: Duration) -> Result<Timestamp, InvalidTime> {
        let time = self.now() + duration;
        (time.millis() < LATEST.millis()).then_some(time).ok_or(InvalidTime)
    }

    /// The instant of the current time.
    fn instant(&self) -> Instant {
        self.epoch + self.now().duration_since(Timestamp::from_millis(0))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[test]
    fn the_clock_runs_on_from_the_time_that_was_set_unless_it_is_frozen() {
        let millis = Arc::new(AtomicI64::new(1_000));
        let source = Arc::clone(&millis);
        let system = Clock::new(move || Timestamp::from_millis(source.load(Ordering::Relaxed)));
        let settable = SettableClock::new(system);
        let clock = settable.to_clock();
        let start = clock.instant();
        let at = |millis| Timestamp::from_millis(millis);
        assert_eq!((clock.now(), settable.is_frozen()), (at(1_000), false));
        settable.set(at(50_000), false);
        millis.store(1_250, Ordering::Relaxed);
        assert_eq!(clock.now(), at(50_250));
        assert_eq!(clock.instant() - start, Duration::from_millis(49_250));
        settable.set(at(100), true);
        millis.store(9_000, Ordering::Relaxed);
        assert_eq!((clock.now(), settable.is_frozen()), (at(100), true));
        assert_eq!(start - clock.instant(), Duration::from_millis(900));
        settable.follow_system();
        assert_eq!(clock.now(), at(9_000));
        assert_eq!(settable.later(Duration::from_secs(1)), Ok(at(10_000)));
        assert_eq!(settable.later(Duration::MAX), Err(InvalidTime));
    }

    #[test]
    fn only_times_in_rfc_3339_that_can_be_written_again_are_accepted() {
        let millis = |text| parse_time(text).map(Timestamp::millis);
        assert_eq!(millis("2027-01-15T08:00:00Z"), Ok(1_800_000_000_000));
        assert_eq!(millis("2027-01-15T09:00:00.123+01:00"), Ok(1_800_000_000_123));
        assert_eq!(LATEST.to_string(), "9000-01-01T00:00:00.000Z");
        for bad in ["", "now", "2027-01-15", "1969-12-31T23:59:59Z", "9000-01-01T00:00:00Z"] {
            assert_eq!(millis(bad), Err(InvalidTime), "{bad}");
        }
    }
}
