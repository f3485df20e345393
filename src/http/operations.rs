//! What the second listener serves, for the operator: metrics, and the health of the service with its causes. It is not a part of
//! the public service.

use std::net::IpAddr;

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    answer::{CROSS_ORIGIN_RESOURCE_POLICY, NO_STORE, SAME_ORIGIN},
    api::health,
    error::Error,
    server::{Limits, Tls},
};
use crate::{
    Doorward,
    access::guard::{host_of, is_loopback_host},
    metrics::{self, Format, Snapshot},
};

/// The limits of the second listener. Few programs ask it, and they ask in turn.
pub fn operations_limits() -> Limits {
    Limits { connections: 64, ..Limits::default() }
}

/// The routes of the second listener, for a service with this certificate. If only this machine can connect
/// (`is_on_loopback`), requests for another host are refused.
pub fn operations(doorward: Doorward, tls: Option<Tls>, is_on_loopback: bool) -> Router {
    let state = Operations { doorward, tls };
    let router = Router::new()
        .route("/metrics", get(show_metrics))
        .route("/readyz", get(ready))
        .with_state(state.clone())
        .route("/readyz/guards", get(health::guards_ready).with_state(state.doorward))
        .route("/livez", get(health::live))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .fallback(async || Error::NotFound)
        .layer(middleware::map_response(async |mut response: Response| {
            response.headers_mut().insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
            response
        }));
    if is_on_loopback { router.layer(middleware::from_fn(refuse_other_hosts)) } else { router }
}

/// Keeps a web page from reading the answers in a browser on this machine: the page's own host name may resolve to a loopback
/// address (DNS rebinding). An IP address cannot be rebound.
async fn refuse_other_hosts(request: Request, next: Next) -> Response {
    if request.headers().get_all(header::HOST).iter().all(cannot_be_rebound) {
        return next.run(request).await;
    }
    let text = "This listener is for this machine: ask for localhost or an IP address, such as http://127.0.0.1:9464, or set \
                the Host header to it in a proxy. To use another name, set metrics.listen to an address that is not loopback.\n";
    plain(StatusCode::MISDIRECTED_REQUEST, "text/plain; charset=utf-8", text.into())
}

fn cannot_be_rebound(host: &HeaderValue) -> bool {
    let Ok(host) = host.to_str() else { return false };
    let host = host_of(host);
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
    is_loopback_host(&host) || address.parse::<IpAddr>().is_ok()
}

#[derive(Clone)]
struct Operations {
    doorward: Doorward,
    tls: Option<Tls>,
}

async fn show_metrics(
    State(state): State<Operations>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept);
    let Operations { doorward, tls } = state;
    let snapshot = Snapshot::take(&doorward).await;
    let text = metrics::render(format, move |metrics| {
        metrics::write(&doorward, &snapshot, metrics)?;
        tls.iter().try_for_each(|tls| tls.write_metrics(metrics))
    });
    let text = text.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(plain(StatusCode::OK, format.content_type(), text))
}

/// As `/readyz` of the public listener. With `?verbose`, a line for each part.
async fn ready(State(state): State<Operations>, RawQuery(query): RawQuery) -> Response {
    if query.as_deref() != Some("verbose") {
        return health::ready(State(state.doorward)).await.into_response();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_addresses_cannot_be_rebound() {
        for host in
            ["localhost", "LOCALHOST:9464", "127.0.0.1:9464", "[::1]", "[::1]:9464", "10.0.0.7:80"]
        {
            assert!(cannot_be_rebound(&HeaderValue::from_static(host)), "{host}");
        }
        for host in
            ["evil.example:9464", "localhost.evil.example", "127.0.0.1.evil.example", "", "1"]
        {
            assert!(!cannot_be_rebound(&HeaderValue::from_static(host)), "{host}");
        }
    }
}
