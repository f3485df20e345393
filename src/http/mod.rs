//! HTTP: the router, built from the table of routes, and the middleware.

mod answer;
mod api;
mod app;
mod browser;
mod client_ip;
#[cfg(feature = "cli")]
pub(crate) mod dev;
mod error;
mod form;
mod forward_auth;
mod handler;
mod oauth;
pub mod only;
#[cfg(feature = "cli")]
mod operations;
mod other_sites;
mod pages;
mod request_counts;
mod request_id;
mod request_log;
#[cfg(feature = "cli")]
pub mod server;
mod trace_context;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    middleware::{from_fn, from_fn_with_state},
    routing::{MethodRouter, any},
};

pub(crate) use self::forward_auth::identity::names as identity_names;
#[cfg(feature = "cli")]
pub use self::operations::{operations, operations_limits};
use self::{
    api::{
        health, invitations, login, logout, look_up, mail_code, me, openapi, refresh, register,
        reset, sessions, verify,
    },
    forward_auth::{GuardRoute, GuardRoutes},
    handler::on,
    oauth::{introspect, revocations, revoke, well_known},
    pages::Pages,
};
pub use self::{
    app::App,
    error::{Challenge, Error},
    forward_auth::fast_path::Service,
};
use crate::{
    Doorward,
    routes::{self, Endpoint, GuardKind, Method, ROUTES, Target},
};

impl Doorward {
    /// The routes of the service, to be merged into an axum app: accounts, login, sessions, a guard for each declared
    /// name, and the endpoints for token verifiers.
    pub fn routes(&self) -> Router {
        let pages = Arc::new(Pages::new(self.clone()));
        let guards = Arc::new(GuardRoutes::new(&pages));
        embedded_routes(&pages, &guards).with_state(self.clone())
    }
}

/// The whole service: the embedded routes, those of the server, and an answer to every other path.
pub fn service(doorward: Doorward) -> Service {
    let pages = Arc::new(Pages::new(doorward.clone()));
    let guards = Arc::new(GuardRoutes::new(&pages));
    let server = ROUTES.iter().fold(Router::new(), |router, route| match route.target {
        Target::Server(endpoint) => router.route(route.path, handler(route.method, endpoint)),
        _ => router,
    });
    let server = server
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn(request_log::log_polled_request));
    let mut other_paths = Router::new()
        .fallback(async || Error::NotFound)
        .layer(from_fn(request_log::log_polled_request));
    let mut service = embedded_routes(&pages, &guards).merge(server);
    if doorward.settings().pages {
        service = service.merge(pages::server_pages(&pages).with_state(()));
        other_paths = other_paths.layer(from_fn_with_state(pages, pages::for_other_paths));
    }
    Service::new(service.merge(other_paths).with_state(doorward), guards)
}

fn embedded_routes(pages: &Arc<Pages>, guards: &Arc<GuardRoutes>) -> Router<Doorward> {
    let (mut api, mut polled, mut guarded) = (Router::new(), Router::new(), Router::new());
    for route in ROUTES {
        match route.target {
            Target::Api(endpoint) => {
                api = api.route(route.path, handler(route.method, endpoint));
            }
            Target::Polled(endpoint) => {
                polled = polled.route(route.path, handler(route.method, endpoint));
            }
            Target::Guard(kind) => guarded = with_guard(guarded, route.path, kind, guards),
            Target::Server(_) | Target::Page(_) | Target::ServerPage(_) => {}
        }
    }
    let method_not_allowed = async || Error::MethodNotAllowed;
    api.method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(pages), other_sites::refuse_other_sites))
        .layer(from_fn(request_log::log_request))
        .merge(
            polled
                .method_not_allowed_fallback(method_not_allowed)
                .layer(from_fn(request_log::log_polled_request)),
        )
        .merge(guarded)
}

/// A guard answers every path below its own and every method except for `CONNECT`: some proxies send the method of the
/// guarded request, and some append its path.
fn with_guard(
    router: Router<Doorward>,
    path: &str,
    kind: GuardKind,
    guards: &Arc<GuardRoutes>,
) -> Router<Doorward> {
    let path = path.replace(routes::SEGMENT, guards.designated_segment());
    let guards = Arc::clone(guards);
    let answer = any(move |request: Request| {
        let (parts, _) = request.into_parts();
        let route = match parts.method == axum::http::Method::CONNECT {
            true => GuardRoute::Tunnel,
            false => guards.route(kind, parts.uri.path()),
        };
        let peer = client_ip::peer(&parts.extensions);
        guards.answer(route, parts, peer)
    });
    router
        .route(&path, answer.clone())
        .route(&format!("{path}/"), answer.clone())
        .route(&format!("{path}/{{*tail}}"), answer)
}

fn handler(method: Method, endpoint: Endpoint) -> MethodRouter<Doorward> {
    match endpoint {
        Endpoint::Register => on(method, register::register),
        Endpoint::LookUp => on(method, look_up::look_up),
        Endpoint::Login => on(method, login::login),
        Endpoint::Logout => on(method, logout::logout),
        Endpoint::LogoutEverywhere => on(method, logout::logout_everywhere),
        Endpoint::Refresh => on(method, refresh::refresh),
        Endpoint::ForgotPassword => on(method, reset::forgot),
        Endpoint::ResetPassword => on(method, reset::reset),
        Endpoint::VerifyEmail => on(method, verify::verify),
        Endpoint::RestoreEmail => on(method, verify::restore),
        Endpoint::SendVerification => on(method, verify::send),
        Endpoint::SendCode => on(method, mail_code::send),
        Endpoint::LoginByCode => on(method, mail_code::login),
        Endpoint::Invite => on(method, invitations::invite),
        Endpoint::ListInvitations => on(method, invitations::list),
        Endpoint::RevokeInvitation => on(method, invitations::revoke),
        Endpoint::ListSessions => on(method, sessions::list),
        Endpoint::EndSession => on(method, sessions::end),
        Endpoint::ShowMe => on(method, me::show),
        Endpoint::ChangeMe => on(method, me::change),
        Endpoint::DeleteMe => on(method, me::delete),
        Endpoint::ChangePassword => on(method, me::change_password),
        Endpoint::Export => on(method, me::export),
        Endpoint::Introspect => on(method, introspect::introspect),
        Endpoint::Revoke => on(method, revoke::revoke),
        Endpoint::KeySet => on(method, well_known::keys),
        Endpoint::Metadata => on(method, well_known::metadata),
        Endpoint::Revocations => on(method, revocations::revocations),
        Endpoint::OpenApi => {
            let shared = openapi::Shared::default();
            on(method, move |State(doorward): State<Doorward>| {
                openapi::show(doorward, Arc::clone(&shared))
            })
        }
        Endpoint::Live => on(method, health::live),
        Endpoint::Ready => on(method, health::ready),
    }
}
