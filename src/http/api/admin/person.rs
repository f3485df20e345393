//! `GET /api/admin/users/{user}/export`: everything that is stored about one user. The fields are those of `GET /api/me/export`.

use std::net::IpAddr;

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    keys::ApiKeyInfo,
    sessions::SessionInfo,
    target::{Named, find},
    users::UserInfo,
};
use crate::{
    Doorward,
    account::{
        change::pending_email,
        export,
        factor_list::{self, FactorInfo, TrustedDeviceInfo},
        order::ExportUsers,
    },
    clock::Timestamp,
    event::Administrator,
    http::{Error, admin::Admin, answer::NoStore},
    network::Network,
    store,
    throttle::KnownNetworks,
    user::User,
};

/// Everything that is stored about a user, without the password hash.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonExport {
    pub user: PersonRecord,
    pub sessions: Vec<SessionInfo>,
    pub known_networks: Vec<KnownNetworkInfo>,
    pub factors: Vec<FactorInfo>,
    /// How many recovery codes the user has.
    pub recovery_codes: usize,
    pub trusted_devices: Vec<TrustedDeviceInfo>,
    /// The keys themselves are not stored.
    pub keys: Vec<ApiKeyInfo>,
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

/// A network with its own budget of failed logins, because the user has signed in from it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "KnownNetwork")]
pub struct KnownNetworkInfo {
    /// An IPv4 address, or the first address of an IPv6 /64.
    #[schemars(with = "IpAddr")]
    pub address: String,
    pub noted_at: Timestamp,
}

pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    admin: Admin<ExportUsers>,
    Named(user): Named<String>,
) -> Result<NoStore<PersonExport>, Error> {
    let user = find(&doorward, &user).await?;
    Ok(NoStore(StatusCode::OK, exported(&doorward, &user, &admin).await?))
}

pub(in crate::http::api) fn known_networks(known: &KnownNetworks) -> Vec<KnownNetworkInfo> {
    let info = |(network, at): (Network, Timestamp)| KnownNetworkInfo {
        address: network.to_string(),
        noted_at: at,
    };
    known.iter().map(info).collect()
}

/// Everything that is stored about a user.
pub(in crate::http) async fn exported(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<PersonExport, store::Error> {
    let pending = pending_email(doorward, user).await?;
    let stored = export::export_of(doorward, user, by).await?;
    Ok(PersonExport {
        sessions: stored.sessions.into_iter().map(SessionInfo::from).collect(),
        known_networks: known_networks(&stored.known_networks),
        factors: factor_list::factors(&stored.factors),
        recovery_codes: stored.factors.recovery_codes,
        trusted_devices: factor_list::trusted_devices(&stored.factors),
        keys: stored.keys.into_iter().map(ApiKeyInfo::from).collect(),
        user: PersonRecord {
            user: UserInfo::from(user),
            pending_email: pending.map(|email| email.as_str().to_owned()),
        },
    })
}
