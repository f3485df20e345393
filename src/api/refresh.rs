//! `POST /api/auth/refresh`: a new token for the same session; the old one ends at once.

use std::time::Instant;

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{Challenge, Error, body::Private, only::Only};
use crate::{
    Doorward,
    policy::SignedIn,
    session::{Session, TokenId},
    token::Token,
};

#[derive(Serialize)]
pub(super) struct Refreshed {
    token: Token,
}

pub(super) async fn refresh(
    State(doorward): State<Doorward>,
    Only(caller): Only<SignedIn>,
) -> Result<Private<Refreshed>, Error> {
    doorward.throttle().refresh(caller.user.id, Instant::now())?;
    let (token_id, now) = (TokenId::random(), doorward.now());
    if !doorward.store().renew_session(&caller.session, token_id, now).await? {
        return Err(Error::Unauthorized(Challenge::InvalidToken, None));
    }
    let session = Session { token_id, ..(*caller.session).clone() };
    let token = doorward.mint().issue(&session, now);
    Ok(Private(StatusCode::OK, Refreshed { token }))
}
