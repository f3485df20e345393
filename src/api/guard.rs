//! The two guarded routes of the service document.

use axum::{extract::State, http::StatusCode};

use super::{body::Private, only::Only};
use crate::{
    Doorward,
    policy::{Authenticated, Designated},
};

/// `/api/auth/guard`: the action learns the caller's id and nothing else.
pub(super) async fn authenticated(Only(_user_id): Only<Authenticated>) -> Private<&'static str> {
    Private(StatusCode::OK, "You are authenticated.")
}

/// `/api/auth/<segment>`: the action holds the whole user.
pub(super) async fn designated(
    State(doorward): State<Doorward>,
    Only(_user): Only<Designated>,
) -> Private<String> {
    Private(StatusCode::OK, format!("You are {}.", doorward.designated().name()))
}
