//! Reads times as other systems write them.

use chrono::NaiveDate;
use serde_json::Value;

use crate::clock::Timestamp;

/// A time in milliseconds since 1970, or as a date and a time with or without an offset. Without one it is UTC.
pub(super) fn parse(value: &Value) -> Option<Timestamp> {
    let text = match value {
        Value::Number(number) => return number.as_i64().map(Timestamp::from_millis),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    if !text.is_ascii() {
        return None;
    }
    if text.len() > 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Timestamp::from_millis);
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
        ] {
            assert_eq!(parse(&text).map(|time| time.to_string()), Some(expected.into()), "{text}");
        }
        assert_eq!(parse(&json!("2024-05-06")).unwrap().to_string(), "2024-05-06T00:00:00.000Z");
        for bad in [
            json!("yesterday"),
            json!(""),
            json!("2024-13-01"),
            json!("2024-01-01x"),
            json!(true),
            json!("2024-05-06 25:00:00"),
            json!("ü024-05-06"),
        ] {
            assert_eq!(parse(&bad), None, "{bad}");
        }
    }
}
