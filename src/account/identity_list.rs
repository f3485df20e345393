//! What is told about the accounts of a person at other providers: to themselves, and to the operator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identities::{label, of_user};
use crate::{
    Doorward,
    clock::Timestamp,
    store,
    user::{Identity, IdentityId, UserId},
};

/// An account at another provider, by which a person signs in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Identity")]
pub struct IdentityInfo {
    pub id: IdentityId,
    /// The name of the login by which it was used last.
    pub login: String,
    /// What people call the login: its name, if it is not in the settings any more.
    pub label: String,
    /// Who vouches for it. With `subject`, it is nobody else's.
    pub issuer: String,
    /// What the provider calls the person, for ever.
    pub subject: String,
    /// What the person recognises it by, such as the address there.
    pub display: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// The identities of a user, the oldest first.
pub(crate) async fn list(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<IdentityInfo>, store::Error> {
    let info = |identity: Identity| {
        let label = label(doorward, &identity.login);
        let Identity { id, user_id: _, issuer, subject, login, display, created_at, last_used_at } =
            identity;
        IdentityInfo { id, login, label, issuer, subject, display, created_at, last_used_at }
    };
    Ok(of_user(doorward, user).await?.into_iter().map(info).collect())
}
