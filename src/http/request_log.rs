//! The middleware of every request: an id, a deadline, a catch for panics and a log line.

use std::{
    future,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{
        HeaderValue, Method, StatusCode,
        header::{HOST, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS},
        request::Parts,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::poll_immediate};
use tracing::{Instrument, Span, field::display};

use super::{
    admin::Operator,
    answer::{CROSS_ORIGIN_RESOURCE_POLICY, NOSNIFF, REQUEST_ID, SAME_ORIGIN},
    client_ip::{counted_address, peer},
    error::{DECISION_ID, Error, tell_cause},
    paths::{ADMIN_EXPORT, ADMIN_IMPORT},
    trace_context::TraceContext,
};
use crate::{Doorward, access::guard::is_host_header, log::LineLimit, request_id::RequestId};

/// Longer than a legitimate wait for a hash or the database.
const HANDLER_TIMEOUT: Duration = Duration::from_secs(15);
/// What the operator orders may be about every user, and so is an export.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The middleware of every route that is neither polled nor a guard.
pub(super) async fn log_request(
    State(doorward): State<Doorward>,
    request: Request,
    next: Next,
) -> Response {
    log_in_span(&doorward, request, next, |_| false).await
}

/// The middleware of routes that clients poll: success is logged at debug level.
pub(super) async fn log_polled_request(
    State(doorward): State<Doorward>,
    request: Request,
    next: Next,
) -> Response {
    log_in_span(&doorward, request, next, is_success).await
}

async fn log_in_span(
    doorward: &Doorward,
    mut request: Request,
    next: Next,
    is_routine: fn(StatusCode) -> bool,
) -> Response {
    let id = RequestId::next();
    request.extensions_mut().insert(id);
    let method = known_method(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    // Only the pattern of the route is logged: a path or query from a client may contain a secret.
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let trace = TraceContext::of(request.headers());
    let client = counted_address(request.headers(), peer(request.extensions()), doorward);
    let mut hosts = request.headers().get_all(HOST).iter();
    let is_malformed = hosts.any(|host| !is_host_header(host.as_bytes()));
    let is_operator = request.extensions().get::<Operator>().is_some();
    let current = Span::current();
    let span = match is_operator && current.has_field("id") {
        // A line names only its innermost span, and this one names the operator.
        true => current.record("id", display(id)).clone(),
        false => tracing::info_span!("request", %id),
    };
    let limit = match route {
        // It ends by itself when nothing more arrives.
        ADMIN_IMPORT => Duration::MAX,
        _ if is_operator || route == ADMIN_EXPORT => OPERATOR_TIMEOUT,
        _ => HANDLER_TIMEOUT,
    };
    let answer = async {
        match is_malformed {
            true => Error::Malformed.into_response(),
            false => next.run(request).await,
        }
    };
    // The line of the request has the id itself. In the span it would have it twice, for 3 µs.
    let answer = answer.instrument(span);
    let (answer, started) = (pin!(answer), Instant::now());
    let request = Logged { id, method, route, trace: || trace, client: || client, started, limit };
    let mut response = run(request, answer, is_routine).await;
    if is_operator {
        tell_cause(&mut response);
    }
    count(doorward, method, route, &response, started);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response.headers_mut().insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
    response
}

/// Runs a request to a guard. This is the hot path: admissions and redirects are logged at debug level, and there is neither a span
/// nor a layer, each of which would cost more than everything else here.
pub(super) async fn log_guarded_request(
    doorward: &Doorward,
    id: RequestId,
    parts: &Parts,
    peer: IpAddr,
    route: &str,
    answer: Pin<&mut impl Future<Output = Response>>,
) -> Response {
    let method = known_method(&parts.method);
    // Headers are looked up only for a line that is written.
    let trace = || TraceContext::of(&parts.headers);
    let client = || counted_address(&parts.headers, peer, doorward);
    let (started, limit) = (Instant::now(), HANDLER_TIMEOUT);
    let request = Logged { id, method, route, trace, client, started, limit };
    run(request, answer, is_routine_of_guards).await
}

/// Answers a request that must not reach a route.
pub(super) async fn refuse_malformed(
    doorward: Doorward,
    method: Method,
    client: IpAddr,
) -> Response {
    let (method, started) = (known_method(&method), Instant::now());
    let answer = pin!(future::ready(Error::Malformed.into_response()));
    let (id, trace) = (RequestId::next(), || None);
    let (client, limit) = (|| client, HANDLER_TIMEOUT);
    let request = Logged { id, method, route: "-", trace, client, started, limit };
    let response = run(request, answer, |_| false).await;
    count(&doorward, method, "-", &response, started);
    response
}

fn count(
    doorward: &Doorward,
    method: &'static str,
    route: &str,
    response: &Response,
    started: Instant,
) {
    let requests = &doorward.counts().requests;
    requests.add(method, route, response.status().as_u16(), started.elapsed());
}

/// What the log shows of a request.
struct Logged<'r, T, C> {
    id: RequestId,
    method: &'static str,
    route: &'r str,
    trace: T,
    /// The address of the client.
    client: C,
    started: Instant,
    /// The most time for the handler.
    limit: Duration,
}

fn is_success(status: StatusCode) -> bool {
    status == StatusCode::OK
}

/// Anybody can cause any number of redirects to the sign-in page.
fn is_routine_of_guards(status: StatusCode) -> bool {
    is_success(status) || status == StatusCode::SEE_OTHER
}

/// Awaits an answer, within the deadline and despite a panic, and logs it.
async fn run(
    request: Logged<'_, impl Fn() -> Option<TraceContext>, impl Fn() -> IpAddr>,
    answer: Pin<&mut impl Future<Output = Response>>,
    is_routine: fn(StatusCode) -> bool,
) -> Response {
    let Logged { id, method, route, trace, client, started, limit } = request;
    let mut answer = AssertUnwindSafe(answer).catch_unwind();
    // An answer that is ready at once needs no deadline. Setting one up reads the clock twice, and its state is boxed so
    // that it does not enlarge the future of every request.
    let answer = match poll_immediate(&mut answer).await {
        Some(answer) => Ok(answer),
        None => Box::pin(tokio::time::timeout(limit, answer)).await,
    };
    let mut response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => Error::Internal("a handler panicked".into()).into_response(),
        Err(_) => Error::Unavailable("a handler timed out".into()).into_response(),
    };
    let micros = || u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    // An app that embeds Doorward may not provide the address of the peer.
    let client = || Some(client()).filter(|client| !client.is_unspecified()).map(display);
    // The fields are evaluated only if the line is written.
    macro_rules! line {
        ($level:ident, $($more:tt)+) => {
            tracing::$level!(
                %id,
                method,
                route,
                status,
                micros = micros(),
                client = client(),
                trace_id = trace().as_ref().map(TraceContext::trace_id),
                parent_id = trace().as_ref().map(TraceContext::parent_id),
                $($more)+
            )
        };
    }
    if is_routine(response.status()) {
        line!(debug, "answered");
    } else if response.status().is_client_error() {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let challenge = header(WWW_AUTHENTICATE);
        if is_logged(Reason { status, challenge: error_code(challenge) }, started) {
            let decision = header(DECISION_ID);
            line!(info, challenge, decision, "refused");
        }
    } else {
        line!(info, "answered");
    }
    let id = HeaderValue::try_from(id.to_string()).expect("digits are valid in a header");
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Why a request was refused, as far as the log distinguishes reasons.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reason {
    status: u16,
    /// The error code of `WWW-Authenticate`.
    challenge: &'static str,
}

/// Whether to log a refusal. In a flood, refusals are only counted, and the counts are logged a second later.
fn is_logged(reason: Reason, now: Instant) -> bool {
    static REFUSALS: LineLimit<Reason> = LineLimit::new();
    REFUSALS.admits(reason, now, |Reason { status, challenge }, count| {
        tracing::info!(status, challenge, count, "refused, not logged individually");
    })
}

/// The error code in a challenge of this service.
fn error_code(challenge: Option<&str>) -> &'static str {
    let quoted = challenge.and_then(|challenge| challenge.strip_suffix('"')).unwrap_or_default();
    let codes = ["invalid_token", "insufficient_scope", "insufficient_user_authentication"];
    codes.into_iter().find(|code| quoted.ends_with(code)).unwrap_or_default()
}

/// The method for the log. A client may send any text as a method, and that text must not reach the log.
fn known_method(method: &Method) -> &'static str {
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::{
        body::Body,
        http::header::{CONTENT_TYPE, COOKIE},
    };

    use super::*;
    use crate::{
        Settings,
        account::{NewUser, app_sign_in::create_code},
        credential::password::Cost,
        http::{App, paths::APP_SIGN_IN, service},
        network::ClientInfo,
        token::cookie::AttemptDigest,
    };

    const ORIGIN: &str = "https://app.example.com";
    const ATTEMPT: &str = "attempt-of-the-browser";

    /// A service with a guard for an app on [`ORIGIN`].
    async fn open(folder: &std::path::Path) -> Doorward {
        let guard =
            format!("[guards.app]\nallow = 'true'\nproxy = 'caddy'\norigins = ['{ORIGIN}']");
        let settings = Settings::new()
            .with("database_url", format!("sqlite://{}/doorward.db", folder.display()))
            .with("public_url", "https://auth.example.com")
            .with_toml(&guard);
        let password_cost = Cost { memory_kib: 64, passes: 1 };
        Doorward::open(Settings { password_cost, ..settings }).await.unwrap()
    }

    fn login(password: &str) -> Request {
        let body = format!(r#"{{"email":"ada@example.com","password":"{password}"}}"#);
        let login = Request::post("/api/auth/login").header(CONTENT_TYPE, "application/json");
        login.body(Body::from(body)).unwrap()
    }

    /// The request of a browser that brings a code to the app, as its proxy describes it.
    fn app_sign_in(code: &str) -> Request {
        let request = Request::get("/api/auth/app")
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "app.example.com")
            .header("x-forwarded-uri", format!("{APP_SIGN_IN}?code={code}"))
            .header(COOKIE, format!("__Host-doorward-try-attempt={ATTEMPT}"));
        request.body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn an_event_has_the_id_that_the_answer_to_its_request_shows() {
        let folder = tempfile::tempdir().unwrap();
        let doorward = open(folder.path()).await;
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let ada = NewUser::new("Ada", "ada@example.com").password("correct horse");
        let client = ClientInfo::new(peer.ip(), "an app");
        let session = doorward.register(ada, client).await.unwrap().session;
        let (attempt, url) = (AttemptDigest::of(ATTEMPT), format!("{ORIGIN}/"));
        let code = create_code(&doorward, &session, attempt, url, ORIGIN).unwrap();
        doorward.events().take_published();

        let service = service(doorward.clone());
        for (request, status) in
            [(login("correct horse"), 200), (login("wrong horse"), 404), (app_sign_in(&code), 303)]
        {
            let answer = service.answer(request, peer).await;
            assert_eq!(answer.status(), status);
            let [event] = &doorward.events().take_published()[..] else { panic!("one event") };
            let id = event.request_id.map(|id| id.to_string());
            assert_eq!(id.as_deref(), answer.headers()[REQUEST_ID].to_str().ok(), "{event:?}");
        }
    }
}
