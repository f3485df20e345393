//! `GET /api/me/export`: everything that is stored about a user, for them to take along.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::Me;
use crate::{
    Doorward,
    access::policy::SignedIn,
    http::{
        Error,
        answer::NoStore,
        api::sessions::{Listed, sessions_by_user},
        only::Only,
    },
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exported {
    user: Record,
    sessions: Vec<Listed>,
    known_networks: Vec<KnownNetwork>,
}

/// A network that keeps a budget of failed logins of its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KnownNetwork {
    address: String,
    noted_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(flatten)]
    me: Me,
    /// All that anybody is told about the hash.
    has_password: bool,
    last_login_at: Option<String>,
}

pub(crate) async fn export(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
) -> Result<NoStore<Exported>, Error> {
    let user = Record {
        me: Me::from(&*caller.user),
        has_password: caller.user.password_hash.is_some(),
        last_login_at: caller.user.last_login_at.map(|at| at.to_string()),
    };
    let sessions = sessions_by_user(&doorward, &caller).await?;
    let known = doorward.store().known_networks(&caller.user.email.key()).await?;
    let known_networks = known.iter().map(|(network, at)| KnownNetwork {
        address: network.to_string(),
        noted_at: at.to_string(),
    });
    Ok(NoStore(
        StatusCode::OK,
        Exported { user, sessions, known_networks: known_networks.collect() },
    ))
}
