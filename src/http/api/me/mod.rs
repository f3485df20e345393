//! `/api/me`: read, update, delete or export the caller's account.

mod activity;
mod change;
mod delete;
mod export;
pub(crate) mod factors;
pub(crate) mod identities;
pub(crate) mod keys;
mod password;
mod pending_email;

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
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
    clock::Timestamp,
    http::{Error, answer::NoStore, bearer::Bearer},
    session::{Methods, Session},
    user::{Email, Roles, User, UserId},
};

/// A user's own record, without the password hash.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Me {
    id: UserId,
    #[schemars(length(min = 2, max = 200))]
    name: String,
    email: Email,
    email_verified: bool,
    /// A new address that is still to be verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_email: Option<Email>,
    roles: Roles,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&User> for Me {
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            name: user.name.as_str().to_owned(),
            email: user.email.clone(),
            email_verified: user.email_verified,
            pending_email: None,
            roles: user.roles.clone(),
            created_at: user.created_at,
            updated_at: user.updated_at,
        }
    }
}

impl Me {
    fn with_pending(self, pending_email: Option<Email>) -> Self {
        Self { pending_email, ..self }
    }
}

/// A user's own record, and how they have signed in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Me")]
pub(crate) struct SignedInMe {
    #[serde(flatten)]
    me: Me,
    /// Since when everything in `methods` is proved: the time of the first of them. A refresh keeps it.
    authenticated_at: Timestamp,
    methods: Methods,
}

impl SignedInMe {
    fn new(user: &User, pending_email: Option<Email>, session: &Session) -> Self {
        Self {
            me: Me::from(user).with_pending(pending_email),
            authenticated_at: session.verified_at(),
            methods: session.methods.clone(),
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
