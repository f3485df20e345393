//! The whole service, with a fast path to its guards.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, Method, header},
};

use super::GuardRoutes;
use crate::http::{
    app::{App, ResponseFuture},
    client_ip::counted_address,
    request_log::refuse_malformed,
};

/// Answers every request. A `GET` of exactly the path of a guard, which nearly all requests are, skips the router: routing
/// costs more than the decision. Every other request to a guard gets the same answer through the router, and so does one of a
/// page of another origin, if there are origins whose pages may call the API.
#[derive(Clone)]
pub struct Service {
    router: Router,
    guards: Arc<GuardRoutes>,
    has_cors: bool,
}

impl Service {
    pub(crate) fn new(router: Router, guards: Arc<GuardRoutes>) -> Self {
        let has_cors = !guards.doorward.settings().cors_origins.is_empty();
        Self { router, guards, has_cors }
    }
}

impl App for Service {
    fn answer(&self, request: Request, peer: SocketAddr) -> ResponseFuture {
        if has_repeated_host(request.headers()) {
            let doorward = self.guards.doorward.clone();
            let client = counted_address(request.headers(), peer.ip(), &doorward);
            return Box::pin(refuse_malformed(doorward, request.method().clone(), client));
        }
        let is_fast = request.method() == Method::GET
            && !(self.has_cors && request.headers().contains_key(header::ORIGIN));
        match is_fast.then(|| self.guards.at(request.uri().path())).flatten() {
            Some(route) => {
                let (parts, _) = request.into_parts();
                Box::pin(Arc::clone(&self.guards).answer(route, parts, peer.ip()))
            }
            None => self.router.answer(request, peer),
        }
    }
}

/// Whether a request has several `Host` fields. A proxy that reads the first and a server that reads the last would see
/// different requests (RFC 9112, section 3.2).
fn has_repeated_host(headers: &HeaderMap) -> bool {
    headers.get_all(header::HOST).iter().count() > 1
}
