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
        export,
        factor_list::{self, FactorInfo, TrustedDeviceInfo},
        proof::is_fresh,
    },
    clock::Timestamp,
    http::{
        Error,
        answer::NoStore,
        api::{
            admin::{
                keys::ApiKeyInfo,
                person::{KnownNetworkInfo, known_networks},
            },
            sessions::{ListedSession, listed},
        },
        bearer::Bearer,
    },
    network::Requester,
};

/// Everything stored about a user.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Export")]
pub(crate) struct Exported {
    user: Record,
    sessions: Vec<ListedSession>,
    known_networks: Vec<KnownNetworkInfo>,
    /// The second factors, without their secrets.
    factors: Vec<FactorInfo>,
    /// How many recovery codes are left.
    recovery_codes: usize,
    /// Browsers in which a password is enough.
    trusted_devices: Vec<TrustedDeviceInfo>,
    /// The API keys, without the keys themselves.
    keys: Vec<ApiKeyInfo>,
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
    let stored = export::export_own(doorward, &caller.user, requester).await?;
    let sessions = listed(stored.sessions, &caller.session);
    Ok(Exported {
        user,
        sessions,
        known_networks: known_networks(&stored.known_networks),
        factors: factor_list::factors(&stored.factors),
        recovery_codes: stored.factors.recovery_codes,
        trusted_devices: factor_list::trusted_devices(&stored.factors),
        keys: stored.keys.into_iter().map(ApiKeyInfo::from).collect(),
    })
}
