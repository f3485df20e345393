//! Reads times as other systems write them.

use chrono::NaiveDate;
use serde_json::Value;

use crate::clock::Timestamp;

/// A time, and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) at: Timestamp,
    /// Whether it was a number that is plausible as seconds only.
    pub(super) is_in_seconds: bool,
}

/// A time in seconds or milliseconds since 1970, or as a date and a time with or without an offset. Without one it is UTC.
pub(super) fn parse(value: &Value) -> Option<Time> {
    let text = match value {
        Value::Number(number) => return since_1970(number.as_f64()?),
        Value::String(text) => text.trim(),
        // As MongoDB exports it, and with it Auth0.
        Value::Object(date) => return parse(date.get("$date")?),
        _ => return None,
    };
    if text.len() > 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return since_1970(text.parse().ok()?);
    }
    Some(Time { at: date_and_time(text)?, is_in_seconds: false })
}

/// The unit of a number is what makes it a time at which systems had users: 1973 to 5138. Other numbers are refused, such as
/// microseconds.
fn since_1970(number: f64) -> Option<Time> {
    const SECONDS: std::ops::Range<f64> = 1e8..1e11;
    const MILLISECONDS: std::ops::Range<f64> = 1e11..1e14;
    let is_in_seconds = SECONDS.contains(&number);
    let millis = if is_in_seconds { number * 1000.0 } else { number };
    // Zero is the same time in both units.
    let is_plausible = number == 0.0 || MILLISECONDS.contains(&millis);
    #[expect(clippy::cast_possible_truncation, reason = "below 10^14")]
    is_plausible.then(|| Time { at: Timestamp::from_millis(millis.round() as i64), is_in_seconds })
}

fn date_and_time(text: &str) -> Option<Timestamp> {
    if !text.is_ascii() {
        return None;
    }
    let (date, time) = text.split_at_checked(10)?;
    let mut date = date.split('-');
    let mut next = || date.next()?.parse::<u32>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let date = NaiveDate::from_ymd_opt(year.try_into().ok()?, month, day)?;
    let time = match time.strip_prefix(['T', ' ']) {
        Some(time) => time,
        None if time.is_empty() => "00:00:00",
        None => return None,
    };
    let (time, offset) = split_offset(time)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.split(':');
    let mut next = || parts.next().unwrap_or("0").parse::<u32>().ok();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let millis = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let time = date.and_hms_milli_opt(hour, minute, second, millis)?;
    Some(Timestamp::from_millis(time.and_utc().timestamp_millis() - offset * 60_000))
}

/// Separates the offset from UTC in minutes: `Z`, `+00`, `+0000` or `+00:00`.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let text = text.trim_end_matches(" UTC");
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time.trim_end(), 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (time, offset) = text.split_at(at);
    let digits: String = offset[1..].chars().filter(|c| *c != ':').collect();
    let minutes = match digits.len() {
        2 => digits.parse::<i64>().ok()? * 60,
        4 => digits[..2].parse::<i64>().ok()? * 60 + digits[2..].parse::<i64>().ok()?,
        _ => return None,
    };
    Some((time.trim_end(), if offset.starts_with('-') { -minutes } else { minutes }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_of_other_systems_are_read() {
        let expected = "2024-05-06T07:08:09.123Z";
        for text in [
            json!("2024-05-06T07:08:09.123Z"),
            json!("2024-05-06T07:08:09.123456Z"),
            json!("2024-05-06 07:08:09.123456+00"),
            json!("2024-05-06 07:08:09.123Z"),
            json!("2024-05-06 07:08:09.123"),
            json!("2024-05-06 09:08:09.123 +02:00"),
            json!("2024-05-06T05:08:09.123-0200"),
            json!("2024-05-06 07:08:09.1230000 +00:00"),
            json!(1_714_979_289_123_i64),
            json!("1714979289123"),
            json!({"$date": "2024-05-06T07:08:09.123Z"}),
        ] {
            let time = parse(&text).unwrap();
            assert_eq!(
                (time.at.to_string().as_str(), time.is_in_seconds),
                (expected, false),
                "{text}"
            );
        }
        assert_eq!(parse(&json!("2024-05-06")).unwrap().at.to_string(), "2024-05-06T00:00:00.000Z");
        for bad in [
            json!("yesterday"),
            json!(""),
            json!("2024-13-01"),
            json!("2024-01-01x"),
            json!(true),
            json!("2024-05-06 25:00:00"),
            json!("ü024-05-06"),
            json!({"date": "2024-05-06"}),
        ] {
            assert_eq!(parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn seconds_are_not_taken_for_milliseconds() {
        let read = |value| parse(&value).map(|time| (time.at.to_string(), time.is_in_seconds));
        let at = |text: &str, is_in_seconds| Some((text.to_owned(), is_in_seconds));
        for seconds in [json!(1_714_979_289), json!("1714979289"), json!(1_714_979_289.0)] {
            assert_eq!(read(seconds.clone()), at("2024-05-06T07:08:09.000Z", true), "{seconds}");
        }
        assert_eq!(read(json!(1_714_979_289.123)), at("2024-05-06T07:08:09.123Z", true));
        assert_eq!(read(json!(0)), at("1970-01-01T00:00:00.000Z", false), "the same in both");
        // Microseconds, nanoseconds, a day count, and a time before 1970.
        for implausible in [1_714_979_289_123_456_i64, 1_714_979_289_123_456_789, 19_849, -1] {
            assert_eq!(read(json!(implausible)), None, "{implausible}");
        }
    }
}
