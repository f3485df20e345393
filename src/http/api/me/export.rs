//! `GET /api/me/export`: everything stored about the user.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::Me;
use crate::{
    Caller, Doorward,
    access::policy::SignedIn,
    account::{
        change::pending_email,
        export,
        factor_list::{self, FactorInfo, TrustedDeviceInfo},
        proof::is_fresh,
    },
    http::{
        Error,
        answer::NoStore,
        api::{
            admin::keys::ApiKeyInfo,
            sessions::{ListedSession, listed},
        },
        bearer::Bearer,
    },
    network::Requester,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exported {
    user: Record,
    sessions: Vec<ListedSession>,
    known_networks: Vec<KnownNetwork>,
    /// The secrets themselves are not exported.
    factors: Vec<FactorInfo>,
    /// How many there are.
    recovery_codes: usize,
    trusted_devices: Vec<TrustedDeviceInfo>,
    /// The keys themselves are not stored.
    keys: Vec<ApiKeyInfo>,
}

/// A network with its own budget of failed logins, because the user has signed in from it.
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
    /// The hash itself is not exported.
    has_password: bool,
    last_login_at: Option<String>,
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
        last_login_at: caller.user.last_login_at.map(|at| at.to_string()),
    };
    let stored = export::export_own(doorward, &caller.user, requester).await?;
    let sessions = listed(stored.sessions, &caller.session);
    let known_networks = stored.known_networks.iter().map(|(network, at)| KnownNetwork {
        address: network.to_string(),
        noted_at: at.to_string(),
    });
    Ok(Exported {
        user,
        sessions,
        known_networks: known_networks.collect(),
        factors: factor_list::factors(&stored.factors),
        recovery_codes: stored.factors.recovery_codes,
        trusted_devices: factor_list::trusted_devices(&stored.factors),
        keys: stored.keys.into_iter().map(ApiKeyInfo::from).collect(),
    })
}
