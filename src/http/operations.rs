//! What the second listener serves, for the operator: metrics, and the health of the service with its causes. It is not a part of
//! the public service.

use std::sync::Arc;

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    answer::NO_STORE,
    api::health,
    error::Error,
    request_counts::REQUESTS,
    server::{self, Limits},
};
use crate::{
    Doorward,
    metrics::{self, Format, LastSizes, Snapshot},
};

/// The limits of the second listener. Few programs ask it, and they ask in turn.
pub fn operations_limits() -> Limits {
    Limits { connections: 64, counts: None, ..Limits::default() }
}

/// The routes of the second listener.
pub fn operations(doorward: Doorward) -> Router {
    let state = Operations { doorward: doorward.clone(), last_sizes: Arc::default() };
    Router::new()
        .route("/metrics", get(show_metrics))
        .route("/readyz", get(ready))
        .with_state(state)
        .route("/livez", get(health::live))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .fallback(async || Error::NotFound)
}

#[derive(Clone)]
struct Operations {
    doorward: Doorward,
    last_sizes: Arc<LastSizes>,
}

async fn show_metrics(
    State(state): State<Operations>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept);
    let Operations { doorward, last_sizes } = state;
    let snapshot = Snapshot::take(&doorward, &last_sizes).await;
    let text = metrics::render(format, move |metrics| {
        metrics::write(&doorward, &snapshot, metrics)?;
        REQUESTS.write(metrics)?;
        server::write_metrics(metrics)
    });
    let text = text.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(plain(StatusCode::OK, format.content_type(), text))
}

/// As `/readyz` of the public listener. With `?verbose`, a line for each part.
async fn ready(State(state): State<Operations>, RawQuery(query): RawQuery) -> Response {
    if query.as_deref() != Some("verbose") {
        return health::ready(State(state.doorward)).await;
    }
    let checks = state.doorward.checks().await;
    let is_ready = checks.iter().all(|check| check.outcome.is_ok() || !check.is_required);
    let mut text: String = checks
        .iter()
        .map(|check| match &check.outcome {
            Ok(()) => format!("{}: ok\n", check.name),
            Err(cause) => format!("{}: {cause}\n", check.name),
        })
        .collect();
    text += if is_ready { "ready\n" } else { "not ready\n" };
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    plain(status, "text/plain; charset=utf-8", text)
}

fn plain(status: StatusCode, content_type: &'static str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, NO_STORE),
    ];
    (status, headers, text).into_response()
}
