//! What happens around every request: it gets an id, a deadline, a net for panics and a line in the log.

use std::{
    convert::Infallible,
    fmt,
    net::{Ipv4Addr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use axum::{
    extract::{ConnectInfo, FromRequestParts, MatchedPath, Request},
    http::{
        HeaderName, HeaderValue, Method, StatusCode,
        header::{USER_AGENT, WWW_AUTHENTICATE},
        request::Parts,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use tracing::{Instrument, Span};

use super::Error;
use crate::session::Origin;

/// Longer than any honest wait for a hash or the database.
const HANDLER_TIMEOUT: Duration = Duration::from_secs(15);
/// The header that carries the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(super) async fn attend(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::next();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    // Guards log nothing of their own, and a span would cost more than all the rest of this.
    let span = if is_guard(route) { Span::none() } else { tracing::info_span!("request", %id) };
    let mut response = match tokio::time::timeout(HANDLER_TIMEOUT, answer.instrument(span)).await {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => Error::Internal("a handler panicked".into()).into_response(),
        Err(_) => Error::Unavailable("a handler took too long".into()).into_response(),
    };
    log(id, &method, route, &response, started);
    response.headers_mut().insert(REQUEST_ID, id.header());
    response
}

/// What stands in the log for a path that is no route.
const NO_ROUTE: &str = "-";

fn is_guard(route: &str) -> bool {
    route.starts_with("/api/auth/") && !route.ends_with("/login")
}

/// Only the pattern of a route is logged: what a client puts into a path or query may be a secret.
fn log(id: RequestId, method: &Method, route: &str, response: &Response, started: Instant) {
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    match response.status() {
        StatusCode::OK if is_guard(route) => {
            tracing::debug!(%id, %method, route, status, micros, "admitted");
        }
        StatusCode::UNAUTHORIZED => {
            let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|v| v.to_str().ok());
            tracing::info!(%id, %method, route, status, micros, challenge, "refused");
        }
        _ => tracing::info!(%id, %method, route, status, micros, "answered"),
    }
}

/// Names one request in its answer and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u64);

impl RequestId {
    /// An id that no other request of this process has.
    pub fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Multiplying by an odd number visits every value once; the ids do not tell how many requests there were
        // to anybody who has not seen two of them in a row.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        Self(
            COUNT
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_add(process_start())
                .wrapping_mul(SPREAD),
        )
    }

    /// The id as the value of its header.
    pub fn header(self) -> HeaderValue {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 16];
        for (place, digit) in text.iter_mut().enumerate() {
            *digit = DIGITS[(self.0 >> (60 - 4 * place) & 15) as usize];
        }
        HeaderValue::from_bytes(&text).expect("digits are valid in a header")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A number of this process, so that ids differ from those of the one before.
fn process_start() -> u64 {
    use std::{
        hash::{BuildHasher, RandomState},
        sync::OnceLock,
    };
    static START: OnceLock<u64> = OnceLock::new();
    *START.get_or_init(|| RandomState::new().hash_one(0))
}

/// Where a request comes from.
pub(super) struct Peer(pub(super) Origin);

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        // Without an address (an app that does not tell it, a test) all requests count as local ones.
        let address = info.map_or(Ipv4Addr::LOCALHOST.into(), |info| info.0.ip());
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Ok(Self(Origin::new(address, user_agent.unwrap_or_default())))
    }
}
