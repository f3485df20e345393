//! Requests to providers. All of them are sent here: none follows a redirect, and all are limited in time and size.

use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use serde_json::Value;

use super::{Login, ProviderError, error::printable};
use crate::{
    clock::Timestamp,
    outbound::http::{Call, Method, Plain, Reach, send as send_call},
};

/// The time for a whole exchange.
const LIMIT: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 10 });
/// The most bytes of most answers.
pub(super) const MAX_BODY: usize = 64 << 10;

/// What a provider has answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
    /// The time there.
    pub(super) date: Option<Timestamp>,
}

impl Answer {
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

pub(super) async fn get(
    login: &Login,
    url: &str,
    headers: &[(&str, &str)],
    max_body: usize,
) -> Result<Answer, ProviderError> {
    send(login, Method::GET, url, headers, Bytes::new(), max_body).await
}

/// Gets a JSON document. Any other answer is what `unusable` says.
pub(super) async fn get_json(
    login: &Login,
    url: &str,
    headers: &[(&str, &str)],
    max_body: usize,
    unusable: fn(String) -> ProviderError,
) -> Result<(Value, Answer), ProviderError> {
    let answer = get(login, url, headers, max_body).await?;
    match (answer.status, answer.json()) {
        (200, Some(document)) => Ok((document, answer)),
        (200, None) => Err(unusable(format!("{}: it is not JSON", printable(url)))),
        (500.., _) => Err(failed(url, answer.status)),
        (status, _) => Err(unusable(format!("{}: status {status}", printable(url)))),
    }
}

/// The error for a provider that does not work.
pub(super) fn failed(url: &str, status: u16) -> ProviderError {
    ProviderError::Unreachable { url: printable(url), cause: format!("status {status}") }
}

/// Posts a form, once.
pub(super) async fn post(
    login: &Login,
    url: &str,
    headers: &[(&str, &str)],
    form: String,
) -> Result<Answer, ProviderError> {
    send(login, Method::POST, url, headers, form.into(), MAX_BODY).await
}

async fn send(
    login: &Login,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
    max_body: usize,
) -> Result<Answer, ProviderError> {
    // Somebody who controls a provider must not have us call servers that only we can reach.
    let reach = match host_of(url) {
        host if host.is_some() && host == host_of(&login.issuer) => Reach::Named,
        _ => Reach::Public { allowed: &login.allow_networks },
    };
    let plain = Plain::Loopback;
    let ca_file = login.ca_file.as_deref();
    let call = Call { method, url, headers, body, limit: LIMIT, max_body, reach, plain, ca_file };
    let answer = send_call(call).await.map_err(|error| ProviderError::Unreachable {
        url: printable(url),
        cause: printable(&error.to_string()),
    })?;
    let date = answer.header("date").and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    let date = date.map(|date| Timestamp::from_millis(date.timestamp_millis()));
    Ok(Answer { status: answer.status, date, body: answer.body })
}

/// The host of a URL in lower case, without its port.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // `user@host` is no host that the settings name.
    let end = match authority.strip_prefix('[') {
        Some(v6) => v6.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let host = authority.get(..end)?;
    (!authority.contains(['@', '\\'])).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_what_is_connected_to() {
        for (url, host) in [
            ("https://A.example/x", Some("a.example")),
            ("https://a.example:8443", Some("a.example")),
            ("http://[::1]:80/", Some("[::1]")),
            ("https://a.example?x", Some("a.example")),
            ("https://a.example@evil.example/", None),
            ("https://a.example\\evil.example/", None),
            ("https://[::1", None),
            ("nonsense", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }
}
