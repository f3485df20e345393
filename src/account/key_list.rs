//! What is told about API keys: to their owner, to the operator and in an export. The keys themselves are not among it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    user::{ApiKey, ApiKeyId, User, UserId},
};

/// A key as its owner and the operator see it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApiKey")]
pub struct ApiKeyInfo {
    pub id: ApiKeyId,
    #[schemars(extend("enum" = ["machine", "personal"]))]
    pub kind: String,
    pub name: String,
    /// `guard:*`, `guard:` and the name of a guard, or scopes of the admin API.
    #[schemars(with = "BTreeSet<String>")]
    pub scopes: Vec<String>,
    /// The condition in CEL under which it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// The owner of a personal key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The name of the owner. Only lists of administrators have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// The address of the owner. Only lists of administrators have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Accurate to 5 minutes.
    pub last_used_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl ApiKeyInfo {
    /// A key with the name and the address of its owner.
    pub(crate) fn owned(key: ApiKey, owners: &[User]) -> Self {
        let owner = owners.iter().find(|user| key.owner == Some(user.id));
        Self {
            user_name: owner.map(|owner| owner.name.as_str().to_owned()),
            user_email: owner.map(|owner| owner.email.as_str().to_owned()),
            ..Self::from(key)
        }
    }
}

impl From<ApiKey> for ApiKeyInfo {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            kind: key.kind().name().to_owned(),
            scopes: key.scopes.iter().map(str::to_owned).collect(),
            name: key.name,
            allow: key.condition,
            user_id: key.owner,
            user_name: None,
            user_email: None,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
        }
    }
}
