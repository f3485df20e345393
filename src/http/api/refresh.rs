//! `POST /api/auth/refresh`: a new token for the same session; the old one ends at once. Using a replaced token again ends
//! the session.

use std::time::{Duration, Instant};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use serde::Serialize;

use crate::{
    Doorward,
    access::{
        caller::{AuthError, Unauthenticated},
        policy::{Policy, SignedIn},
    },
    http::{
        Challenge, Error,
        answer::NoStore,
        only::{credentials, identify, refuse},
    },
    session::{Session, TokenId},
    store::{self, ReusedToken},
    token::Token,
};

/// A client whose answer was lost may come again with the token that it has. It gets no other one, because exactly one
/// refresh of a token succeeds, but its session goes on.
const TOLERANCE: Duration = Duration::from_secs(30);

#[derive(Serialize)]
pub(crate) struct Refreshed {
    token: Token,
}

pub(crate) async fn refresh(
    State(doorward): State<Doorward>,
    headers: HeaderMap,
) -> Result<NoStore<Refreshed>, Error> {
    let caller = match identify(&doorward, &headers).await {
        Ok(caller) => caller,
        Err(error) => {
            if matches!(error, AuthError::Unauthenticated(Unauthenticated::Replaced)) {
                end_reused(&doorward, &headers).await?;
            }
            return Err(refuse(&doorward, SignedIn::NAME, error));
        }
    };
    doorward.throttle().charge_refresh(caller.user.id, Instant::now())?;
    let (token_id, now) = (TokenId::random(), doorward.now());
    if !doorward.store().renew_session(&caller.session, token_id, now).await? {
        return Err(Error::Unauthorized(Challenge::InvalidToken, None));
    }
    let session = Session { token_id, ..(*caller.session).clone() };
    let token = doorward.mint().issue(&session, now);
    Ok(NoStore(StatusCode::OK, Refreshed { token }))
}

/// Two hold tokens of the session whose token has been replaced, and one of them has stolen it.
async fn end_reused(doorward: &Doorward, headers: &HeaderMap) -> Result<(), store::Error> {
    let (token, now) = (credentials("bearer", headers), doorward.now());
    // The signature was checked when the token was found to be replaced.
    let Some(replaced) = token.ok().and_then(|token| doorward.mint().read(token, now).ok()) else {
        return Ok(());
    };
    let claims = replaced.claims;
    let (user_id, session_id, token_id) = (claims.user_id, claims.session_id, claims.token_id);
    let reused = ReusedToken { user_id, session_id, token_id };
    if doorward.store().end_reused_session(&reused, now - TOLERANCE, now).await? {
        tracing::warn!(
            user = %user_id, session = %session_id,
            "refresh token reuse: a replaced token was used again, so the session has been ended"
        );
    }
    Ok(())
}
