//! `GET /livez`, `GET /readyz`: what a load balancer asks.

use axum::{extract::State, http::StatusCode};

use super::{Error, body::Private};
use crate::Doorward;

/// The process answers: there is no reason to restart it.
pub(super) async fn live() -> Private<&'static str> {
    Private(StatusCode::OK, "alive")
}

/// The database answers as well: requests may be sent here.
pub(super) async fn ready(
    State(doorward): State<Doorward>,
) -> Result<Private<&'static str>, Error> {
    doorward.store().check().await?;
    Ok(Private(StatusCode::OK, "ready"))
}
