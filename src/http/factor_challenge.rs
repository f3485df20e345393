//! What a client has to answer whose login lacks a second factor, or whose session shall prove more.

use serde::Serialize;

use super::webauthn::RequestOptions;
use crate::{account::MissingFactor, credential::factor::FactorKind};

/// What a client has to answer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactorChallenge {
    pub(super) challenge: String,
    pub(super) factors: Vec<&'static str>,
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
