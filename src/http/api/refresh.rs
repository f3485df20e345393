//! `POST /api/auth/refresh`: a new token for the same session, also if the old one has expired. The old one becomes invalid at
//! once, and using it again ends the session.

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, request::Parts},
};

use super::login::LoggedIn;
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
        client_ip::requester,
    },
};

/// The caller whose token is refreshed. It may have expired.
pub(in crate::http) struct Refreshing(Caller);

impl FromRequestParts<Doorward> for Refreshing {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let error = match identify(doorward, &parts.headers).await {
            Ok(caller) => return Ok(Self(caller)),
            Err(error) => error,
        };
        if matches!(error, AuthError::Unauthenticated(Unauthenticated::Replaced))
            && let Ok(token) = credentials("bearer", &parts.headers)
            && let Ok(token) = str::from_utf8(token)
        {
            let requester = requester(parts, doorward);
            refresh::end_reused_session(doorward, token, &requester).await?;
        }
        Err(refuse(doorward, SignedIn::NAME, error))
    }
}

async fn identify(doorward: &Doorward, headers: &HeaderMap) -> Result<Caller, AuthError> {
    let token = credentials("bearer", headers).map_err(Unauthenticated::from)?;
    doorward.caller_by_token_to_refresh(token).await
}

pub(crate) async fn refresh(
    State(doorward): State<Doorward>,
    Refreshing(caller): Refreshing,
) -> Result<NoStore<LoggedIn>, Error> {
    let token = refresh::refresh(&doorward, &caller).await?;
    Ok(NoStore(StatusCode::OK, token.into()))
}
