//! Limits the log lines for refusals. Refusals above the limit are only counted, which bounds the size of the log and the
//! cost of a flood.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Why a request was refused, as far as the log distinguishes reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) status: u16,
    /// The error code of `WWW-Authenticate`.
    pub(super) challenge: &'static str,
}

/// Counts refusals per interval.
pub(super) struct RefusalLog {
    interval: Mutex<Interval>,
}

struct Interval {
    began: Option<Instant>,
    lines: u32,
    counts: Vec<(Reason, u64)>,
}

/// How a refusal is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logging {
    OwnLine,
    /// It is counted. The caller that records the first one must log the counts at the end of the interval.
    Counted {
        is_first: bool,
    },
}

impl RefusalLog {
    const MAX_LINES: u32 = 100;
    pub(super) const INTERVAL: Duration = Duration::from_secs(1);

    pub(super) const fn new() -> Self {
        let interval = Interval { began: None, lines: 0, counts: Vec::new() };
        Self { interval: Mutex::new(interval) }
    }

    /// Records a refusal and returns how to log it.
    pub(super) fn record(&self, reason: Reason, now: Instant) -> Logging {
        let mut interval = self.interval();
        let is_over = |began| now.saturating_duration_since(began) >= Self::INTERVAL;
        if interval.began.is_none_or(is_over) {
            (interval.began, interval.lines) = (Some(now), 0);
        }
        if interval.lines < Self::MAX_LINES {
            interval.lines += 1;
            return Logging::OwnLine;
        }
        let is_first = interval.counts.is_empty();
        match interval.counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => interval.counts.push((reason, 1)),
        }
        Logging::Counted { is_first }
    }

    /// Removes and returns the counts.
    pub(super) fn take_counts(&self) -> Vec<(Reason, u64)> {
        std::mem::take(&mut self.interval().counts)
    }

    fn interval(&self) -> MutexGuard<'_, Interval> {
        self.interval.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGED: Reason = Reason { status: 401, challenge: "invalid_token" };
    const UNKNOWN: Reason = Reason { status: 404, challenge: "" };

    #[test]
    fn a_hundred_refusals_per_second_get_a_line_and_the_others_are_counted() {
        let (log, now) = (RefusalLog::new(), Instant::now());
        for number in 0..100 {
            assert_eq!(log.record(FORGED, now + Duration::from_millis(number)), Logging::OwnLine);
        }
        let later = now + Duration::from_millis(999);
        assert_eq!(log.record(FORGED, later), Logging::Counted { is_first: true });
        assert_eq!(log.record(UNKNOWN, later), Logging::Counted { is_first: false });
        assert_eq!(log.record(FORGED, later), Logging::Counted { is_first: false });
        assert_eq!(log.take_counts(), [(FORGED, 2), (UNKNOWN, 1)]);
        assert_eq!(log.record(UNKNOWN, later), Logging::Counted { is_first: true });
        assert_eq!(log.record(FORGED, now + RefusalLog::INTERVAL), Logging::OwnLine);
        assert_eq!(log.take_counts(), [(UNKNOWN, 1)]);
    }
}
