//! Bodies of answers: always JSON, and never kept by a cache when they carry a token, a decision or what is private.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
pub(super) const AUTHORIZATION: HeaderValue = HeaderValue::from_static("Authorization");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body.into()).into_response()
}

/// An answer that no cache may keep.
pub(super) struct Private<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Private<T> {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.1).expect("an answer of texts is valid JSON");
        let mut response = json(self.0, body);
        response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
        response
    }
}

/// An answer that has nothing to tell but success.
pub(super) struct Done;

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        (StatusCode::NO_CONTENT, [(header::CACHE_CONTROL, NO_STORE)]).into_response()
    }
}
