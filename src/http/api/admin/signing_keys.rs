//! `/api/admin/signing-keys`: the keys that tokens are signed with.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::{
        self,
        order::{RevokeSigningKey, RotateSigningKeys},
    },
    clock::Timestamp,
    http::{
        Error,
        admin::{Admin, SigningKeysRead},
        answer::NoStore,
    },
    token::signing_keys::{self, KeyStatus},
};

/// All signing keys.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SigningKeys {
    pub signing_keys: Vec<SigningKey>,
}

/// A signing key as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SigningKey {
    /// The id in the header of tokens.
    pub kid: String,
    #[schemars(extend("enum" = ["ES256", "EdDSA", "RS256"]))]
    pub algorithm: String,
    pub stage: KeyStatus,
    /// When the stage ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl From<signing_keys::KeyInfo> for SigningKey {
    fn from(key: signing_keys::KeyInfo) -> Self {
        let signing_keys::KeyInfo { id, algorithm, status, until } = key;
        Self { kid: id.to_string(), algorithm: algorithm.name().into(), stage: status, until }
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<SigningKeysRead>,
) -> Result<NoStore<SigningKeys>, Error> {
    Ok(listed(&doorward).await)
}

/// Publishes a new key, which signs in place of the old one later.
pub(in crate::http) async fn rotate(
    State(doorward): State<Doorward>,
    admin: Admin<RotateSigningKeys>,
) -> Result<NoStore<SigningKeys>, Error> {
    account::signing_keys::rotate(&doorward, &admin).await?;
    Ok(listed(&doorward).await)
}

/// Refuses all tokens of a key.
pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    admin: Admin<RevokeSigningKey>,
    Path(kid): Path<String>,
) -> Result<NoStore<SigningKeys>, Error> {
    match account::signing_keys::revoke(&doorward, &kid, &admin).await? {
        true => Ok(listed(&doorward).await),
        false => Err(Error::NotFound),
    }
}

async fn listed(doorward: &Doorward) -> NoStore<SigningKeys> {
    let keys = doorward.keys().list().await.into_iter().map(SigningKey::from);
    NoStore(StatusCode::OK, SigningKeys { signing_keys: keys.collect() })
}
