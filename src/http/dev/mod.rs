//! The service of `doorward dev`: the whole service since the last reset, a header that says what it is on every answer, and
//! routes below `/dev` for tests.

mod clock;
mod keys;
mod logins;
mod mail;
mod reset;
mod sign_in;
mod users;

use std::{net::SocketAddr, sync::Arc};

use arc_swap::ArcSwap;
use axum::{
    Router,
    extract::{FromRef, Request},
    http::{HeaderName, HeaderValue},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, patch, post},
};
use futures_util::FutureExt;

use super::{
    Error, Service,
    app::{App, ResponseFuture},
    browser::cross_site::{is_for_loopback, is_from_other_site, may_read},
    request_log, service,
};
use crate::{
    Doorward,
    dev::{DevServer, StartError},
};

/// What every answer says.
pub(crate) const WARNING: &str =
    "Development server: data is in memory and passwords are not protected";
/// The prefix of the routes that control the server. No other route starts with it.
pub(super) const PREFIX: &str = "/dev/";
const WARNING_HEADER: HeaderName = HeaderName::from_static("x-doorward-development");

/// The service of `doorward dev`.
#[derive(Clone)]
pub(crate) struct DevService {
    current: Arc<ArcSwap<Service>>,
    routes: Router,
}

/// What the routes below `/dev` share.
#[derive(Clone)]
struct Control {
    server: Arc<DevServer>,
    current: Arc<ArcSwap<Service>>,
}

impl FromRef<Control> for Doorward {
    fn from_ref(control: &Control) -> Self {
        control.server.doorward()
    }
}

impl DevService {
    pub(crate) fn new(server: Arc<DevServer>) -> Self {
        let current = Arc::new(ArcSwap::from_pointee(service(server.doorward())));
        let routes = routes(Control { server, current: Arc::clone(&current) });
        Self { current, routes }
    }
}

fn routes(control: Control) -> Router {
    // A browser is sent there from pages of Doorward and of apps.
    let visited = Router::new()
        .route("/dev/logins/{login}/authorize", get(logins::authorize))
        .layer(from_fn(admit_visitors));
    let controlled = Router::new()
        .route("/dev/clock", get(clock::show).post(clock::set))
        .route("/dev/mail", get(mail::list).delete(mail::clear))
        .route("/dev/users", get(users::list).post(users::add))
        .route("/dev/users/{user}", patch(users::change).delete(users::delete))
        .route("/dev/sign-in", post(sign_in::sign_in))
        .route("/dev/logins/{login}", post(logins::expect))
        .route("/dev/logins/{login}/.well-known/openid-configuration", get(logins::discovery))
        .route("/dev/logins/{login}/keys", get(logins::keys))
        .route("/dev/logins/{login}/authorize", post(logins::choose))
        .route("/dev/logins/{login}/token", post(logins::token))
        .route("/dev/rotate-keys", post(keys::rotate))
        .route("/dev/reset", post(reset::reset))
        .fallback(async || Error::NotFound)
        .layer(from_fn(refuse_other_sites));
    visited
        .merge(controlled)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn_with_state(control.clone(), request_log::log_request))
        .with_state(control)
}

/// Keeps pages of other sites in the developer's browser from controlling the server.
async fn refuse_other_sites(request: Request, next: Next) -> Response {
    match is_from_other_site(request.headers()) {
        true => Error::CrossSite(None).into_response(),
        false => next.run(request).await,
    }
}

/// Lets pages of other sites open a page, as those of any provider.
async fn admit_visitors(request: Request, next: Next) -> Response {
    let headers = request.headers();
    match is_for_loopback(headers) && may_read(headers) {
        true => next.run(request).await,
        false => Error::CrossSite(None).into_response(),
    }
}

impl App for DevService {
    fn answer(&self, request: Request, peer: SocketAddr) -> ResponseFuture {
        let answer = match request.uri().path().starts_with(PREFIX) {
            true => self.routes.answer(request, peer),
            false => self.current.load().answer(request, peer),
        };
        Box::pin(answer.map(|mut response| {
            response.headers_mut().insert(WARNING_HEADER, HeaderValue::from_static(WARNING));
            response
        }))
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(error) => error.into(),
            StartError::Busy(busy) => busy.into(),
            StartError::Account(error) => error.into(),
            StartError::Open(error) => Self::Internal(error.to_string()),
        }
    }
}
