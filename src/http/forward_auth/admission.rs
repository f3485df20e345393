//! The answer of a guard that admits a request: its headers and its body.

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use super::identity::{self, Identity, value};
use crate::{
    Doorward,
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

/// Adds the app's cookies to an admission. Traefik cannot remove single cookies from a request, so it replaces them by those
/// of the answer.
pub(super) fn add_app_cookies(response: &mut Response, sent: &HeaderMap) {
    if response.status() == StatusCode::OK
        && let Some(cookies) = app_cookies(sent)
    {
        response.headers_mut().insert(header::COOKIE, cookies);
    }
}
