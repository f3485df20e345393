//! HTTP: the router, built from the table of routes, and the middleware.

mod account_error;
pub mod admin;
mod answer;
pub mod api;
mod app;
mod audit_filter;
mod basic;
pub mod bearer;
mod browser;
mod client_ip;
mod cors;
mod description;
#[cfg(feature = "cli")]
pub(crate) mod dev;
mod downloads;
mod error;
mod factor_challenge;
mod factor_forms;
mod form;
mod form_problem;
mod forward_auth;
mod handler;
mod html;
mod mail_forms;
mod may_call;
mod oauth;
pub mod only;
mod openapi;
#[cfg(feature = "cli")]
mod operations;
mod other_sites;
mod pages;
mod path_id;
pub mod paths;
mod query;
pub(crate) mod read_buffer;
mod request_log;
#[cfg(test)]
mod required_factor_tests;
pub mod routes;
#[cfg(feature = "cli")]
pub mod server;
mod slow_answer;
mod spooled;
mod standing;
mod trace_context;
mod webauthn;

use std::sync::Arc;

use axum::{Router, extract::Request, middleware::from_fn_with_state, routing::any};

pub(crate) use self::forward_auth::identity::names as identity_names;
#[cfg(feature = "cli")]
pub use self::operations::{operations, operations_limits};
pub use self::{app::App, error::Error, forward_auth::fast_path::Service};
use self::{
    forward_auth::{GuardKind, GuardRoutes},
    html::Pages,
    routes::{Route, RouteHandler, routes},
};
use crate::Doorward;

impl Doorward {
    /// The routes of the service, to be merged into an axum app: accounts, login, sessions, a guard for each declared
    /// name, and the endpoints for token verifiers.
    pub fn routes(&self) -> Router {
        let pages = Arc::new(Pages::new(self.clone()));
        let guards = Arc::new(GuardRoutes::new(&pages));
        api_router(embedded_routes(), &pages, &guards)
    }

    /// The pages on which people sign in and manage their account, to be merged into an axum app beside
    /// [`routes`](Self::routes): `/sign-in`, `/sign-up`, `/sign-out`, `/forgot`, `/reset`, `/verify`, `/restore-email`,
    /// `/account`, `/admin`, `/refused/…` and `/.well-known/change-password`. The start page is the app's own.
    ///
    /// The pages need the setting `public_url` with `https://`, except on loopback hosts.
    ///
    /// From then on, [`Only`](crate::Only) knows people by the session cookie of these pages, and sends those without one to
    /// `/sign-in` and back.
    pub fn pages(&self) -> Router {
        self.set_has_pages();
        page_router(embedded_routes(), &Arc::new(Pages::new(self.clone())))
    }
}

fn embedded_routes() -> impl Iterator<Item = Route> {
    routes().into_iter().filter(|route| !route.is_only_in_server)
}

/// The whole service: every route, and an answer to every other path.
pub fn service(doorward: Doorward) -> Service {
    let pages = Arc::new(Pages::new(doorward.clone()));
    let guards = Arc::new(GuardRoutes::new(&pages));
    let mut service = api_router(routes(), &pages, &guards);
    let mut other_paths = Router::new()
        .fallback(cors::not_found)
        .layer(from_fn_with_state(doorward.clone(), request_log::log_polled_request))
        .with_state(doorward.clone());
    if doorward.settings().pages {
        service = service.merge(page_router(routes(), &pages));
        other_paths = other_paths.layer(from_fn_with_state(pages, pages::for_other_paths));
    }
    if has_cors(&doorward) {
        other_paths = other_paths.layer(from_fn_with_state(doorward, cors::let_read));
    }
    Service::new(service.merge(other_paths), guards)
}

/// Whether pages of other origins may call the API.
fn has_cors(doorward: &Doorward) -> bool {
    !doorward.settings().cors_origins.is_empty()
}

/// The routes for programs, and the guards.
fn api_router(
    routes: impl IntoIterator<Item = Route>,
    pages: &Arc<Pages>,
    guards: &Arc<GuardRoutes>,
) -> Router {
    let (mut api, mut polled, mut guarded) = (Router::new(), Router::new(), Router::new());
    for route in routes {
        let waits = route.waits_for_body();
        match route.handler {
            RouteHandler::Api(handler) if route.is_polled => {
                polled = polled.route(route.path, handler.on(route.method));
            }
            RouteHandler::Api(handler) => {
                let handler = if waits { handler.after_body() } else { handler };
                api = api.route(route.path, handler.on(route.method));
            }
            RouteHandler::Guard(kind) => guarded = with_guard(guarded, route.path, kind, guards),
            RouteHandler::Page(_) => {}
        }
    }
    let doorward = pages.doorward().clone();
    let router = api
        .method_not_allowed_fallback(cors::method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(pages), other_sites::refuse_other_sites))
        .layer(from_fn_with_state(doorward.clone(), request_log::log_request))
        .merge(
            polled
                .method_not_allowed_fallback(cors::method_not_allowed)
                .layer(from_fn_with_state(doorward.clone(), request_log::log_polled_request)),
        )
        .merge(guarded)
        .with_state(doorward.clone());
    match has_cors(&doorward) {
        true => router.route_layer(from_fn_with_state(doorward, cors::let_read)),
        false => router,
    }
}

/// A guard answers every path below its own and every method except for `CONNECT`: some proxies send the method of the
/// guarded request, and some append its path.
fn with_guard(
    router: Router<Doorward>,
    path: &str,
    kind: GuardKind,
    guards: &Arc<GuardRoutes>,
) -> Router<Doorward> {
    let path = path.replace(paths::SEGMENT, guards.designated_segment());
    let guards = Arc::clone(guards);
    let answer = any(move |request: Request| {
        let (parts, _) = request.into_parts();
        let route = guards.route_of(kind, &parts);
        let peer = client_ip::peer(&parts.extensions);
        guards.answer(route, parts, peer)
    });
    router
        .route(&path, answer.clone())
        .route(&format!("{path}/"), answer.clone())
        .route(&format!("{path}/{{*tail}}"), answer)
}

/// The pages for people.
fn page_router(routes: impl IntoIterator<Item = Route>, pages: &Arc<Pages>) -> Router {
    let mut router = Router::new();
    for route in routes {
        let waits = route.waits_for_body();
        if let RouteHandler::Page(handler) = route.handler {
            let handler = if waits { handler.after_body() } else { handler };
            router = router.route(route.path, handler.on(route.method));
        }
    }
    router
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn_with_state(pages.doorward().clone(), request_log::log_request))
        .layer(from_fn_with_state(Arc::clone(pages), pages::for_pages))
        .with_state(Arc::clone(pages))
}
