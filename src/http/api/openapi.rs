//! `GET /openapi.json`: the API description in `docs/openapi.json`. A test compares the routes with it.

use std::time::Duration;

use axum::{
    body::Bytes,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    Doorward,
    http::answer::{JSON, public},
};

/// The document with the real URL of the service.
pub(crate) fn document(doorward: &Doorward) -> Bytes {
    const DOCUMENT: &str = include_str!("../../../docs/openapi.json");
    const DEFAULT_URL: &str = "\"http://127.0.0.1:3000\"";
    let url = serde_json::Value::from(doorward.public_base()).to_string();
    DOCUMENT.replacen(DEFAULT_URL, &url, 1).into()
}

pub(crate) fn answer(document: Bytes) -> Response {
    const MAX_AGE: Duration = Duration::from_secs(60 * 60);
    let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, public(MAX_AGE))];
    (headers, document).into_response()
}
