//! When sessions and API keys were last used. Requests record it in memory; a background task writes it to the store.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use super::SessionId;
use crate::clock::Timestamp;

/// Times of use that are not yet written to the store, by the id of what was used.
pub struct LastSeenBuffer<Id = SessionId> {
    unwritten: Mutex<HashMap<Id, Timestamp>>,
}

impl<Id> Default for LastSeenBuffer<Id> {
    fn default() -> Self {
        Self { unwritten: Mutex::default() }
    }
}

/// When the use of a session was last recorded. It is cached with the session, so that most requests need no lock to see
/// that there is nothing to record.
pub struct LastRecorded(AtomicI64);

impl LastRecorded {
    /// From the time in the store.
    pub fn new(last_seen_at: Timestamp) -> Self {
        Self(AtomicI64::new(last_seen_at.millis()))
    }

    /// The time of the last recorded use.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl LastSeenBuffer {
    /// A use is recorded at most once in this time.
    pub const INTERVAL: Duration = Duration::from_secs(5 * 60);
    /// The maximum number of buffered ids: an app that embeds Doorward may not run the background task.
    const MAX_BUFFERED: usize = 100_000;
}

impl<Id: Copy + Eq + Hash> LastSeenBuffer<Id> {
    /// Records that something is used now, unless that was recorded recently.
    pub fn record(&self, id: Id, last: &LastRecorded, now: Timestamp) {
        let recorded = last.0.load(Ordering::Relaxed);
        let last_at = Timestamp::from_millis(recorded);
        // A time of the future comes from a clock that was wrong.
        let is_due =
            last_at + LastSeenBuffer::INTERVAL <= now || now + LastSeenBuffer::INTERVAL < last_at;
        if is_due && last.0.swap(now.millis(), Ordering::Relaxed) == recorded {
            let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            if unwritten.len() < LastSeenBuffer::MAX_BUFFERED {
                unwritten.insert(id, now);
            }
        }
    }

    /// The buffered time, or the earliest time.
    pub fn unwritten(&self, id: Id) -> Timestamp {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.get(&id).copied().unwrap_or(Timestamp::from_millis(0))
    }

    /// Removes and returns the buffered times.
    pub fn take(&self) -> Vec<(Id, Timestamp)> {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *unwritten).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_recorded_at_most_once_in_5_minutes() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let (buffer, session, last) =
            (LastSeenBuffer::default(), SessionId::random(), LastRecorded::new(start));
        let mut recorded = Vec::new();
        for second in 0..1000 {
            buffer.record(session, &last, start + Duration::from_secs(second));
            recorded.extend(buffer.take());
        }
        let at = |second| (session, start + Duration::from_secs(second));
        assert_eq!(recorded, [at(300), at(600), at(900)]);
    }

    #[test]
    fn the_buffer_is_bounded() {
        let buffer: LastSeenBuffer = LastSeenBuffer::default();
        let (long_ago, now) = (Timestamp::from_seconds(0), Timestamp::from_seconds(1_800_000_000));
        for _ in 0..LastSeenBuffer::MAX_BUFFERED + 10 {
            buffer.record(SessionId::random(), &LastRecorded::new(long_ago), now);
        }
        assert_eq!(buffer.take().len(), LastSeenBuffer::MAX_BUFFERED);
    }
}
