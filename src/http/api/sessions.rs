//! `GET /api/sessions` and `DELETE /api/sessions/<id>`: where a user is signed in, and an end to it.

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::Serialize;

use crate::{
    Caller, Doorward,
    access::policy::{Authenticated, SignedIn},
    http::{
        Error,
        answer::{NoContent, NoStore},
        only::Only,
    },
    session::Session,
};

/// A session as its user sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    id: String,
    created_at: String,
    last_seen_at: String,
    expires_at: String,
    address: String,
    user_agent: String,
    current: bool,
}

impl Listed {
    fn new(session: Session, current: &Session) -> Self {
        Self {
            current: session.id == current.id,
            id: session.id.to_string(),
            created_at: session.created_at.to_string(),
            last_seen_at: session.last_seen_at.to_string(),
            expires_at: session.expires_at.to_string(),
            address: session.origin.address.to_string(),
            user_agent: session.origin.user_agent,
        }
    }
}

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
) -> Result<NoStore<Vec<Listed>>, Error> {
    Ok(NoStore(StatusCode::OK, sessions_by_user(&doorward, &caller).await?))
}

pub(crate) async fn end(
    State(doorward): State<Doorward>,
    user_id: Only<Authenticated>,
    id: Result<Path<String>, PathRejection>,
) -> Result<NoContent, Error> {
    // Whatever cannot be an id is nobody's.
    let id = id.ok().and_then(|Path(id)| id.parse().ok()).ok_or(Error::NotFound)?;
    if !doorward.store().end_session(*user_id, id, doorward.now()).await? {
        return Err(Error::NotFound);
    }
    tracing::info!(user = %*user_id, session = %id, "session ended by its user");
    Ok(NoContent)
}

/// Every session of the caller, the oldest first.
pub(crate) async fn sessions_by_user(
    doorward: &Doorward,
    caller: &Caller,
) -> Result<Vec<Listed>, Error> {
    let sessions = doorward.store().sessions_by_user(caller.user.id, doorward.now()).await?;
    Ok(sessions.into_iter().map(|session| Listed::new(session, &caller.session)).collect())
}
