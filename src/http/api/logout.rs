//! `POST /api/auth/logout` and `POST /api/auth/logout-everywhere`: end this session, or all of the user's.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::{Authenticated, SignedIn},
    http::{Error, answer::Done, only::Only},
};

pub(in crate::http) async fn logout(
    State(doorward): State<Doorward>,
    Only(caller): Only<SignedIn>,
) -> Result<Done, Error> {
    doorward.store().end_session(caller.user.id, caller.session.id, doorward.now()).await?;
    tracing::info!(user = %caller.user.id, session = %caller.session.id, "logged out");
    Ok(Done)
}

pub(in crate::http) async fn logout_everywhere(
    State(doorward): State<Doorward>,
    Only(user_id): Only<Authenticated>,
) -> Result<Done, Error> {
    let ended = doorward.store().end_sessions(user_id, doorward.now()).await?;
    tracing::info!(user = %user_id, ended, "logged out everywhere");
    Ok(Done)
}
