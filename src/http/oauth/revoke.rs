//! `POST /oauth/revoke` (RFC 7009): ends the session of a token. Revoking an invalid token also succeeds.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{AuthenticatedClient, TokenField};
use crate::{
    Doorward,
    access::caller::AuthError,
    http::{answer::NoStore, error::Error},
};

#[derive(Serialize)]
pub(crate) struct Revoked {}

pub(crate) async fn revoke(
    State(doorward): State<Doorward>,
    AuthenticatedClient(client): AuthenticatedClient,
    TokenField(token): TokenField,
) -> Result<NoStore<Revoked>, Error> {
    match doorward.caller(&token).await {
        Ok(caller) => {
            doorward.store().end_session(caller.user.id, caller.session.id, doorward.now()).await?;
            tracing::info!(user = %caller.user.id, session = %caller.session.id, client, "session ended by a client");
        }
        Err(AuthError::Unauthenticated(_)) => {}
        Err(AuthError::Store(error)) => return Err(error.into()),
    }
    Ok(NoStore(StatusCode::OK, Revoked {}))
}
