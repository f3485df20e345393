//! `POST /api/auth/logout` and `POST /api/auth/logout-everywhere`: end this session, or all of the user's.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::{Authenticated, SignedIn},
    http::{Error, answer::NoContent, only::Only},
};

pub(crate) async fn logout(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
) -> Result<NoContent, Error> {
    doorward.store().end_session(caller.user.id, caller.session.id, doorward.now()).await?;
    tracing::info!(user = %caller.user.id, session = %caller.session.id, "logged out");
    Ok(NoContent)
}

pub(crate) async fn logout_everywhere(
    State(doorward): State<Doorward>,
    user_id: Only<Authenticated>,
) -> Result<NoContent, Error> {
    let ended = doorward.store().end_sessions(*user_id, doorward.now()).await?;
    tracing::info!(user = %*user_id, ended, "logged out everywhere");
    Ok(NoContent)
}
