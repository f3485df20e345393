//! Requests to providers. All of them are sent here: none follows a redirect, and all are limited in time and size.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Login, ProviderError, error::printable};
use crate::outbound::http::{Call, HttpResponse, Method, Plain, Reach, host_of, send as send_call};

/// The time for a whole exchange.
const LIMIT: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 10 });
/// The most bytes of most answers.
pub(super) const MAX_BODY: usize = 64 << 10;

pub(super) async fn get(
    login: &Login,
    url: &str,
    headers: &[(&str, &str)],
    max_body: usize,
) -> Result<HttpResponse, ProviderError> {
    send(login, Method::GET, url, headers, Bytes::new(), max_body).await
}

/// Gets a JSON document. Any other answer is what `unusable` says.
pub(super) async fn get_json(
    login: &Login,
    url: &str,
    headers: &[(&str, &str)],
    max_body: usize,
    unusable: fn(String) -> ProviderError,
) -> Result<(Value, HttpResponse), ProviderError> {
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
) -> Result<HttpResponse, ProviderError> {
    send(login, Method::POST, url, headers, form.into(), MAX_BODY).await
}

async fn send(
    login: &Login,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
    max_body: usize,
) -> Result<HttpResponse, ProviderError> {
    // Somebody who controls a provider must not have us call servers that only we can reach.
    let reach = match host_of(url) {
        host if host.is_some() && host == host_of(&login.issuer) => Reach::Named,
        _ => Reach::Public { allowed: &login.allow_networks },
    };
    let plain = Plain::Loopback;
    let ca_file = login.ca_file.as_deref();
    let call = Call { method, url, headers, body, limit: LIMIT, max_body, reach, plain, ca_file };
    send_call(call).await.map_err(|error| ProviderError::Unreachable {
        url: printable(url),
        cause: printable(&error.to_string()),
    })
}
