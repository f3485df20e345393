//! Handlers of routes, of one type: axum's routing is compiled once for each state, not for each handler.

use std::sync::Arc;

use axum::{
    extract::Request,
    handler::Handler,
    routing::{self, MethodFilter, MethodRouter},
};

use super::app::Answer;
use crate::routes::Method;

/// The route of a handler for this method.
pub(super) fn on<T, S>(
    method: Method,
    handler: impl Handler<T, S, Future = Answer>,
) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let method = match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    };
    let handler = move |request, state| handler.clone().call(request, state);
    routing::on(method, AnyHandler(Arc::new(handler)))
}

#[derive(Clone)]
struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> Answer + Send + Sync>);

impl<S: Clone + Send + Sync + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = Answer;

    fn call(self, request: Request, state: S) -> Answer {
        (self.0)(request, state)
    }
}
