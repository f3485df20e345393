//! The W3C header `traceparent`, so that the log line of a request can be found by its trace.

use axum::http::{HeaderMap, HeaderName};

// Text as a name would be parsed at each look-up.
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The trace that a request belongs to, and the span that has caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceContext {
    /// 16 bytes in lower-case hexadecimal digits.
    trace_id: [u8; 32],
    /// 8 bytes in lower-case hexadecimal digits.
    parent_id: [u8; 16],
}

impl TraceContext {
    /// The context of a request. `None` without exactly one valid header of version 00: nothing else of what a client sends
    /// reaches the log.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(&TRACEPARENT).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Self::parse(value.as_bytes()),
            _ => None,
        }
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let rest = value.strip_prefix(b"00-")?;
        let (trace_id, rest) = rest.split_first_chunk::<32>()?;
        let (parent_id, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<16>()?;
        let flags = rest.strip_prefix(b"-")?;
        let is_hex = |digits: &[u8]| digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let is_id = |digits: &[u8]| is_hex(digits) && digits.iter().any(|b| *b != b'0');
        let valid = is_id(trace_id) && is_id(parent_id) && flags.len() == 2 && is_hex(flags);
        valid.then_some(Self { trace_id: *trace_id, parent_id: *parent_id })
    }

    pub(super) fn trace_id(&self) -> &str {
        str::from_utf8(&self.trace_id).unwrap_or_default()
    }

    pub(super) fn parent_id(&self) -> &str {
        str::from_utf8(&self.parent_id).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(values: &[&str]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", HeaderValue::from_str(value).unwrap());
        }
        TraceContext::of(&headers)
    }

    #[test]
    fn a_valid_header_names_its_trace_and_span() {
        let context = of(&[VALID]).unwrap();
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent_id(), "00f067aa0ba902b7");
    }

    #[test]
    fn every_other_header_is_ignored() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[VALID, VALID]), None);
        for value in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47360-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
            "00-<script>77b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(of(&[value]), None, "{value}");
        }
    }
}
