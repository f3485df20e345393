//! `GET /livez`, `GET /readyz`, `GET /readyz/guards`: liveness and readiness, for load balancers.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::json;

use crate::{
    Doorward,
    http::{
        answer::NoStore,
        description::{Answer, Content, JSON, Schemas, Success},
    },
    store::Connectivity,
};

/// Succeeds while the process can answer. Otherwise, restart it.
pub(crate) async fn live() -> Alive {
    Alive
}

/// Succeeds while the database can be read and written. Otherwise, send requests elsewhere.
pub(crate) async fn ready(State(doorward): State<Doorward>) -> Readiness {
    Readiness(doorward.store().check().await.map_err(|reason| reason.to_string()))
}

/// Succeeds while guards admit the callers that they know: also while the database is unavailable, for
/// `database.outage_grace`.
pub(crate) async fn guards_ready(State(doorward): State<Doorward>) -> Readiness {
    match doorward.store().changes().connectivity() {
        Connectivity::Connected | Connectivity::Unreachable => Readiness(Ok(())),
        Connectivity::Stale => Readiness(Err(
            "The database has been unavailable for longer than the grace period.".into(),
        )),
        // There is no grace, because no other process writes.
        Connectivity::Embedded => ready(State(doorward)).await,
    }
}

/// The process can answer.
pub(crate) struct Alive;

impl IntoResponse for Alive {
    fn into_response(self) -> Response {
        NoStore(StatusCode::OK, "alive").into_response()
    }
}

impl Answer for Alive {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        always("alive")
    }
}

/// Whether something is ready, or why it is not.
pub(crate) struct Readiness(Result<(), String>);

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        match self.0 {
            Ok(()) => NoStore(StatusCode::OK, "ready").into_response(),
            Err(message) => {
                let answer = NoStore(StatusCode::SERVICE_UNAVAILABLE, NotReady { message });
                ([(header::RETRY_AFTER, HeaderValue::from_static("1"))], answer).into_response()
            }
        }
    }
}

impl Answer for Readiness {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        always("ready")
    }
}

/// A success that has one text.
fn always(text: &str) -> Vec<Success> {
    let schema = Some(json!({ "type": "string", "const": text }));
    let content = Content { media_type: JSON, schema };
    vec![Success::no_store(StatusCode::OK, Some(content))]
}

#[derive(Serialize)]
struct NotReady {
    message: String,
}
