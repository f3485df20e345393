//! `GET /api/sessions` and `DELETE /api/sessions/<id>`: lists a user's sessions and ends one of them.

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::Serialize;

use crate::{
    Doorward,
    access::policy::{Authenticated, SignedIn},
    account::sessions,
    http::{
        Error,
        answer::{NoContent, NoStore},
        bearer::Bearer,
    },
    network::Requester,
    session::Session,
};

/// A session as its user sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedSession {
    id: String,
    created_at: String,
    last_seen_at: String,
    expires_at: String,
    authenticated_at: String,
    methods: Vec<&'static str>,
    address: String,
    user_agent: String,
    current: bool,
}

impl ListedSession {
    fn new(session: Session, current: &Session) -> Self {
        Self {
            current: session.id == current.id,
            id: session.id.to_string(),
            created_at: session.created_at.to_string(),
            last_seen_at: session.last_seen_at.to_string(),
            expires_at: session.expires_at.to_string(),
            authenticated_at: session.verified_at().to_string(),
            methods: session.methods.names(),
            address: session.client.address.to_string(),
            user_agent: session.client.user_agent,
        }
    }
}

/// The sessions of the user whose current session is `current`.
pub(crate) fn listed(sessions: Vec<Session>, current: &Session) -> Vec<ListedSession> {
    sessions.into_iter().map(|session| ListedSession::new(session, current)).collect()
}

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<Vec<ListedSession>>, Error> {
    let sessions = sessions::list(&doorward, caller.user.id).await?;
    Ok(NoStore(StatusCode::OK, listed(sessions, &caller.session)))
}

pub(crate) async fn end(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    requester: Requester,
    id: Result<Path<String>, PathRejection>,
) -> Result<NoContent, Error> {
    // An invalid id gets the same answer as an unknown one.
    let id = id.ok().and_then(|Path(id)| id.parse().ok()).ok_or(Error::NotFound)?;
    let is_ended = sessions::end(&doorward, *user_id, id, &requester).await?;
    if is_ended { Ok(NoContent) } else { Err(Error::NotFound) }
}
