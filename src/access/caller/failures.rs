//! Wrong signatures under claims that are ours. Only somebody who has seen a token can send them, and each costs a
//! signature check, so that a session gets a few in a minute.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{clock::Timestamp, session::SessionId};

/// Counts wrong signatures for each session within the current minute.
#[derive(Default)]
pub(super) struct Failures {
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    minute: i64,
    by_session: HashMap<SessionId, u32>,
}

impl Failures {
    /// Wrong signatures that are checked for one session in one minute.
    pub(super) const PER_MINUTE: u32 = 10;
    /// Sessions that are counted, about 3 MB. Whoever has so many can make each of them cost one check more.
    const MAX_SESSIONS: usize = 65_536;

    /// Whether the signature of another token of this session is not worth a check.
    pub(super) fn are_too_many(&self, session: SessionId, now: Timestamp) -> bool {
        let counted = self.within(now);
        counted.by_session.get(&session).is_some_and(|count| *count >= Self::PER_MINUTE)
    }

    /// Counts a wrong signature.
    pub(super) fn add(&self, session: SessionId, now: Timestamp) {
        let mut counted = self.within(now);
        if let Some(count) = counted.by_session.get_mut(&session) {
            *count += 1;
        } else if counted.by_session.len() < Self::MAX_SESSIONS {
            counted.by_session.insert(session, 1);
        }
    }

    /// The counts of this minute; those of another one are forgotten.
    fn within(&self, now: Timestamp) -> MutexGuard<'_, Counted> {
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
    fn a_session_gets_a_few_wrong_signatures_in_a_minute_and_others_do_not_notice() {
        let (failures, one, other) =
            (Failures::default(), SessionId::random(), SessionId::random());
        for _ in 0..Failures::PER_MINUTE {
            assert!(!failures.are_too_many(one, NOW));
            failures.add(one, NOW);
        }
        assert!(failures.are_too_many(one, NOW));
        assert!(!failures.are_too_many(other, NOW));
        let next_minute = NOW + Duration::from_secs(60);
        assert!(failures.are_too_many(one, NOW + Duration::from_secs(59)));
        assert!(!failures.are_too_many(one, next_minute));
    }

    #[test]
    fn the_number_of_counted_sessions_is_bounded() {
        let failures = Failures::default();
        for _ in 0..Failures::MAX_SESSIONS + 10 {
            failures.add(SessionId::random(), NOW);
        }
        assert_eq!(failures.within(NOW).by_session.len(), Failures::MAX_SESSIONS);
    }
}
