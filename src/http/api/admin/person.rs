//! `GET /api/admin/users/{user}/export`: everything that is stored about one user. The fields are those of `GET /api/me/export`.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    sessions::SessionInfo,
    target::{Named, find},
    users::UserInfo,
};
use crate::{
    Doorward,
    account::{
        change::pending_email,
        export::{self, Export, PersonData},
        order::ExportUsers,
    },
    event::Administrator,
    http::{Error, admin::Admin, answer::NoStore},
    store,
    user::User,
};

/// Everything that is stored about a user, without the password hash.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonExport {
    pub user: PersonRecord,
    pub sessions: Vec<SessionInfo>,
    #[serde(flatten)]
    pub data: PersonData,
}

/// The record of the user.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonRecord {
    #[serde(flatten)]
    pub user: UserInfo,
    /// A new address that is still to be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_email: Option<String>,
}

pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    admin: Admin<ExportUsers>,
    Named(user): Named<String>,
) -> Result<NoStore<PersonExport>, Error> {
    let user = find(&doorward, &user).await?;
    Ok(NoStore(StatusCode::OK, exported(&doorward, &user, &admin).await?))
}

/// Everything that is stored about a user.
pub(in crate::http) async fn exported(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<PersonExport, store::Error> {
    let pending = pending_email(doorward, user).await?;
    let Export { sessions, data } = export::export_of(doorward, user, by).await?;
    let record = PersonRecord {
        user: UserInfo::from(user),
        pending_email: pending.map(|email| email.as_str().to_owned()),
    };
    let sessions = sessions.into_iter().map(SessionInfo::from).collect();
    Ok(PersonExport { user: record, sessions, data })
}
