//! Handlers of routes, of one type: axum's routing is compiled once for each state, not for each handler.

use std::sync::Arc;

use axum::{
    body::HttpBody,
    extract::{FromRef, Request},
    handler::Handler,
    response::IntoResponse,
    routing::{self, MethodFilter, MethodRouter},
};

use super::{app::ResponseFuture, form::with_whole_body};
use crate::Doorward;

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`, which includes `HEAD`.
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Any,
}

impl Method {
    /// The method as in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Any => "any",
        }
    }
}

/// A handler as a function, whose arguments axum names `T`.
pub(super) trait Function<T> {
    /// What it returns.
    type Answer;
}

macro_rules! function {
    ($($argument:ident),*) => {
        impl<F, R, M, $($argument),*> Function<(M, $($argument,)*)> for F
        where
            F: Fn($($argument),*) -> R,
            R: Future,
        {
            type Answer = R::Output;
        }
    };
}

function!();
function!(A);
function!(A, B);
function!(A, B, C);
function!(A, B, C, D);
function!(A, B, C, D, E);
function!(A, B, C, D, E, G);
function!(A, B, C, D, E, G, H);

/// A handler of any arguments.
#[derive(Clone)]
pub(super) struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> ResponseFuture + Send + Sync>);

impl<S: Clone + Send + Sync + 'static> AnyHandler<S> {
    pub(super) fn new<T>(handler: impl Handler<T, S, Future = ResponseFuture>) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }

    /// Calls the handler when the whole body has arrived. So whoever sends a request is judged when it is carried out, and not
    /// when it begins to arrive: in the meantime they may have lost their rights.
    pub(super) fn after_body(self) -> Self
    where
        Doorward: FromRef<S>,
    {
        Self(Arc::new(move |request, state| {
            if request.body().is_end_stream() {
                return (self.0)(request, state);
            }
            let handler = Arc::clone(&self.0);
            Box::pin(async move {
                match with_whole_body(request, &state).await {
                    Ok(request) => handler(request, state).await,
                    Err(error) => error.into_response(),
                }
            })
        }))
    }

    /// The handler as that of a method.
    pub(super) fn on(self, method: Method) -> MethodRouter<S> {
        match method {
            Method::Get => routing::on(MethodFilter::GET, self),
            Method::Post => routing::on(MethodFilter::POST, self),
            Method::Put => routing::on(MethodFilter::PUT, self),
            Method::Patch => routing::on(MethodFilter::PATCH, self),
            Method::Delete => routing::on(MethodFilter::DELETE, self),
            Method::Any => routing::any(self),
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = ResponseFuture;

    fn call(self, request: Request, state: S) -> ResponseFuture {
        (self.0)(request, state)
    }
}
