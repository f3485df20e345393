//! The whole service, and the short way through it.

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

use super::Doors;
use crate::http::request_log::attend_malformed;

/// Answers every request. One that GETs exactly the path of a guard, as nearly all do, is not looked up in the table of
/// routes, which would cost more than the guard's decision; every other way to a guard leads through the table to the
/// same answer.
#[derive(Clone)]
pub struct Service {
    routes: Router,
    doors: Arc<Doors>,
}

impl Service {
    pub(in crate::http) fn new(routes: Router, doors: Arc<Doors>) -> Self {
        Self { routes, doors }
    }
}

impl tower_service::Service<Request> for Service {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Straight, RouteFuture<Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if names_two_hosts(request.headers()) {
            let method = request.method().clone();
            return Either::Left(Box::pin(attend_malformed(method).map(Ok)));
        }
        let is_get = request.method() == Method::GET;
        match is_get.then(|| self.doors.at(request.uri().path())).flatten() {
            Some(door) => {
                let (parts, _) = request.into_parts();
                let asking = Arc::clone(&self.doors).ask(door, parts);
                Either::Left(Box::pin(asking.map(Ok)))
            }
            None => Either::Right(self.routes.call(request)),
        }
    }
}

/// Whoever reads the first and whoever reads the last of two `Host` fields see different requests: RFC 9112, 3.2.
fn names_two_hosts(headers: &HeaderMap) -> bool {
    // The numbers tell whether any field is there twice, for less than a look-up.
    headers.len() != headers.keys_len() && headers.get_all(header::HOST).iter().count() > 1
}

/// The answer of a guard that was asked straight away.
type Straight = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;
