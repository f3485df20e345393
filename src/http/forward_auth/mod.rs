//! Forward auth: the guards that a proxy calls before it forwards a request.

pub(super) mod fast_path;
mod forwarded_request;
mod full_answer;
pub(super) mod identity;
mod visit;

use std::{
    net::IpAddr,
    pin::pin,
    ptr,
    sync::{Arc, LazyLock, Weak},
};

use arc_swap::ArcSwapOption;
use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use serde_json::json;

use self::{
    forwarded_request::{ForwardedRequest, guard_name},
    full_answer::{asks_for_full_answer, replace_admission},
    identity::{Identity, value},
    visit::{Redirection, UseOfAnswer, Visit},
};
use super::{
    answer::{JSON, NO_STORE, NOSNIFF},
    browser::cookies::app_cookies,
    error::{Challenge, Error},
    only::{admit, authenticate, identify},
    pages::{CROSS_ORIGIN_OPENER_POLICY, Pages},
    request_id::REQUEST_ID,
    request_log::log_guarded_request,
};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::{Decision, Grant, Guard, Mode, ProxyStyle},
        policy::{Authenticated, Designated},
        refusals::{DecisionId, Refused, RefusedBy},
    },
    account::app_sign_in::CodeError,
    log::FloodLine,
    routes::{
        AUTHENTICATED_GUARD, DECLARED_GUARD, DESIGNATED_GUARD, GUARD_PREFIX, GuardKind, SEGMENT,
    },
    user::User,
};

/// The guards of a running service.
pub(crate) struct GuardRoutes {
    doorward: Doorward,
    pages: Arc<Pages>,
    designated_path: String,
    designated_answer: DesignatedAnswer,
}

/// The guard that a request is for.
pub(super) enum GuardRoute {
    /// The guarded app receives the caller's id only.
    Authenticated,
    /// The guarded app receives the whole user.
    Designated,
    /// A declared guard.
    Declared(Arc<Guard>),
    /// No guard has this name.
    Undeclared,
    /// A `CONNECT` request, to any guard. None admits it: what follows it in the tunnel would pass without a decision.
    Tunnel,
}

impl GuardRoutes {
    pub(super) fn new(pages: &Arc<Pages>) -> Self {
        let doorward = pages.doorward().clone();
        let segment = &doorward.settings().designated_segment;
        let designated_path = DESIGNATED_GUARD.replace(SEGMENT, segment);
        let designated_answer = DesignatedAnswer::new(&doorward);
        Self { doorward, pages: Arc::clone(pages), designated_path, designated_answer }
    }

    /// The last segment of the path of the designated guard.
    pub(super) fn designated_segment(&self) -> &str {
        &self.doorward.settings().designated_segment
    }

    /// The guard of this kind that a path leads to.
    pub(super) fn route(&self, kind: GuardKind, path: &str) -> GuardRoute {
        match kind {
            GuardKind::Authenticated => GuardRoute::Authenticated,
            GuardKind::Designated => GuardRoute::Designated,
            GuardKind::Declared => guard_name(path)
                .and_then(|name| self.doorward.guards().by_name(name).cloned())
                .map_or(GuardRoute::Undeclared, GuardRoute::Declared),
        }
    }

    /// The guard at exactly this path. A declared guard cannot have the name of another route, so the router would
    /// find the same guard.
    pub(super) fn at(&self, path: &str) -> Option<GuardRoute> {
        if path == AUTHENTICATED_GUARD {
            Some(GuardRoute::Authenticated)
        } else if path == self.designated_path {
            Some(GuardRoute::Designated)
        } else {
            let name = path.strip_prefix(GUARD_PREFIX)?;
            self.doorward.guards().by_name(name).cloned().map(GuardRoute::Declared)
        }
    }

    /// Decides about a request and logs it.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function stores its arguments twice, which costs every guarded request"
    )]
    pub(super) fn answer(
        self: Arc<Self>,
        route: GuardRoute,
        parts: Parts,
        peer: IpAddr,
    ) -> impl Future<Output = Response> + Send {
        async move {
            let logged_route = match &route {
                GuardRoute::Authenticated => AUTHENTICATED_GUARD,
                GuardRoute::Designated => &self.designated_path,
                // Only the guard's own path is logged: the client chooses what follows it.
                GuardRoute::Declared(guard) => {
                    parts.uri.path().get(..GUARD_PREFIX.len() + guard.name.len()).unwrap_or("-")
                }
                GuardRoute::Undeclared | GuardRoute::Tunnel => DECLARED_GUARD,
            };
            let answer = pin!(async {
                let mut decision = Decision::Admitted;
                let answer = match &route {
                    GuardRoute::Authenticated => {
                        self.authenticated(&parts.headers, &mut decision).await
                    }
                    GuardRoute::Designated => self.designated(&parts.headers, &mut decision).await,
                    GuardRoute::Declared(guard) => {
                        let request = ForwardedRequest { parts: &parts, peer };
                        self.declared(guard, request, &mut decision).await
                    }
                    GuardRoute::Undeclared => Err(Error::NotFound),
                    GuardRoute::Tunnel => Ok(no_tunnel()),
                };
                let mut response = answer.unwrap_or_else(Error::into_guard_response);
                if asks_for_full_answer(&parts.uri) {
                    // The first request has been counted.
                    replace_admission(&mut response);
                } else if !response.status().is_server_error() {
                    self.count(&route, decision);
                }
                if let GuardRoute::Declared(guard) = &route
                    && guard.proxy == Some(ProxyStyle::Traefik)
                {
                    add_app_cookies(&mut response, &parts.headers);
                }
                response
            });
            let response = log_guarded_request(&parts, logged_route, answer).await;
            // Also after a panic and after the deadline.
            if response.status().is_server_error() {
                self.count(&route, Decision::Unavailable);
            }
            response
        }
    }

    fn count(&self, route: &GuardRoute, decision: Decision) {
        match route {
            GuardRoute::Authenticated => {
                self.doorward.counts().authenticated_guard.add_one(decision);
            }
            GuardRoute::Designated => self.doorward.counts().designated_guard.add_one(decision),
            GuardRoute::Declared(guard) => guard.count(decision),
            GuardRoute::Undeclared | GuardRoute::Tunnel => {}
        }
    }

    async fn authenticated(
        &self,
        headers: &HeaderMap,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        const BODY: &[u8] = br#""You are authenticated.""#;
        static HEADERS: LazyLock<HeaderMap> =
            LazyLock::new(|| admission_headers(HeaderValue::from_static("guard")));
        let caller = authenticate::<Authenticated>(&self.doorward, headers).await;
        let caller = caller.inspect_err(|_| *decision = Decision::Unauthenticated)?;
        let admitted = admit(&self.doorward, &Authenticated, &caller);
        admitted.inspect_err(|_| *decision = Decision::Refused)?;
        let identity = Identity { caller: Some(&caller), grant: Grant::Id };
        Ok(admission(&self.doorward, Bytes::from_static(BODY), HEADERS.clone(), identity))
    }

    async fn designated(
        &self,
        headers: &HeaderMap,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        let caller = authenticate::<Designated>(&self.doorward, headers).await;
        let caller = caller.inspect_err(|_| *decision = Decision::Unauthenticated)?;
        let admitted = admit(&self.doorward, self.doorward.designated(), &caller);
        admitted.inspect_err(|_| *decision = Decision::Refused)?;
        Ok(self.designated_answer.to(&caller, &self.doorward))
    }
}

/// The answer to a user with the designated name. That is nearly always the same user, so the headers with their
/// identity are kept for the next request.
struct DesignatedAnswer {
    body: Bytes,
    headers: HeaderMap,
    last: ArcSwapOption<(Weak<User>, HeaderMap)>,
}

impl DesignatedAnswer {
    fn new(doorward: &Doorward) -> Self {
        let body = json!(format!("You are {}.", doorward.designated().name()));
        let body = Bytes::from_owner(body.to_string());
        let headers = admission_headers(value(&doorward.settings().designated_segment));
        Self { body, headers, last: ArcSwapOption::empty() }
    }

    fn to(&self, caller: &Caller, doorward: &Doorward) -> Response {
        if let Some(last) = &*self.last.load()
            && ptr::eq(last.0.as_ptr(), Arc::as_ptr(&caller.user))
        {
            let mut response = Response::new(self.body.clone().into());
            *response.headers_mut() = last.1.clone();
            return response;
        }
        let identity = Identity { caller: Some(caller), grant: Grant::User };
        let response = admission(doorward, self.body.clone(), self.headers.clone(), identity);
        // Comparing pointers is safe: a changed user is another allocation, and the weak pointer keeps this address
        // from being used again.
        let last = (Arc::downgrade(&caller.user), response.headers().clone());
        self.last.store(Some(Arc::new(last)));
        response
    }
}

impl GuardRoutes {
    async fn declared(
        &self,
        guard: &Arc<Guard>,
        request: ForwardedRequest<'_>,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        let (doorward, headers) = (&self.doorward, &request.parts.headers);
        let trusted = &doorward.settings().trusted_proxies;
        if guard.preflight && request.is_preflight(guard.proxy, trusted, doorward.now()) {
            return Ok(declared_admission(doorward, guard, None));
        }
        if !guard.origins.is_empty()
            && let Some(visit) = Visit::new(guard, request, trusted)
        {
            if visit.is_to_app()
                && let Some(caller) = visit.cached_caller(doorward)
                && refusal(doorward, guard, &caller, &request).is_none()
            {
                return Ok(declared_admission(doorward, guard, Some(&caller)));
            }
            // Boxed, because the future of every guarded request would otherwise reserve space for a visit.
            return Box::pin(self.visited(guard, visit, decision)).await;
        }
        let (challenge, refused, caller) = match identify(doorward, headers).await {
            Ok(caller) => match refusal(doorward, guard, &caller, &request) {
                None => return Ok(declared_admission(doorward, guard, Some(&caller))),
                Some(refused) => {
                    *decision = Decision::Refused;
                    (Challenge::InsufficientScope, refused, Some(caller))
                }
            },
            Err(AuthError::Unauthenticated(mut reason)) => {
                let has_authorization = headers.contains_key(header::AUTHORIZATION);
                *decision = Decision::Unauthenticated;
                if !guard.origins.is_empty() && !has_authorization {
                    reason = Unauthenticated::OtherOrigin;
                    // nginx turns any other status than 401 and 403 into 500, and asks again for the answer.
                    let is_read = guard.proxy != Some(ProxyStyle::Nginx)
                        || asks_for_full_answer(&request.parts.uri);
                    if is_read
                        && guard
                            .proxy
                            .is_some_and(|style| request.has_malformed_host(style, trusted))
                    {
                        return Err(Error::Malformed);
                    }
                }
                let by = RefusedBy::Guard(Arc::clone(guard));
                (reason.into(), Refused::unauthenticated(by, reason, doorward.now()), None)
            }
            Err(AuthError::Store(error)) => return Err(error.into()),
        };
        let id = doorward.record_refusal(refused);
        match guard.mode {
            Mode::Enforce => Err(Error::Unauthorized(challenge, Some(id))),
            Mode::Report => {
                *decision = Decision::ReportOnly;
                log_report(guard, &id);
                Ok(declared_admission(doorward, guard, caller.as_ref()))
            }
        }
    }

    /// Decides about the request of a browser, by its cookie.
    async fn visited(
        &self,
        guard: &Arc<Guard>,
        visit: Visit<'_>,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        let doorward = &self.doorward;
        if visit.is_sign_in() {
            *decision = Decision::SigningIn;
            return Box::pin(self.finish_sign_in(guard, &visit)).await;
        }
        let unauthenticated = |reason| {
            let by = RefusedBy::Guard(Arc::clone(guard));
            Refused::unauthenticated(by, reason, doorward.now())
        };
        let (refusal, refused, caller) = match visit.caller(doorward).await {
            Ok(caller) => match refusal(doorward, guard, &caller, &visit.request) {
                None if visit.use_of_answer() == UseOfAnswer::Refusal && visit.is_navigation() => {
                    return Ok(self.admitted_since(guard, &visit));
                }
                None => return Ok(declared_admission(doorward, guard, Some(&caller))),
                Some(refused) => {
                    *decision = Decision::Refused;
                    (VisitRefusal::Condition, refused, Some(caller))
                }
            },
            Err(AuthError::Unauthenticated(reason)) => {
                let refusal = match reason {
                    Unauthenticated::CrossSite => VisitRefusal::CrossSite,
                    _ => VisitRefusal::SignIn(reason),
                };
                *decision = Decision::Unauthenticated;
                (refusal, unauthenticated(reason), None)
            }
            Err(AuthError::Store(error)) => return Err(error.into()),
        };
        if guard.mode == Mode::Report {
            *decision = Decision::ReportOnly;
            let id = doorward.record_refusal(refused);
            log_report(guard, &id);
            return Ok(declared_admission(doorward, guard, caller.as_ref()));
        }
        self.refuse_visit(guard, &visit, refusal, refused, caller.as_ref())
    }

    /// Answers a person who was refused by the first request of nginx and is admitted by the second. The app does not get
    /// the request, so the browser repeats it. It cannot repeat a form by itself.
    fn admitted_since(&self, guard: &Guard, visit: &Visit<'_>) -> Response {
        if visit.is_form() {
            return self.pages.form_not_sent_in_place(visit.headers, guard, &visit.return_url());
        }
        self.redirect(Redirection { location: visit.own_url(), cookies: Vec::new() })
    }

    /// Refuses the request of a browser: with a page for a person, with JSON for a script.
    fn refuse_visit(
        &self,
        guard: &Guard,
        visit: &Visit<'_>,
        refusal: VisitRefusal,
        refused: Refused,
        caller: Option<&Caller>,
    ) -> Result<Response, Error> {
        if visit.use_of_answer() == UseOfAnswer::Status {
            return Err(match refusal {
                // nginx adds the challenge of a 401 to the answer that it asks for next, and a redirect has none.
                VisitRefusal::SignIn(reason) if !visit.is_navigation() => {
                    Error::Unauthorized(reason.into(), None)
                }
                _ => Error::CrossSite(None),
            });
        }
        if let (VisitRefusal::SignIn(_), true) = (&refusal, visit.is_navigation()) {
            let around = visit.way_around_foreign_form();
            return Ok(
                self.redirect(around.unwrap_or_else(|| visit.way_to_sign_in(&self.doorward)))
            );
        }
        let decision = self.doorward.record_refusal(refused);
        if !visit.is_navigation() {
            return Err(match refusal {
                VisitRefusal::SignIn(reason) => Error::Unauthorized(reason.into(), Some(decision)),
                VisitRefusal::CrossSite => Error::CrossSite(Some(decision)),
                VisitRefusal::Condition => Error::Refused(decision),
            });
        }
        let (pages, headers) = (&self.pages, visit.headers);
        Ok(match caller {
            Some(caller) => {
                // They return here as the other person. The guard does not know which of them it will be.
                let way = visit.way_to_sign_in(&self.doorward);
                let somebody_else = format!("{}&other=1", way.location);
                let page = pages.refused_in_place(headers, guard, caller, decision, &somebody_else);
                with_cookies(page, way.cookies)
            }
            None => pages.cross_site_in_place(headers, guard, decision, &visit.start_url()),
        })
    }

    fn redirect(&self, redirection: Redirection) -> Response {
        let Redirection { location, cookies } = redirection;
        let mut response = self.pages.redirect(&location);
        // The answer is one of the app's host, which decides about these itself.
        response.headers_mut().remove(header::STRICT_TRANSPORT_SECURITY);
        response.headers_mut().remove(CROSS_ORIGIN_OPENER_POLICY);
        with_cookies(response, cookies)
    }

    /// Answers the request with which a browser returns from the sign-in page.
    async fn finish_sign_in(&self, guard: &Guard, visit: &Visit<'_>) -> Result<Response, Error> {
        if visit.use_of_answer() == UseOfAnswer::Status {
            return Err(Error::CrossSite(None));
        }
        let (pages, headers, start) = (&self.pages, visit.headers, visit.start_url());
        if visit.code().is_none() {
            return Ok(match visit.is_without_cookies() {
                true => pages.no_cookie_in_place(headers, &start),
                false => pages.link_used_in_place(headers, guard, &start),
            });
        }
        match visit.finish_sign_in(&self.doorward).await {
            Ok(redirection) => Ok(self.redirect(redirection)),
            Err(CodeError::Store(error)) => Err(error.into()),
            Err(CodeError::NoAttempt) => Ok(self.redirect(visit.way_to_reason(true))),
            Err(CodeError::Invalid) => Ok(self.redirect(visit.way_to_reason(false))),
        }
    }
}

/// Why the request of a browser is refused.
enum VisitRefusal {
    /// The person is not signed in.
    SignIn(Unauthenticated),
    /// Another site has caused the request.
    CrossSite,
    /// The condition is not true.
    Condition,
}

fn with_cookies(mut response: Response, cookies: Vec<HeaderValue>) -> Response {
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Adds the app's cookies to an admission. Traefik cannot remove single cookies from a request, so it replaces them by those
/// of the answer.
fn add_app_cookies(response: &mut Response, sent: &HeaderMap) {
    if response.status() == StatusCode::OK
        && let Some(cookies) = app_cookies(sent)
    {
        response.headers_mut().insert(header::COOKIE, cookies);
    }
}

/// The answer to a `CONNECT` request.
fn no_tunnel() -> Response {
    let mut response = Error::MethodNotAllowed.into_guard_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
    response
}

/// The refusal of a caller whom the guard does not admit. `doorward why` determines the reason from it.
fn refusal(
    doorward: &Doorward,
    guard: &Arc<Guard>,
    caller: &Caller,
    request: &ForwardedRequest<'_>,
) -> Option<Refused> {
    if guard.is_known_to_admit(&caller.memo) {
        return None;
    }
    let (trusted, now) = (&doorward.settings().trusted_proxies, doorward.now());
    let facts = request.facts(guard.proxy, trusted, guard.condition.request_fields(), now);
    guard.decide(&caller.user, &caller.session, &caller.memo, &facts).err()?;
    Some(Refused::by_condition(guard, caller, &facts))
}

/// Logs what a guard that only reports would have refused. Anybody can cause it.
fn log_report(guard: &Guard, id: &DecisionId) {
    if FloodLine::WouldBeRefused.is_written("") {
        tracing::info!(guard = guard.name, decision = %id, "would have been refused");
    }
}

/// The answer of a declared guard that admits a caller, or a request without one.
fn declared_admission(doorward: &Doorward, guard: &Guard, caller: Option<&Caller>) -> Response {
    const BODY: &[u8] = br#""You may pass.""#;
    static HEADERS: LazyLock<HeaderMap> =
        LazyLock::new(|| admission_headers(HeaderValue::from_static("")));
    let identity = Identity { caller, grant: guard.grant };
    let mut headers = HEADERS.clone();
    headers.insert(identity::POLICY, guard.name_header.clone());
    admission(doorward, Bytes::from_static(BODY), headers, identity)
}

/// The headers of an admission by this guard, all of them: replacing a value in a copy costs less than adding one.
///
/// hyper writes `Content-Length`. `Vary` is left out because it means nothing beside `no-store`, and a tenth header would
/// make the copy too large for the allocator's cache of small blocks, which costs a guard an eighth more instructions.
fn admission_headers(guard: HeaderValue) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // The first header, because replacing the first value costs least.
    headers.insert(REQUEST_ID, HeaderValue::from_static(""));
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    identity::write_empty(&mut headers);
    headers.insert(identity::POLICY, guard);
    headers
}

fn admission(
    doorward: &Doorward,
    body: Bytes,
    mut headers: HeaderMap,
    identity: Identity<'_>,
) -> Response {
    identity.write(&mut headers, &doorward.settings().identity_headers);
    let mut response = Response::new(body.into());
    *response.headers_mut() = headers;
    response
}
