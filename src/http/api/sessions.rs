//! `GET /api/sessions` and `DELETE /api/sessions/<id>`: lists a user's sessions and ends one of them.

use std::net::IpAddr;

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Doorward,
    access::policy::{Authenticated, SignedIn},
    account::sessions,
    clock::Timestamp,
    http::{
        Error,
        answer::{NoContent, NoStore},
        bearer::Bearer,
        path_id::PathId,
    },
    network::Requester,
    session::{Methods, Session, SessionId},
};

/// A session as its user sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session")]
pub(crate) struct ListedSession {
    id: SessionId,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    expires_at: Timestamp,
    /// Since when everything in `methods` is proved: the time of the first of them. A refresh keeps it.
    authenticated_at: Timestamp,
    methods: Methods,
    address: IpAddr,
    #[schemars(length(max = 256))]
    user_agent: String,
    /// Whether the request came from this session.
    current: bool,
}

impl ListedSession {
    fn new(session: Session, current: &Session) -> Self {
        Self {
            current: session.id == current.id,
            id: session.id,
            created_at: session.created_at,
            last_seen_at: session.last_seen_at,
            expires_at: session.expires_at,
            authenticated_at: session.verified_at(),
            methods: session.methods,
            address: session.client.address,
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
    id: PathId<SessionId>,
) -> Result<NoContent, Error> {
    let is_ended = sessions::end(&doorward, *user_id, id.valid()?, &requester).await?;
    NoContent::if_found(is_ended)
}
