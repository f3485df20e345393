//! JSON answers. Answers with a token, a decision or private data are never cached.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The header that carries the id of a request.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
pub(super) const AUTHORIZATION: HeaderValue = HeaderValue::from_static("Authorization");
/// Keeps browsers from guessing another content type.
pub(super) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Keeps pages of other origins from loading an answer as an image or a script. `fetch` with CORS does not depend on it.
pub(super) const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");
pub(super) const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// How long caches may keep the API description.
pub(super) const DOCUMENT_MAX_AGE: Duration = Duration::from_secs(60 * 60);

pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    /// Enough for the headers of nearly every answer: growing the map costs more than filling it. With twelve, it would be too
    /// large for the allocator's cache of small blocks.
    const HEADERS: usize = 6;
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
}

/// A JSON answer that no cache may store.
pub(super) struct NoStore<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for NoStore<T> {
    fn into_response(self) -> Response {
        serialized(self.0, NO_STORE, &self.1)
    }
}

/// A public JSON answer that caches may store for this long.
pub(super) struct Cacheable<T>(pub(super) Duration, pub(super) T);

impl<T: Serialize> IntoResponse for Cacheable<T> {
    fn into_response(self) -> Response {
        serialized(StatusCode::OK, public(self.0), &self.1)
    }
}

/// The value of `Cache-Control` for a public answer.
pub(super) fn public(max_age: Duration) -> HeaderValue {
    let text = format!("public, max-age={}", max_age.as_secs());
    HeaderValue::try_from(text).expect("a number is valid in a header")
}

fn serialized(status: StatusCode, cache: HeaderValue, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("an answer serialises to JSON");
    let mut response = json(status, body);
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// A success without a body.
pub(super) struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        (StatusCode::NO_CONTENT, [(header::CACHE_CONTROL, NO_STORE)]).into_response()
    }
}

/// A request for mail was accepted. The answer does not depend on whether mail is sent.
pub(super) struct Accepted;

impl IntoResponse for Accepted {
    fn into_response(self) -> Response {
        const BODY: &str =
            r#"{"message":"If the address can receive this mail, it is on its way."}"#;
        let mut response = json(StatusCode::ACCEPTED, BODY);
        response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
        response
    }
}
