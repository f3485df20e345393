//! What the operator and an export tell about the second factors of a user. No secret is among it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    user::{HeldFactors, Passkey, StoredTotp, TrustedDevice},
};

/// A second factor.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExportedFactor")]
pub struct FactorInfo {
    pub kind: FactorKind,
    /// What the user calls it. An authenticator app has no name.
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// A browser that a user trusts: a password is enough there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TrustedDevice")]
pub struct TrustedDeviceInfo {
    /// The address from which the user signed in.
    pub address: String,
    /// The program with which the user signed in, as it names itself.
    pub user_agent: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The second factors of a user: passkeys and security keys by age, then the authenticator app.
pub(crate) fn factors(held: &HeldFactors) -> Vec<FactorInfo> {
    let passkeys = held.passkeys.iter().map(|passkey: &Passkey| FactorInfo {
        kind: passkey.kind(),
        name: Some(passkey.name.clone()),
        created_at: passkey.created_at,
        last_used_at: passkey.last_used_at,
    });
    let totp = held.totp.iter().map(|totp: &StoredTotp| FactorInfo {
        kind: FactorKind::Totp,
        name: None,
        created_at: totp.created_at,
        last_used_at: totp.last_used_at,
    });
    passkeys.chain(totp).collect()
}

pub(crate) fn trusted_devices(held: &HeldFactors) -> Vec<TrustedDeviceInfo> {
    let info = |device: &TrustedDevice| TrustedDeviceInfo {
        address: device.client.address.to_string(),
        user_agent: device.client.user_agent.clone(),
        created_at: device.created_at,
        expires_at: device.expires_at,
    };
    held.trusted_devices.iter().map(info).collect()
}
