//! `/api/admin/users/{user}/sessions`: the sessions of a user.

use std::net::IpAddr;

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::{Named, find};
use crate::{
    Doorward,
    account::{
        order::{EndSession, EndSessions},
        sessions::{self, AllEnded},
    },
    clock::Timestamp,
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::{NoContent, NoStore},
    },
    session::{Session, SessionId},
};

/// All sessions of a user.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserSessions")]
pub struct Sessions {
    pub sessions: Vec<SessionInfo>,
}

/// A session as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UserSession")]
pub struct SessionInfo {
    pub id: SessionId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When the session was last used, to within some minutes.
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
    /// The address from which the user signed in.
    pub address: IpAddr,
    /// The program with which the user signed in, as it names itself.
    pub user_agent: String,
}

impl From<Session> for SessionInfo {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            created_at: session.created_at,
            last_seen_at: session.last_seen_at,
            expires_at: session.expires_at,
            address: session.client.address,
            user_agent: session.client.user_agent,
        }
    }
}

/// How many sessions were ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
    NoContent::if_found(admin.carry_out(&doorward, EndSession { session }, &user).await?)
}
