//! Limits the log lines that anybody can cause. Lines above the limit are only counted, which bounds the size of the log and
//! the cost of a flood.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

/// Counts lines per interval.
pub(crate) struct LineLimit<R> {
    interval: Mutex<Interval<R>>,
}

struct Interval<R> {
    began: Option<Instant>,
    lines: u32,
    counts: Vec<(R, u64)>,
}

/// How something is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logging {
    OwnLine,
    /// It is counted. Whoever records the first one must log the counts at the end of the interval.
    Counted {
        is_first: bool,
    },
}

impl<R: Copy + PartialEq + Send + 'static> LineLimit<R> {
    const MAX_LINES: u32 = 100;
    const INTERVAL: Duration = Duration::from_secs(1);

    /// No lines so far.
    pub(crate) const fn new() -> Self {
        let interval = Interval { began: None, lines: 0, counts: Vec::new() };
        Self { interval: Mutex::new(interval) }
    }

    /// Whether to write the line. In a flood, lines are only counted by reason, and `report` gets the counts a second later.
    pub(crate) fn admits(
        &'static self,
        reason: R,
        now: Instant,
        report: impl Fn(R, u64) + Send + 'static,
    ) -> bool {
        let logging = self.record(reason, now);
        if logging == (Logging::Counted { is_first: true })
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                tokio::time::sleep(Self::INTERVAL).await;
                self.take_counts().into_iter().for_each(|(reason, count)| report(reason, count));
            });
        }
        logging == Logging::OwnLine
    }

    fn record(&self, reason: R, now: Instant) -> Logging {
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
    fn take_counts(&self) -> Vec<(R, u64)> {
        std::mem::take(&mut self.interval().counts)
    }

    fn interval(&self) -> MutexGuard<'_, Interval<R>> {
        self.interval.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line that anybody can cause any number of times, besides those about refused requests. Each has its own limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FloodLine {
    /// A login failed or was throttled.
    FailedLogin,
    /// A reset code or mailed code was wrong.
    FailedReset,
    /// An OAuth client has sent a wrong secret.
    WrongClientSecret,
    /// A registration was not allowed.
    RegistrationRefused,
    /// Mail was requested for an address.
    MailRequested,
    /// A guard that only reports would have refused a request.
    WouldBeRefused,
}

impl FloodLine {
    const COUNT: usize = 6;

    /// Whether to write the line. Otherwise it is counted, and a line with the count follows within a second.
    pub(crate) fn is_written(self, reason: &'static str) -> bool {
        static LIMITS: [LineLimit<&str>; FloodLine::COUNT] =
            [const { LineLimit::new() }; FloodLine::COUNT];
        let what = self.text();
        LIMITS[self as usize].admits(reason, Instant::now(), move |reason, count| {
            let reason = (!reason.is_empty()).then_some(reason);
            tracing::info!(what, reason, count, "not logged individually");
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::FailedLogin => "failed login",
            Self::FailedReset => "failed reset",
            Self::WrongClientSecret => "wrong client secret",
            Self::RegistrationRefused => "registration refused",
            Self::MailRequested => "mail requested",
            Self::WouldBeRefused => "would have been refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_lines_per_second_are_written_and_the_others_are_counted() {
        const FORGED: &str = "forged";
        const UNKNOWN: &str = "unknown";
        let (log, now) = (LineLimit::new(), Instant::now());
        for number in 0..100 {
            assert_eq!(log.record(FORGED, now + Duration::from_millis(number)), Logging::OwnLine);
        }
        let later = now + Duration::from_millis(999);
        assert_eq!(log.record(FORGED, later), Logging::Counted { is_first: true });
        assert_eq!(log.record(UNKNOWN, later), Logging::Counted { is_first: false });
        assert_eq!(log.record(FORGED, later), Logging::Counted { is_first: false });
        assert_eq!(log.take_counts(), [(FORGED, 2), (UNKNOWN, 1)]);
        assert_eq!(log.record(UNKNOWN, later), Logging::Counted { is_first: true });
        assert_eq!(log.record(FORGED, now + LineLimit::<&str>::INTERVAL), Logging::OwnLine);
        assert_eq!(log.take_counts(), [(UNKNOWN, 1)]);
    }

    #[test]
    fn each_line_has_its_own_limit() {
        while FloodLine::FailedLogin.is_written("") {}
        assert!(FloodLine::FailedReset.is_written(""));
    }
}
