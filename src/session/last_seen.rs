//! When sessions were last used: noted in memory by whoever recognises a caller, written by whoever tidies up.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use super::SessionId;
use crate::clock::Timestamp;

/// Sessions that were used since this was last emptied, each with the time.
#[derive(Default)]
pub struct Sightings {
    unwritten: Mutex<HashMap<SessionId, Timestamp>>,
}

/// When the use of a session was last noted, beside whatever is remembered about the session: most requests find
/// here that there is nothing to note, and take no lock.
pub struct LastNote(AtomicI64);

impl LastNote {
    /// As the store has it.
    pub fn new(last_seen_at: Timestamp) -> Self {
        Self(AtomicI64::new(last_seen_at.millis()))
    }
}

impl Sightings {
    /// A session that is used again within this time has not been noted twice.
    pub const COARSENESS: Duration = Duration::from_secs(5 * 60);
    /// Sessions noted at most: an app that embeds Doorward may never tidy up.
    const MOST: usize = 100_000;

    /// Notes that a session is used now, unless it was noted lately.
    pub fn note(&self, session: SessionId, last: &LastNote, now: Timestamp) {
        let noted = last.0.load(Ordering::Relaxed);
        let is_late = Timestamp::from_millis(noted) + Self::COARSENESS <= now;
        if is_late && last.0.swap(now.millis(), Ordering::Relaxed) == noted {
            let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            if unwritten.len() < Self::MOST {
                unwritten.insert(session, now);
            }
        }
    }

    /// What has been noted since the last time.
    pub fn take(&self) -> Vec<(SessionId, Timestamp)> {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *unwritten).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_noted_at_most_once_in_5_minutes() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let (sightings, session, last) =
            (Sightings::default(), SessionId::random(), LastNote::new(start));
        let mut noted = Vec::new();
        for second in 0..1000 {
            sightings.note(session, &last, start + Duration::from_secs(second));
            noted.extend(sightings.take());
        }
        let at = |second| (session, start + Duration::from_secs(second));
        assert_eq!(noted, [at(300), at(600), at(900)]);
    }

    #[test]
    fn what_nobody_takes_does_not_grow_for_ever() {
        let sightings = Sightings::default();
        let (long_ago, now) = (Timestamp::from_seconds(0), Timestamp::from_seconds(1_800_000_000));
        for _ in 0..Sightings::MOST + 10 {
            sightings.note(SessionId::random(), &LastNote::new(long_ago), now);
        }
        assert_eq!(sightings.take().len(), Sightings::MOST);
    }
}
