//! `GET /api/me/export`: everything stored about the user.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::Me;
use crate::{
    Caller, Doorward,
    access::policy::SignedIn,
    account::{
        change::pending_email,
        export::{self, Export, PersonData},
        proof::is_fresh,
    },
    clock::Timestamp,
    http::{
        Error,
        answer::NoStore,
        api::sessions::{ListedSession, listed},
        bearer::Bearer,
    },
    network::Requester,
};

/// Everything stored about a user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Export")]
pub(crate) struct Exported {
    user: Record,
    sessions: Vec<ListedSession>,
    #[serde(flatten)]
    data: PersonData,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Record {
    #[serde(flatten)]
    me: Me,
    /// The hash itself is not exported.
    has_password: bool,
    last_login_at: Option<Timestamp>,
}

pub(crate) async fn export(
    State(doorward): State<Doorward>,
    requester: Requester,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<Exported>, Error> {
    if !is_fresh(&doorward, &caller.user, &caller.session) {
        return Err(Error::SignInAgain);
    }
    Ok(NoStore(StatusCode::OK, exported(&doorward, &caller, &requester).await?))
}

/// Everything stored about the caller.
pub(crate) async fn exported(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<Exported, Error> {
    let user = Record {
        me: Me::from(&*caller.user).with_pending(pending_email(doorward, &caller.user).await?),
        has_password: caller.user.password_hash.is_some(),
        last_login_at: caller.user.last_login_at,
    };
    let Export { sessions, data } = export::export_own(doorward, &caller.user, requester).await?;
    Ok(Exported { user, sessions: listed(sessions, &caller.session), data })
}
