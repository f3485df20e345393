//! Time as an argument: `Timestamp` is what the domain compares and the store keeps, `Clock` is where
//! the doors (handlers, commands) take it from.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

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
}

/// RFC 3339 in UTC with milliseconds, such as `2027-01-15T08:00:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let (year, month, day) = date_of(self.0.div_euclid(DAY));
        let time = self.0.rem_euclid(DAY);
        let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
        let (second, millis) = (time / 1000 % 60, time % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Year, month and day of a day since the beginning of 1970.
fn date_of(day: i64) -> (i64, i64, i64) {
    // Years are counted from March, so that the leap day is the last one, in eras of 400 years from the year 0.
    const DAYS_TO_1970: i64 = 719_468;
    const ERA: i64 = 146_097;
    let day = day + DAYS_TO_1970;
    let (era, day_of_era) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_month)
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(later.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// Tells the time. The system's by default; a test may bring its own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock of the system.
    pub fn system() -> Self {
        Self(Arc::new(system_now))
    }

    /// A clock that shows whatever `now` returns.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What the clock shows.
    pub fn now(&self) -> Timestamp {
        (self.0)()
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
    fn a_moment_is_shown_in_rfc_3339_with_milliseconds() {
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
            assert_eq!(Timestamp::from_millis(millis).to_string(), shown);
        }
    }

    #[test]
    fn every_day_of_800_years_follows_the_one_before() {
        let days_of = |year: i64, month: i64| match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let mut expected = (1970, 1, 1);
        for day in 0..800 * 366 {
            assert_eq!(date_of(day), expected);
            expected = match expected {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, last) if last == days_of(year, month) => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
        }
    }
}
