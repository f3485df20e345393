//! Times and waits in rounded units, and in words.

use std::time::Duration;

use super::Texts;
use crate::clock::Timestamp;

/// A length of time in its largest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Seconds(u64),
    Minutes(u64),
    Hours(u64),
    Days(u64),
    Months(u64),
    Years(u64),
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Span {
    /// The time since `then`, rounded down. A future time counts as now.
    pub fn between(then: Timestamp, now: Timestamp) -> Self {
        let seconds = now.seconds().saturating_sub(then.seconds());
        match u64::try_from(seconds).unwrap_or_default() {
            seconds @ ..MINUTE => Self::Seconds(seconds),
            seconds @ ..HOUR => Self::Minutes(seconds / MINUTE),
            seconds @ ..DAY => Self::Hours(seconds / HOUR),
            seconds => match seconds / DAY {
                days @ ..60 => Self::Days(days),
                days @ ..730 => Self::Months(days / 30),
                days => Self::Years(days / 365),
            },
        }
    }

    /// The time to wait, rounded up, so that nobody comes back too early.
    pub fn to_wait(wait: Duration) -> Self {
        match wait.as_millis().div_ceil(1000).max(1) as u64 {
            seconds @ ..MINUTE => Self::Seconds(seconds),
            seconds @ ..HOUR => Self::Minutes(seconds.div_ceil(MINUTE)),
            seconds @ ..DAY => Self::Hours(seconds.div_ceil(HOUR)),
            seconds => Self::Days(seconds.div_ceil(DAY)),
        }
    }
}

impl Texts {
    /// A length of time. German words are in the dative, after "vor" and "in".
    pub(super) fn span(&self, span: Span) -> String {
        let (count, words) = match span {
            Span::Seconds(count) => (count, [("second", "seconds"), ("Sekunde", "Sekunden")]),
            Span::Minutes(count) => (count, [("minute", "minutes"), ("Minute", "Minuten")]),
            Span::Hours(count) => (count, [("hour", "hours"), ("Stunde", "Stunden")]),
            Span::Days(count) => (count, [("day", "days"), ("Tag", "Tagen")]),
            Span::Months(count) => (count, [("month", "months"), ("Monat", "Monaten")]),
            Span::Years(count) => (count, [("year", "years"), ("Jahr", "Jahren")]),
        };
        let (one, several) = self.language.choose(words);
        format!("{count} {}", if count == 1 { one } else { several })
    }

    pub fn ago(&self, span: Span) -> String {
        match span {
            Span::Seconds(_) => self.language.choose(["just now", "gerade eben"]).into(),
            Span::Days(1) => self.language.choose(["yesterday", "gestern"]).into(),
            span => self.span_ago(&self.span(span)),
        }
    }

    /// Less than a day.
    pub fn still_valid(&self, span: Span) -> String {
        self.valid_for(&self.span(span))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{FormError, Texts},
        *,
    };
    use crate::language::Language;

    #[test]
    fn times_are_in_words() {
        let now = Timestamp::from_seconds(1_800_000_000);
        for (seconds, english, german) in [
            (-50, "just now", "gerade eben"),
            (59, "just now", "gerade eben"),
            (60, "1 minute ago", "vor 1 Minute"),
            (3599, "59 minutes ago", "vor 59 Minuten"),
            (3600, "1 hour ago", "vor 1 Stunde"),
            (2 * 3600 + 1, "2 hours ago", "vor 2 Stunden"),
            (86_400, "yesterday", "gestern"),
            (3 * 86_400, "3 days ago", "vor 3 Tagen"),
            (60 * 86_400, "2 months ago", "vor 2 Monaten"),
            (729 * 86_400, "24 months ago", "vor 24 Monaten"),
            (730 * 86_400, "2 years ago", "vor 2 Jahren"),
        ] {
            let then = Timestamp::from_seconds(now.seconds() - seconds);
            let span = Span::between(then, now);
            assert_eq!(Texts::of(Language::English).ago(span), english);
            assert_eq!(Texts::of(Language::German).ago(span), german);
        }
    }

    #[test]
    fn a_wait_is_rounded_up() {
        for (millis, english, german) in [
            (0, "1 second", "1 Sekunde"),
            (1001, "2 seconds", "2 Sekunden"),
            (59_001, "1 minute", "1 Minute"),
            (121_000, "3 minutes", "3 Minuten"),
            (3_600_000, "1 hour", "1 Stunde"),
            (90_000_000, "2 days", "2 Tagen"),
        ] {
            let wait = Duration::from_millis(millis);
            let said = |language| Texts::of(language).form_error(FormError::Throttled(wait));
            assert!(said(Language::English).contains(&format!(" in {english}")), "{english}");
            assert!(said(Language::German).contains(&format!(" in {german}")), "{german}");
        }
    }
}
