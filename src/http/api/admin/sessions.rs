//! `/api/admin/users/{user}/sessions`: the sessions of a user.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use super::target::{Named, find};
use crate::{
    Doorward,
    account::{
        order::{EndSession, EndSessions},
        sessions::{self, AllEnded},
    },
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::{NoContent, NoStore},
    },
    session::Session,
};

/// All sessions of a user.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<SessionInfo>,
}

/// A session as an administrator sees it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub id: String,
    /// When the user signed in.
    pub created_at: String,
    /// When the session was last used, to within some minutes.
    pub last_seen_at: String,
    pub expires_at: String,
    /// The address from which the user signed in.
    pub address: String,
    /// The program with which the user signed in, as it names itself.
    pub user_agent: String,
}

impl From<Session> for SessionInfo {
    fn from(session: Session) -> Self {
        Self {
            id: session.id.to_string(),
            created_at: session.created_at.to_string(),
            last_seen_at: session.last_seen_at.to_string(),
            expires_at: session.expires_at.to_string(),
            address: session.client.address.to_string(),
            user_agent: session.client.user_agent,
        }
    }
}

/// How many sessions were ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    pub sessions_ended: usize,
    /// How many API keys of the user still count.
    #[serde(default)]
    pub api_keys_left: usize,
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    Named(user): Named<String>,
) -> Result<NoStore<Sessions>, Error> {
    let user = find(&doorward, &user).await?;
    let sessions = sessions::list(&doorward, user.id).await?;
    let sessions = sessions.into_iter().map(SessionInfo::from).collect();
    Ok(NoStore(StatusCode::OK, Sessions { sessions }))
}

pub(in crate::http) async fn end_all(
    State(doorward): State<Doorward>,
    admin: Admin<EndSessions>,
    Named(user): Named<String>,
) -> Result<NoStore<Ended>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let AllEnded { sessions, keys_left } = admin.carry_out(&doorward, EndSessions, &user).await?;
    let ended = Ended { sessions_ended: sessions, api_keys_left: keys_left };
    Ok(NoStore(StatusCode::OK, ended))
}

pub(in crate::http) async fn end(
    State(doorward): State<Doorward>,
    admin: Admin<EndSession>,
    Named((user, session)): Named<(String, String)>,
) -> Result<NoContent, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let session = session.parse().map_err(|_| Error::NotFound)?;
    match admin.carry_out(&doorward, EndSession { session }, &user).await? {
        true => Ok(NoContent),
        false => Err(Error::NotFound),
    }
}
