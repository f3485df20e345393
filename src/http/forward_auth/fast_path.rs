//! The whole service, with a fast path to its guards.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, Method, header},
    response::Response,
    routing::future::RouteFuture,
};
use futures_util::{FutureExt, future::Either};

use super::GuardRoutes;
use crate::http::request_log::refuse_malformed;

/// Answers every request. A `GET` of exactly the path of a guard, which nearly all requests are, skips the router: routing
/// costs more than the decision. Every other request to a guard gets the same answer through the router.
#[derive(Clone)]
pub struct Service {
    router: Router,
    guards: Arc<GuardRoutes>,
}

impl Service {
    pub(crate) fn new(router: Router, guards: Arc<GuardRoutes>) -> Self {
        Self { router, guards }
    }
}

impl tower_service::Service<Request> for Service {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<FastPath, RouteFuture<Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if has_repeated_host(request.headers()) {
            let method = request.method().clone();
            return Either::Left(Box::pin(refuse_malformed(method).map(Ok)));
        }
        let is_get = request.method() == Method::GET;
        match is_get.then(|| self.guards.at(request.uri().path())).flatten() {
            Some(route) => {
                let (parts, _) = request.into_parts();
                let answer = Arc::clone(&self.guards).answer(route, parts);
                Either::Left(Box::pin(answer.map(Ok)))
            }
            None => Either::Right(self.router.call(request)),
        }
    }
}

/// Whether a request has several `Host` fields. A proxy that reads the first and a server that reads the last would see
/// different requests (RFC 9112, section 3.2).
fn has_repeated_host(headers: &HeaderMap) -> bool {
    // Comparing the counts finds out whether any field is repeated, and costs less than a look-up.
    headers.len() != headers.keys_len() && headers.get_all(header::HOST).iter().count() > 1
}

/// An answer that did not go through the router.
type FastPath = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;
