//! `/api/admin/users/{user}/roles/{role}`: grants and revokes a role.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use super::target::{Named, check_granted, find_to_change};
use crate::{
    Doorward,
    account::roles,
    http::{
        Error,
        admin::{Admin, FreshAdmin, UsersWrite},
        answer::NoStore,
    },
    user::Role,
};

/// Whether an order has changed anything.
#[derive(Debug, Serialize, Deserialize)]
pub struct Changed {
    pub changed: bool,
}

pub(in crate::http) async fn grant(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named((user, role)): Named<(String, String)>,
) -> Result<NoStore<Changed>, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let granted = Role::parse(&role).into_iter().collect();
    check_granted(&doorward, admin.scopes(), &granted)?;
    let changed = roles::grant(&doorward, &user, &role, &admin).await?;
    Ok(NoStore(StatusCode::OK, Changed { changed }))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    admin: Admin<UsersWrite>,
    Named((user, role)): Named<(String, String)>,
) -> Result<NoStore<Changed>, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let changed = roles::revoke(&doorward, user.id, &role, &admin).await?;
    Ok(NoStore(StatusCode::OK, Changed { changed }))
}
