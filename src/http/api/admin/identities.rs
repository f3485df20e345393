//! `/api/admin/users/{user}/identities`: the accounts of a user at other providers.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::{Named, find};
use crate::{
    Doorward,
    account::{
        identity_list::{self, IdentityInfo},
        order::RemoveIdentity,
    },
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::{NoContent, NoStore},
    },
};

/// The accounts of a user at other providers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserIdentities")]
pub struct Identities {
    pub identities: Vec<IdentityInfo>,
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    Named(user): Named<String>,
) -> Result<NoStore<Identities>, Error> {
    let user = find(&doorward, &user).await?;
    let identities = identity_list::list(&doorward, user.id).await?;
    Ok(NoStore(StatusCode::OK, Identities { identities }))
}

pub(in crate::http) async fn remove(
    State(doorward): State<Doorward>,
    admin: Admin<RemoveIdentity>,
    Named((user, identity)): Named<(String, String)>,
) -> Result<NoContent, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let identity = identity.parse().map_err(|_| Error::NotFound)?;
    admin.carry_out(&doorward, RemoveIdentity { identity }, &user).await?;
    Ok(NoContent)
}
