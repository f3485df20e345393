//! The answer of a guard that admits a request: its headers and its body.

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};

use super::identity::{self, Identity, NOTHING, value};
use crate::{
    Doorward,
    access::{
        caller::Caller,
        guard::{Guard, RequestFacts},
    },
    http::{
        answer::{JSON, NO_STORE, NOSNIFF, REQUEST_ID},
        browser::cookies::app_cookies,
    },
};

/// The answer of the guard with this name.
///
/// The headers that every admission has are copied, and the others replace empty values in the copy. hyper writes
/// `Content-Length`. `Vary` means nothing beside `no-store`.
pub(super) fn admission(
    doorward: &Doorward,
    guard: &str,
    body: Bytes,
    identity: Identity<'_>,
) -> Response {
    static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static(""));
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        identity::write_empty(&mut headers);
        headers
    });
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    *headers = HEADERS.clone();
    headers.insert(identity::POLICY, value(guard));
    identity.write(headers, &doorward.settings().identity_headers);
    response
}

/// Adds the headers that the guard declares. Without a caller, and where an expression fails, they are empty.
pub(super) fn add_app_headers(
    headers: &mut HeaderMap,
    guard: &Guard,
    caller: Option<&Caller>,
    facts: &RequestFacts<'_>,
) {
    let values = caller.map(|caller| {
        let Caller { user, session, memo, .. } = caller;
        guard.header_values(user, session, memo, facts)
    });
    for (at, name) in guard.headers.names().enumerate() {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("checked when it was declared");
        let value = values.as_ref().map(|values| HeaderValue::from_bytes(values[at].as_bytes()));
        headers.insert(name, value.and_then(Result::ok).unwrap_or(NOTHING));
    }
}

/// Adds the app's cookies to an admission. Traefik cannot remove single cookies from a request, so it replaces them by those
/// of the answer.
pub(super) fn add_app_cookies(response: &mut Response, sent: &HeaderMap) {
    if response.status() == StatusCode::OK
        && let Some(cookies) = app_cookies(sent)
    {
        response.headers_mut().insert(header::COOKIE, cookies);
    }
}
