//! What happens around every request: it gets an id, a deadline, a net for panics and a line in the log.

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use axum::{
    extract::{ConnectInfo, FromRequestParts, MatchedPath, Request},
    http::{
        Extensions, HeaderName, HeaderValue, Method, StatusCode,
        header::{USER_AGENT, WWW_AUTHENTICATE},
        request::Parts,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::poll_immediate};
use tracing::Instrument;

use super::{Error, error::DECISION_ID, requester::requester};
use crate::{Doorward, client::Requester, session::Origin};

/// Longer than any honest wait for a hash or the database.
const HANDLER_TIMEOUT: Duration = Duration::from_secs(15);
/// The header that carries the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Around every request but those to a guard.
pub(super) async fn attend(request: Request, next: Next) -> Response {
    attend_in_span(request, next, |_| false).await
}

/// Around a request that is made again and again: success is logged at a level that is usually off.
pub(super) async fn attend_quietly(request: Request, next: Next) -> Response {
    attend_in_span(request, next, is_success).await
}

async fn attend_in_span(
    request: Request,
    next: Next,
    is_routine: fn(StatusCode) -> bool,
) -> Response {
    let id = RequestId::next();
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    // Only the pattern of a route is logged: what a client puts into a path or query may be a secret.
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let span = tracing::info_span!("request", %id);
    let answer = pin!(next.run(request));
    watch(id, method, route, answer, is_routine).instrument(span).await
}

/// Around a request to a guard, the hot path: whoever is admitted is logged at a level that is usually off, and there
/// is neither a span nor a layer, each of which would cost more than all the rest of this.
pub(super) async fn attend_guard(
    method: &Method,
    route: &str,
    answer: Pin<&mut impl Future<Output = Response>>,
) -> Response {
    watch(RequestId::next(), known(method), route, answer, is_success).await
}

fn is_success(status: StatusCode) -> bool {
    status == StatusCode::OK
}

async fn watch(
    id: RequestId,
    method: &'static str,
    route: &str,
    answer: Pin<&mut impl Future<Output = Response>>,
    is_routine: fn(StatusCode) -> bool,
) -> Response {
    let started = Instant::now();
    let mut answer = AssertUnwindSafe(answer).catch_unwind();
    // What is ready at once needs no deadline: setting one up costs two looks at the clock, and room for it in every
    // request, which it therefore takes elsewhere.
    let answer = match poll_immediate(&mut answer).await {
        Some(answer) => Ok(answer),
        None => Box::pin(tokio::time::timeout(HANDLER_TIMEOUT, answer)).await,
    };
    let mut response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => Error::Internal("a handler panicked".into()).into_response(),
        Err(_) => Error::Unavailable("a handler took too long".into()).into_response(),
    };
    let micros = || u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    if is_routine(response.status()) {
        tracing::debug!(%id, method, route, status, micros = micros(), "answered");
    } else if response.status() == StatusCode::UNAUTHORIZED {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let (challenge, decision) = (header(WWW_AUTHENTICATE), header(DECISION_ID));
        tracing::info!(%id, method, route, status, micros = micros(), challenge, decision, "refused");
    } else {
        tracing::info!(%id, method, route, status, micros = micros(), "answered");
    }
    response.headers_mut().insert(REQUEST_ID, id.header());
    response
}

/// The methods that there are. A client may call its method anything, and so put anything into a log.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "-",
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

/// Where a request comes from, as far as it can be told, and who that is as far as limits go: a proxy is believed only
/// if it is trusted.
pub(super) struct Peer(pub(super) Origin, pub(super) Requester);

impl FromRequestParts<Doorward> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        doorward: &Doorward,
    ) -> Result<Self, Infallible> {
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let (address, requester) = requester(parts, doorward);
        Ok(Self(Origin::new(address, user_agent.unwrap_or_default()), requester))
    }
}

/// The address that a request comes from. An app that does not tell it has one client, whom nobody trusts.
pub(super) fn peer(extensions: &Extensions) -> IpAddr {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map_or(Ipv4Addr::UNSPECIFIED.into(), |info| info.0.ip())
}
