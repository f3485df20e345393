//! Pages of other origins that call the API from a browser (CORS). They do it with a token: no cookie counts below `/api`, so no
//! answer allows credentials. Without `cors.origins`, nothing here runs.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    answer::NO_STORE,
    browser::{Single, single},
    error::Error,
};
use crate::Doorward;

/// What declared origins may call: the API, what verifiers of tokens fetch, and the description of both. Introspection and
/// revocation need a secret that no page can keep.
const OPEN: [&str; 3] = ["/api/", "/.well-known/", "/openapi.json"];

/// The methods and headers of the API, and the trace context that the log shows.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, traceparent, tracestate");
/// The headers that scripts may read besides the few that they always may.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("X-Request-Id, X-Decision-Id, WWW-Authenticate, Retry-After");
/// Two hours, the longest that Chromium keeps the answer to a preflight.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");

/// Whether a page of a declared origin has sent a request to the API.
pub(super) fn is_allowed(doorward: &Doorward, uri: &Uri, headers: &HeaderMap) -> bool {
    is_open(uri)
        && match single(headers, &header::ORIGIN) {
            Single::Value(sent) => {
                doorward.settings().cors_origins.iter().any(|origin| origin.as_str() == sent)
            }
            Single::Absent | Single::Ambiguous => false,
        }
}

fn is_open(uri: &Uri) -> bool {
    OPEN.iter().any(|prefix| uri.path().starts_with(prefix))
}

/// The outermost middleware of the API: lets pages of declared origins read every answer. Without these headers a script could
/// not tell an error from a lost connection.
pub(super) async fn let_read(
    State(doorward): State<Doorward>,
    request: Request,
    next: Next,
) -> Response {
    let is_open = is_open(request.uri());
    let origin = is_allowed(&doorward, request.uri(), request.headers())
        .then(|| request.headers().get(header::ORIGIN).cloned())
        .flatten();
    let mut response = next.run(request).await;
    if is_open {
        response.headers_mut().append(header::VARY, ORIGIN);
    }
    if let Some(origin) = origin {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// Whether a browser asks if a page of a declared origin may send a request to the API.
pub(super) fn is_preflight(
    doorward: &Doorward,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && is_allowed(doorward, uri, headers)
}

/// Whether a preflight is to a guard itself. A proxy that asks about the preflight of an app appends its path or describes it, and
/// must not take the answer for an admission.
pub(super) fn is_preflight_to_guard(
    doorward: &Doorward,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> bool {
    const DESCRIBES_ANOTHER: [HeaderName; 4] = [
        HeaderName::from_static("x-forwarded-method"),
        HeaderName::from_static("x-forwarded-uri"),
        HeaderName::from_static("x-original-method"),
        HeaderName::from_static("x-original-uri"),
    ];
    is_preflight(doorward, method, uri, headers)
        && uri.path().split('/').count() == "/api/auth/guard".split('/').count()
        && !DESCRIBES_ANOTHER.iter().any(|name| headers.contains_key(name))
}

/// The answer to a preflight. [`let_read`] adds the origin. The status is not 200, which alone admits a request in the eyes of a
/// proxy that sends the method of the guarded request.
pub(super) fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        (header::CACHE_CONTROL, NO_STORE),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Answers a method that a route does not have. A preflight is one.
pub(super) async fn method_not_allowed(
    State(doorward): State<Doorward>,
    request: Request,
) -> Response {
    preflight_or(&doorward, &request, Error::MethodNotAllowed)
}

/// Answers a path that does not exist. A script learns that from the request after the preflight.
pub(super) async fn not_found(State(doorward): State<Doorward>, request: Request) -> Response {
    preflight_or(&doorward, &request, Error::NotFound)
}

fn preflight_or(doorward: &Doorward, request: &Request, error: Error) -> Response {
    match is_preflight(doorward, request.method(), request.uri(), request.headers()) {
        true => preflight(),
        false => error.into_response(),
    }
}
