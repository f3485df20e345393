//! `GET /openapi.json`: this floor as other programs read it. `docs/openapi.json` is the document, and a test holds the
//! routes to it.

use std::time::Duration;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

use super::body::{JSON, public};

pub(super) async fn document() -> Response {
    const DOCUMENT: &str = include_str!("../../docs/openapi.json");
    const MAX_AGE: Duration = Duration::from_secs(60 * 60);
    let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, public(MAX_AGE))];
    (headers, DOCUMENT).into_response()
}
