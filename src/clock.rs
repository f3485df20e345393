//! Timestamps, and a clock that tests can replace. Most code takes the time as an argument.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::json_schema::text_schema;

/// Milliseconds since the beginning of 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment this many milliseconds after the beginning of 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// The moment this many whole seconds after the beginning of 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the beginning of 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the beginning of 1970.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The moment that a text names: RFC 3339, or the beginning of a day in UTC, such as `2027-01-15`.
    pub fn parse(text: &str) -> Option<Self> {
        let day = || DateTime::parse_from_rfc3339(&format!("{text}T00:00:00Z")).ok();
        let time = DateTime::parse_from_rfc3339(text).ok().or_else(day)?;
        Some(Self(time.timestamp_millis()))
    }

    /// The time for people, such as `2027-01-15 08:00 UTC`.
    pub fn to_text(self) -> String {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH);
        time.format("%Y-%m-%d %H:%M UTC").to_string()
    }

    /// The time for operators, such as `2027-01-15 08:00:00.000 UTC`.
    pub fn to_exact_text(self) -> String {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH);
        time.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string()
    }

    /// The day in UTC, such as `2027-01-15`.
    pub fn to_day(self) -> String {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH);
        time.format("%Y-%m-%d").to_string()
    }

    /// RFC 3339 without seconds, for the `datetime` of a `<time>`, such as `2027-01-15T08:00Z`.
    pub fn to_minute(self) -> String {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH);
        time.format("%Y-%m-%dT%H:%MZ").to_string()
    }

    /// The time from `earlier` to this; zero if that is later.
    pub(crate) fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

/// RFC 3339 in UTC with milliseconds, such as `2027-01-15T08:00:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH);
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

/// As [`Display`](fmt::Display) writes it.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_schema!(Timestamp { "format": "date-time" });

/// As [`Timestamp::parse`] reads it.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format_args!("not a time: {text}")))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(later.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(earlier.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// A source of the current time: the system, or a test.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    instant: Arc<dyn Fn() -> Instant + Send + Sync>,
}

impl Clock {
    pub fn system() -> Self {
        Self::new(system_now)
    }

    /// A clock that returns what `now` returns. Its instants are those of the system.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), instant: Arc::new(Instant::now) }
    }

    /// Replaces the instants of the clock.
    #[must_use]
    pub fn with_instants(self, instant: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self { instant: Arc::new(instant), ..self }
    }

    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// The current instant, for budgets that recover with time.
    pub fn instant(&self) -> Instant {
        (self.instant)()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
fn system_now() -> Timestamp {
    // A clock set before 1970 counts as 1970: everything has expired, nothing panics.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_for_people_has_minutes() {
        let time = Timestamp::from_millis(1_800_000_059_999);
        assert_eq!(time.to_text(), "2027-01-15 08:00 UTC");
        assert_eq!(time.to_minute(), "2027-01-15T08:00Z");
        assert_eq!(time.to_exact_text(), "2027-01-15 08:00:59.999 UTC");
    }

    #[test]
    fn a_timestamp_is_shown_and_serialized_in_rfc_3339_with_milliseconds() {
        for (millis, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_800_000_000_123, "2027-01-15T08:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string(), shown);
            assert_eq!(serde_json::to_value(time).unwrap(), shown);
            assert_eq!(serde_json::from_value::<Timestamp>(shown.into()).unwrap(), time);
        }
    }
}
