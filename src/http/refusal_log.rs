//! How many refusals are logged one by one. A flood of them is counted instead, so that it neither fills the log nor
//! costs more than it has to.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Why a request was refused, as far as the log tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) status: u16,
    /// The error code of `WWW-Authenticate`.
    pub(super) challenge: &'static str,
}

/// Counts refusals, second by second.
pub(super) struct RefusalLog {
    second: Mutex<Second>,
}

struct Second {
    began: Option<Instant>,
    told: u32,
    left_out: Vec<(Reason, u64)>,
}

/// What to do about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It gets a line of its own.
    Tell,
    /// It is counted. The first one in a second has to see to it that the counts are told at its end.
    Count { is_first: bool },
}

impl RefusalLog {
    /// Lines in a second.
    const MOST: u32 = 100;
    pub(super) const SECOND: Duration = Duration::from_secs(1);

    pub(super) const fn new() -> Self {
        let second = Second { began: None, told: 0, left_out: Vec::new() };
        Self { second: Mutex::new(second) }
    }

    pub(super) fn note(&self, reason: Reason, now: Instant) -> Verdict {
        let mut second = self.second();
        let is_over = |began| now.saturating_duration_since(began) >= Self::SECOND;
        if second.began.is_none_or(is_over) {
            (second.began, second.told) = (Some(now), 0);
        }
        if second.told < Self::MOST {
            second.told += 1;
            return Verdict::Tell;
        }
        let is_first = second.left_out.is_empty();
        match second.left_out.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => second.left_out.push((reason, 1)),
        }
        Verdict::Count { is_first }
    }

    /// What was left out so far; it is forgotten here.
    pub(super) fn take_left_out(&self) -> Vec<(Reason, u64)> {
        std::mem::take(&mut self.second().left_out)
    }

    fn second(&self) -> MutexGuard<'_, Second> {
        self.second.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGED: Reason = Reason { status: 401, challenge: "invalid_token" };
    const UNKNOWN: Reason = Reason { status: 404, challenge: "" };

    #[test]
    fn a_hundred_refusals_a_second_are_told_and_the_others_are_counted() {
        let (log, now) = (RefusalLog::new(), Instant::now());
        for number in 0..100 {
            assert_eq!(log.note(FORGED, now + Duration::from_millis(number)), Verdict::Tell);
        }
        let later = now + Duration::from_millis(999);
        assert_eq!(log.note(FORGED, later), Verdict::Count { is_first: true });
        assert_eq!(log.note(UNKNOWN, later), Verdict::Count { is_first: false });
        assert_eq!(log.note(FORGED, later), Verdict::Count { is_first: false });
        assert_eq!(log.take_left_out(), [(FORGED, 2), (UNKNOWN, 1)]);
        assert_eq!(log.note(UNKNOWN, later), Verdict::Count { is_first: true });
        assert_eq!(log.note(FORGED, now + RefusalLog::SECOND), Verdict::Tell);
        assert_eq!(log.take_left_out(), [(UNKNOWN, 1)]);
    }
}
