//! Forward auth: the guards that a proxy calls before it forwards a request. Here a request finds its guard, and the decision
//! is counted and logged.

mod admission;
mod app_answer;
mod app_request;
mod built_in;
mod declared;
pub(super) mod fast_path;
mod forwarded_request;
mod full_answer;
pub(super) mod identity;
mod in_place;
mod key_answer;
mod sent_key;

use std::{net::IpAddr, pin::pin, sync::Arc};

use axum::{
    body::Bytes,
    http::{HeaderValue, Method, header, request::Parts},
    response::Response,
};

use self::{
    admission::add_app_cookies,
    built_in::designated_body,
    forwarded_request::{ForwardedRequest, guard_name},
    full_answer::{asks_for_full_answer, replace_admission},
    sent_key::add_basic_challenge,
};
use super::{
    cors,
    error::Error,
    html::Pages,
    paths::{AUTHENTICATED_GUARD, DECLARED_GUARD, DESIGNATED_GUARD, GUARD_PREFIX, SEGMENT},
    request_log::log_guarded_request,
};
use crate::{
    Doorward,
    access::guard::{Decision, Guard, ProxyStyle},
    request_id::RequestId,
};

/// Which guards handle a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardKind {
    /// The one that admits every caller with a valid token.
    Authenticated,
    /// The one for the designated name.
    Designated,
    /// Those that the operator declares.
    Declared,
}

/// The guards of a running service.
pub(crate) struct GuardRoutes {
    doorward: Doorward,
    pages: Arc<Pages>,
    designated_path: String,
    designated_body: Bytes,
}

/// The guard that a request is for.
pub(super) enum GuardRoute {
    /// The guarded app receives the caller's id only.
    Authenticated,
    /// The guarded app receives the whole user.
    Designated,
    Declared(Arc<Guard>),
    /// No guard has this name.
    Undeclared,
    /// A `CONNECT` request, to any guard. None admits it: what follows it in the tunnel would pass without a decision.
    Tunnel,
    /// A CORS preflight to any guard, before a script asks it about a token.
    Preflight,
}

/// What a guard has decided about a request, and its answer. Each branch states both, so none counts as admitted by default.
struct Decided(Decision, Result<Response, Error>);

impl GuardRoutes {
    pub(super) fn new(pages: &Arc<Pages>) -> Self {
        let doorward = pages.doorward().clone();
        let segment = &doorward.settings().designated_segment;
        let designated_path = DESIGNATED_GUARD.replace(SEGMENT, segment);
        let designated_body = designated_body(&doorward);
        Self { doorward, pages: Arc::clone(pages), designated_path, designated_body }
    }

    /// The last segment of the path of the designated guard.
    pub(super) fn designated_segment(&self) -> &str {
        &self.doorward.settings().designated_segment
    }

    /// The guard of this kind that a request is for.
    pub(super) fn route_of(&self, kind: GuardKind, parts: &Parts) -> GuardRoute {
        let Parts { method, uri, headers, .. } = parts;
        if *method == Method::CONNECT {
            return GuardRoute::Tunnel;
        }
        if cors::is_preflight_to_guard(&self.doorward, method, uri, headers) {
            return GuardRoute::Preflight;
        }
        match kind {
            GuardKind::Authenticated => GuardRoute::Authenticated,
            GuardKind::Designated => GuardRoute::Designated,
            GuardKind::Declared => guard_name(uri.path())
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

    /// Decides about a request, counts the decision and logs the request.
    pub(super) async fn answer(
        self: Arc<Self>,
        route: GuardRoute,
        parts: Parts,
        peer: IpAddr,
    ) -> Response {
        let id = RequestId::next();
        let answer = pin!(self.decide(&route, &parts, peer, id));
        let logged_route = self.logged_route(&route, &parts);
        let response =
            log_guarded_request(&self.doorward, id, &parts, peer, logged_route, answer).await;
        // Also after a panic and after the deadline.
        if response.status().is_server_error() {
            self.count(&route, Decision::Unavailable);
        }
        response
    }

    async fn decide(
        &self,
        route: &GuardRoute,
        parts: &Parts,
        peer: IpAddr,
        id: RequestId,
    ) -> Response {
        let Decided(decision, answer) = match route {
            GuardRoute::Authenticated => self.authenticated(&parts.headers).await,
            GuardRoute::Designated => self.designated(&parts.headers).await,
            GuardRoute::Declared(guard) => {
                self.declared(guard, ForwardedRequest { parts, peer, id }).await
            }
            // No guard decides about these.
            GuardRoute::Undeclared => return Error::NotFound.into_guard_response(),
            GuardRoute::Tunnel => return no_tunnel(),
            GuardRoute::Preflight => return cors::preflight(),
        };
        let mut response = answer.unwrap_or_else(Error::into_guard_response);
        if let GuardRoute::Declared(guard) = route
            && guard.keys
        {
            add_basic_challenge(&mut response, &parts.headers);
        }
        if asks_for_full_answer(&parts.uri) {
            // The first request has been counted.
            replace_admission(&mut response);
        } else if !response.status().is_server_error() {
            self.count(route, decision);
        }
        if let GuardRoute::Declared(guard) = route
            && guard.proxy == Some(ProxyStyle::Traefik)
        {
            add_app_cookies(&mut response, &parts.headers);
        }
        response
    }

    fn count(&self, route: &GuardRoute, decision: Decision) {
        match route {
            GuardRoute::Authenticated => {
                self.doorward.counts().authenticated_guard.add_one(decision);
            }
            GuardRoute::Designated => self.doorward.counts().designated_guard.add_one(decision),
            GuardRoute::Declared(guard) => guard.count(decision),
            GuardRoute::Undeclared | GuardRoute::Tunnel | GuardRoute::Preflight => {}
        }
    }

    /// The path of the guard. The client chooses what follows it.
    fn logged_route<'a>(&'a self, route: &GuardRoute, parts: &'a Parts) -> &'a str {
        match route {
            GuardRoute::Authenticated => AUTHENTICATED_GUARD,
            GuardRoute::Designated => &self.designated_path,
            GuardRoute::Declared(guard) => {
                parts.uri.path().get(..GUARD_PREFIX.len() + guard.name.len()).unwrap_or("-")
            }
            GuardRoute::Undeclared | GuardRoute::Tunnel | GuardRoute::Preflight => DECLARED_GUARD,
        }
    }
}

/// The answer to a `CONNECT` request.
fn no_tunnel() -> Response {
    let mut response = Error::MethodNotAllowed.into_guard_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
    response
}
