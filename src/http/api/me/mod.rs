//! `/api/me`: read, update, delete or export the caller's account.

mod change;
mod delete;
mod export;
mod password;

use axum::http::StatusCode;
use serde::Serialize;

pub(crate) use self::{
    change::change,
    delete::delete,
    export::{export, exported},
    password::change as change_password,
};
use crate::{
    access::policy::SignedIn,
    http::{answer::NoStore, only::Only},
    user::User,
};

/// A user's own record, without the password hash.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Me {
    id: String,
    name: String,
    email: String,
    email_verified: bool,
    roles: Vec<String>,
    created_at: String,
    updated_at: String,
}

impl From<&User> for Me {
    fn from(user: &User) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name.as_str().to_owned(),
            email: user.email.as_str().to_owned(),
            email_verified: user.email_verified,
            roles: user.roles.iter().map(str::to_owned).collect(),
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
        }
    }
}

/// `GET /api/me`
pub(crate) async fn show(caller: Only<SignedIn>) -> NoStore<Me> {
    NoStore(StatusCode::OK, Me::from(&*caller.user))
}
