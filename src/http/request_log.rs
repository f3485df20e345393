//! What happens around every request: it gets an id, a deadline, a net for panics and a line in the log.

use std::{
    future,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request},
    http::{
        HeaderMap, HeaderName, Method, StatusCode,
        header::{WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::poll_immediate};
use tracing::Instrument;

use super::{
    Error, RequestId,
    answer::NOSNIFF,
    error::DECISION_ID,
    refusal_log::{Reason, RefusalLog, Verdict},
};

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
    let mut response = watch(id, method, route, answer, is_routine).instrument(span).await;
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
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

/// Around a request that no route may see.
pub(super) async fn attend_malformed(method: Method) -> Response {
    let answer = pin!(future::ready(Error::Malformed.into_response()));
    watch(RequestId::next(), known(&method), "-", answer, |_| false).await
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
    } else if response.status().is_client_error() {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let challenge = header(WWW_AUTHENTICATE);
        if is_told(Reason { status, challenge: error_code(challenge) }, started) {
            let decision = header(DECISION_ID);
            tracing::info!(%id, method, route, status, micros = micros(), challenge, decision, "refused");
        }
    } else {
        tracing::info!(%id, method, route, status, micros = micros(), "answered");
    }
    set_request_id(response.headers_mut(), id);
    response
}

/// Whether a refusal gets a line of its own. In a flood it is counted, and the counts are told a second later.
fn is_told(reason: Reason, now: Instant) -> bool {
    static LOG: RefusalLog = RefusalLog::new();
    let verdict = LOG.note(reason, now);
    if verdict == (Verdict::Count { is_first: true }) {
        tokio::spawn(async {
            tokio::time::sleep(RefusalLog::SECOND).await;
            for (Reason { status, challenge }, count) in LOG.take_left_out() {
                tracing::info!(status, challenge, count, "refused, not told one by one");
            }
        });
    }
    verdict == Verdict::Tell
}

/// The error code in a challenge, from those that we send.
fn error_code(challenge: Option<&str>) -> &'static str {
    let codes = ["invalid_token", "insufficient_scope"];
    let challenge = challenge.unwrap_or_default();
    codes.into_iter().find(|code| challenge.contains(code)).unwrap_or_default()
}

/// Sets the header that is the first in the headers of an admission: there it costs less than a look-up.
fn set_request_id(headers: &mut HeaderMap, id: RequestId) {
    match headers.iter_mut().next() {
        Some((name, value)) if *name == REQUEST_ID => *value = id.header(),
        _ => {
            headers.insert(REQUEST_ID, id.header());
        }
    }
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
