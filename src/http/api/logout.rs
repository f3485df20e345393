//! `POST /api/auth/logout` and `POST /api/auth/logout-everywhere`: end this session, or all sessions of the user.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::{Authenticated, SignedIn},
    account::sessions,
    http::{Error, answer::NoContent, bearer::Bearer},
    network::Requester,
};

pub(crate) async fn logout(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<NoContent, Error> {
    sessions::log_out(&doorward, &caller, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn logout_everywhere(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    requester: Requester,
) -> Result<NoContent, Error> {
    sessions::log_out_everywhere(&doorward, *user_id, &requester).await?;
    Ok(NoContent)
}
