//! `POST /oauth/revoke` (RFC 7009): ends the session of a token. What is no good token needs no end: that is a success, too.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{AskedToken, KnownClient};
use crate::{
    Doorward,
    http::{Error, answer::Private},
};

#[derive(Serialize)]
pub(in crate::http) struct Revoked {}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    KnownClient(client): KnownClient,
    AskedToken(token): AskedToken,
) -> Result<Private<Revoked>, Error> {
    if let Ok(caller) = doorward.caller(&token).await? {
        doorward.store().end_session(caller.user.id, caller.session.id, doorward.now()).await?;
        tracing::info!(user = %caller.user.id, session = %caller.session.id, client, "session ended by a client");
    }
    Ok(Private(StatusCode::OK, Revoked {}))
}
