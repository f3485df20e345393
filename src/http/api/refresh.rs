//! `POST /api/auth/refresh`: a new token for the same session, also if the old one has expired. The old one becomes invalid at
//! once, and using it again ends the session.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use serde::Serialize;

use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        policy::{Policy, SignedIn},
    },
    account::refresh,
    http::{
        Error,
        answer::NoStore,
        bearer::{credentials, refuse},
    },
    network::Requester,
    token::Token,
};

#[derive(Serialize)]
pub(crate) struct Refreshed {
    token: Token,
}

pub(crate) async fn refresh(
    State(doorward): State<Doorward>,
    requester: Requester,
    headers: HeaderMap,
) -> Result<NoStore<Refreshed>, Error> {
    let caller = match identify(&doorward, &headers).await {
        Ok(caller) => caller,
        Err(error) => {
            if matches!(error, AuthError::Unauthenticated(Unauthenticated::Replaced))
                && let Ok(token) = credentials("bearer", &headers)
                && let Ok(token) = str::from_utf8(token)
            {
                refresh::end_reused_session(&doorward, token, &requester).await?;
            }
            return Err(refuse(&doorward, SignedIn::NAME, error));
        }
    };
    let token = refresh::refresh(&doorward, &caller).await?;
    Ok(NoStore(StatusCode::OK, Refreshed { token }))
}

/// The caller whose token is to be refreshed.
async fn identify(doorward: &Doorward, headers: &HeaderMap) -> Result<Caller, AuthError> {
    let token = credentials("bearer", headers).map_err(Unauthenticated::from)?;
    doorward.caller_by_token_to_refresh(token).await
}
