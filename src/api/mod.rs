//! The HTTP floor: the table of routes and what happens around each of them.

mod attend;
mod body;
mod error;
mod form;
mod guard;
mod login;
mod look_up;
pub mod only;
mod register;

use axum::{
    Router,
    extract::FromRef,
    routing::{any, get, post},
};

pub(crate) use self::{attend::REQUEST_ID, error::plain_body};
pub use self::{
    attend::RequestId,
    error::{Challenge, Error},
};
use crate::{
    Doorward,
    policy::{Authenticated, Designated},
};

/// The five routes of the service document.
pub fn routes(doorward: Doorward) -> Router {
    let designated = format!("/api/auth/{}", doorward.settings().designated_segment);
    Router::new()
        .route("/api/user", post(register::register))
        .route("/api/user/{id}", get(look_up::look_up))
        .route("/api/auth/login", post(login::login))
        // Some proxies ask with the method of the request that they guard.
        .route("/api/auth/guard", any(guard::authenticated))
        .route(&designated, any(guard::designated))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(axum::middleware::from_fn(attend::attend))
        .with_state(doorward)
}

/// The whole service: the routes, and an answer to everything else.
pub fn service(doorward: Doorward) -> Router {
    let elsewhere = Router::new()
        .fallback(async || Error::NotFound)
        .layer(axum::middleware::from_fn(attend::attend));
    routes(doorward).merge(elsewhere)
}

impl FromRef<Doorward> for Authenticated {
    fn from_ref(_: &Doorward) -> Self {
        Self
    }
}

impl FromRef<Doorward> for Designated {
    fn from_ref(doorward: &Doorward) -> Self {
        doorward.designated().clone()
    }
}
