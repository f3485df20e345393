//! The HTTP floor: the table of routes and what happens around each of them.

mod answer;
mod api;
mod client_ip;
mod error;
mod form;
mod forward_auth;
mod oauth;
pub mod only;
mod refusal_log;
mod request_id;
mod request_log;
pub mod server;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    middleware::from_fn,
    routing::{any, delete, get, post},
};

use self::{
    api::{health, login, logout, look_up, me, openapi, refresh, register, reset, sessions},
    forward_auth::{Door, Doors},
    oauth::{revocations, well_known},
};
pub(crate) use self::{
    error::plain_body, forward_auth::identity::names as identity_names, request_log::REQUEST_ID,
};
pub use self::{
    error::{Challenge, Error},
    forward_auth::fast_path::Service,
    request_id::RequestId,
};
use crate::Doorward;

impl Doorward {
    /// The routes of the service, to be merged into an axum app: accounts, login, sessions, a guard for each declared
    /// name, and the endpoints for token verifiers.
    pub fn routes(&self) -> Router {
        let doors = Arc::new(Doors::new(self.clone()));
        routes_with(self.clone(), &doors)
    }
}

fn routes_with(doorward: Doorward, doors: &Arc<Doors>) -> Router {
    let service = Router::new()
        .route("/api/user", post(register::register))
        .route("/api/user/{id}", get(look_up::look_up))
        .route("/api/auth/login", post(login::login))
        .route("/api/auth/logout", post(logout::logout))
        .route("/api/auth/logout-everywhere", post(logout::logout_everywhere))
        .route("/api/auth/refresh", post(refresh::refresh))
        .route("/api/auth/reset", post(reset::reset))
        .route("/api/sessions", get(sessions::list))
        .route("/api/sessions/{id}", delete(sessions::end))
        .route("/api/me", get(me::show).patch(me::change).delete(me::delete))
        .route("/api/me/password", post(me::change_password))
        .route("/api/me/export", get(me::export))
        .route("/oauth/introspect", post(oauth::introspect))
        .route("/oauth/revoke", post(oauth::revoke))
        .route("/.well-known/jwks.json", get(well_known::keys))
        .route("/.well-known/openid-configuration", get(well_known::metadata))
        .route("/.well-known/oauth-authorization-server", get(well_known::metadata))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn(request_log::attend));
    let feed = Router::new()
        .route("/.well-known/revocations", get(revocations::revocations))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn(request_log::attend_quietly));
    service.merge(feed).merge(guards(doors)).with_state(doorward)
}

/// Guards answer every method, because some proxies ask with that of the request that they guard, and every path
/// below their own, because some put the guarded path there.
fn guards<S: Clone + Send + Sync + 'static>(doors: &Arc<Doors>) -> Router<S> {
    let segment = doors.designated_segment();
    let named =
        [("guard", Door::Authenticated), (segment, Door::Designated), ("{guard}", Door::Declared)];
    named.into_iter().fold(Router::new(), |router, (guard, door)| {
        let (path, doors) = (format!("/api/auth/{guard}"), Arc::clone(doors));
        let ask = any(move |request: Request| doors.ask(door, request.into_parts().0));
        router
            .route(&path, ask.clone())
            .route(&format!("{path}/"), ask.clone())
            .route(&format!("{path}/{{*tail}}"), ask)
    })
}

/// The whole service: the routes, those that an app has its own of, and an answer to everything else.
pub fn service(doorward: Doorward) -> Service {
    let document = openapi::document(&doorward);
    let elsewhere = Router::new()
        .route("/openapi.json", get(async move || openapi::answer(document)))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .fallback(async || Error::NotFound)
        .layer(from_fn(request_log::attend_quietly))
        .with_state(doorward.clone());
    let doors = Arc::new(Doors::new(doorward.clone()));
    Service::new(routes_with(doorward, &doors).merge(elsewhere), doors)
}
