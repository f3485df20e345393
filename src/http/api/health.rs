//! `GET /livez`, `GET /readyz`: liveness and readiness, for load balancers.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{Doorward, http::answer::NoStore};

/// Succeeds while the process can answer. Otherwise, restart it.
pub(crate) async fn live() -> NoStore<&'static str> {
    NoStore(StatusCode::OK, "alive")
}

/// Succeeds while the database can be read and written. Otherwise, send requests elsewhere.
pub(crate) async fn ready(State(doorward): State<Doorward>) -> Response {
    match doorward.store().check().await {
        Ok(()) => NoStore(StatusCode::OK, "ready").into_response(),
        Err(reason) => {
            let body = NotReady { message: reason.to_string() };
            let answer = NoStore(StatusCode::SERVICE_UNAVAILABLE, body);
            ([(header::RETRY_AFTER, HeaderValue::from_static("1"))], answer).into_response()
        }
    }
}

#[derive(Serialize)]
struct NotReady {
    message: String,
}
