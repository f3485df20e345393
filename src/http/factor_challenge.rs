//! What a client has to answer whose login lacks a second factor, or whose session shall prove more.

use schemars::JsonSchema;
use serde::Serialize;

use super::webauthn::RequestOptions;
use crate::{account::MissingFactor, credential::factor::FactorKind};

/// What a client has to answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorChallenge {
    /// To be sent back with the answer, once, within 10 minutes.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]+$"))]
    pub(super) challenge: String,
    /// What the user can answer with.
    #[schemars(extend(
        "items" = { "type": "string", "enum": ["passkey", "key", "totp", "recovery"] },
        "uniqueItems" = true
    ))]
    pub(super) factors: Vec<&'static str>,
    /// Only if a passkey or security key is among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) public_key: Option<RequestOptions>,
}

impl From<&MissingFactor> for FactorChallenge {
    fn from(missing: &MissingFactor) -> Self {
        let recovery = missing.has_recovery_codes.then_some("recovery");
        Self {
            challenge: missing.challenge.clone(),
            factors: missing.factors.iter().map(FactorKind::name).chain(recovery).collect(),
            public_key: RequestOptions::of(missing),
        }
    }
}
