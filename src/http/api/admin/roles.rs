//! `/api/admin/users/{user}/roles/{role}`: grants and revokes a role.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::Named;
use crate::{
    Doorward,
    account::order::{GrantRole, RevokeRole},
    http::{Error, admin::Admin, answer::NoStore},
};

/// Whether an order has changed anything.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    pub changed: bool,
}

pub(in crate::http) async fn grant(
    State(doorward): State<Doorward>,
    admin: Admin<GrantRole>,
    Named((user, role)): Named<(String, String)>,
) -> Result<NoStore<Changed>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let changed = admin.carry_out(&doorward, GrantRole { role }, &user).await?;
    Ok(NoStore(StatusCode::OK, Changed { changed }))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    admin: Admin<RevokeRole>,
    Named((user, role)): Named<(String, String)>,
) -> Result<NoStore<Changed>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let changed = admin.carry_out(&doorward, RevokeRole { role }, &user).await?;
    Ok(NoStore(StatusCode::OK, Changed { changed }))
}
