//! `GET /livez`, `GET /readyz`, `GET /readyz/guards`: liveness and readiness, for load balancers.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{Doorward, http::answer::NoStore, store::Connectivity};

/// Succeeds while the process can answer. Otherwise, restart it.
pub(crate) async fn live() -> NoStore<&'static str> {
    NoStore(StatusCode::OK, "alive")
}

/// Succeeds while the database can be read and written. Otherwise, send requests elsewhere.
pub(crate) async fn ready(State(doorward): State<Doorward>) -> Response {
    answer(doorward.store().check().await.map_err(|reason| reason.to_string()))
}

/// Succeeds while guards admit the callers that they know: also while the database is unavailable, for
/// `database.outage_grace`.
pub(crate) async fn guards_ready(State(doorward): State<Doorward>) -> Response {
    match doorward.store().changes().connectivity() {
        Connectivity::Connected | Connectivity::Unreachable => answer(Ok(())),
        Connectivity::Stale => answer(Err(
            "The database has been unavailable for longer than the grace period.".into(),
        )),
        // There is no grace, because no other process writes.
        Connectivity::Embedded => ready(State(doorward)).await,
    }
}

fn answer(readiness: Result<(), String>) -> Response {
    match readiness {
        Ok(()) => NoStore(StatusCode::OK, "ready").into_response(),
        Err(message) => {
            let answer = NoStore(StatusCode::SERVICE_UNAVAILABLE, NotReady { message });
            ([(header::RETRY_AFTER, HeaderValue::from_static("1"))], answer).into_response()
        }
    }
}

#[derive(Serialize)]
struct NotReady {
    message: String,
}
