//! `POST /oauth/revoke` (RFC 7009): ends the session of a token, also of one that has expired and could be refreshed. Revoking an
//! invalid token also succeeds.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::{AuthenticatedClient, TokenField};
use crate::{
    Doorward,
    access::caller::AuthError,
    account::sessions,
    http::{answer::NoStore, error::Error},
    network::Requester,
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Revoked {}

pub(crate) async fn revoke(
    State(doorward): State<Doorward>,
    AuthenticatedClient(client): AuthenticatedClient,
    requester: Requester,
    TokenField(token): TokenField,
) -> Result<NoStore<Revoked>, Error> {
    match doorward.caller_by_token_to_refresh(token.as_bytes()).await {
        Ok(caller) => {
            sessions::end_by_client(&doorward, &caller, client, &requester).await?;
        }
        Err(AuthError::Unauthenticated(_)) => {}
        Err(AuthError::Store(error)) => return Err(error.into()),
    }
    Ok(NoStore(StatusCode::OK, Revoked {}))
}
