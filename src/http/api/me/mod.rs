//! `/api/me`: read, update, delete or export the caller's account.

mod activity;
mod change;
mod delete;
mod export;
pub(crate) mod factors;
pub(crate) mod keys;
mod password;
mod pending_email;

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

pub(crate) use self::{
    activity::activity,
    change::change,
    delete::delete,
    export::{export, exported},
    password::change as change_password,
    pending_email::{cancel_pending_email, send_pending_email},
};
use crate::{
    Doorward,
    access::policy::SignedIn,
    account::change::pending_email,
    http::{Error, answer::NoStore, bearer::Bearer},
    session::Session,
    user::{Email, User},
};

/// A user's own record, without the password hash.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Me {
    id: String,
    name: String,
    email: String,
    email_verified: bool,
    /// A new address that is still to be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_email: Option<String>,
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
            pending_email: None,
            roles: user.roles.iter().map(str::to_owned).collect(),
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
        }
    }
}

impl Me {
    fn with_pending(self, email: Option<Email>) -> Self {
        Self { pending_email: email.map(|email| email.as_str().to_owned()), ..self }
    }
}

/// A user's own record, and how they have signed in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedInMe {
    #[serde(flatten)]
    me: Me,
    authenticated_at: String,
    methods: Vec<&'static str>,
}

impl SignedInMe {
    fn new(user: &User, pending_email: Option<Email>, session: &Session) -> Self {
        Self {
            me: Me::from(user).with_pending(pending_email),
            authenticated_at: session.verified_at().to_string(),
            methods: session.methods.names(),
        }
    }
}

/// `GET /api/me`
pub(crate) async fn show(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<SignedInMe>, Error> {
    let pending = pending_email(&doorward, &caller.user).await?;
    Ok(NoStore(StatusCode::OK, SignedInMe::new(&caller.user, pending, &caller.session)))
}
