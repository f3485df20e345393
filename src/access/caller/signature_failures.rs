//! Limits checks of wrong signatures under valid claims. A check is expensive, and only somebody who has seen a token of the
//! session can cause one, so the limit is per session.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{clock::Timestamp, session::SessionId};

/// Counts wrong signatures per session within the current minute.
#[derive(Default)]
pub(super) struct SignatureFailures {
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    minute: i64,
    by_session: HashMap<SessionId, u32>,
}

impl SignatureFailures {
    /// The most wrong signatures that are checked for one session in one minute.
    pub(super) const PER_MINUTE: u32 = 10;
    /// The most counted sessions, about 3 MB. Wrong signatures for further sessions are not limited.
    const MAX_SESSIONS: usize = 65_536;

    /// Whether the session has used up its checks of this minute.
    pub(super) fn is_exhausted(&self, session: SessionId, now: Timestamp) -> bool {
        let counted = self.current(now);
        counted.by_session.get(&session).is_some_and(|count| *count >= Self::PER_MINUTE)
    }

    /// Counts a wrong signature.
    pub(super) fn add(&self, session: SessionId, now: Timestamp) {
        let mut counted = self.current(now);
        if let Some(count) = counted.by_session.get_mut(&session) {
            *count += 1;
        } else if counted.by_session.len() < Self::MAX_SESSIONS {
            counted.by_session.insert(session, 1);
        }
    }

    /// The counts of this minute. Removes older ones.
    fn current(&self, now: Timestamp) -> MutexGuard<'_, Counted> {
        let minute = now.seconds().div_euclid(60);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.minute != minute {
            *counted = Counted { minute, by_session: HashMap::new() };
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[test]
    fn wrong_signatures_are_limited_per_session_and_minute() {
        let (failures, one, other) =
            (SignatureFailures::default(), SessionId::random(), SessionId::random());
        for _ in 0..SignatureFailures::PER_MINUTE {
            assert!(!failures.is_exhausted(one, NOW));
            failures.add(one, NOW);
        }
        assert!(failures.is_exhausted(one, NOW));
        assert!(!failures.is_exhausted(other, NOW));
        let next_minute = NOW + Duration::from_secs(60);
        assert!(failures.is_exhausted(one, NOW + Duration::from_secs(59)));
        assert!(!failures.is_exhausted(one, next_minute));
    }

    #[test]
    fn the_number_of_counted_sessions_is_bounded() {
        let failures = SignatureFailures::default();
        for _ in 0..SignatureFailures::MAX_SESSIONS + 10 {
            failures.add(SessionId::random(), NOW);
        }
        assert_eq!(failures.current(NOW).by_session.len(), SignatureFailures::MAX_SESSIONS);
    }
}
