//! Whom or what a request of an administrator is about.

use axum::{
    extract::{FromRequestParts, Path},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

use crate::{
    Doorward,
    access::scope::Scopes,
    account::look_up,
    http::Error,
    user::{Roles, User},
};

/// The names in the path. A path with an invalid one does not exist.
pub(in crate::http) struct Named<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Doorward> for Named<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let path = Path::from_request_parts(parts, doorward).await;
        path.map(|Path(names)| Self(names)).map_err(|_| Error::NotFound)
    }
}

/// The user with this id or e-mail address.
pub(super) async fn find(doorward: &Doorward, id_or_email: &str) -> Result<User, Error> {
    look_up::user_by_id_or_email(doorward, id_or_email).await?.ok_or(Error::NotFound)
}

/// The same, whom an administrator with these scopes wants to change.
pub(super) async fn find_to_change(
    doorward: &Doorward,
    scopes: Scopes,
    id_or_email: &str,
) -> Result<User, Error> {
    let user = find(doorward, id_or_email).await?;
    check_changed(doorward, scopes, &user)?;
    Ok(user)
}

/// Refuses to change a user who may do more than these scopes.
pub(super) fn check_changed(doorward: &Doorward, scopes: Scopes, user: &User) -> Result<(), Error> {
    match doorward.settings().admin_roles.may_manage(scopes, &user.roles) {
        true => Ok(()),
        false => Err(Error::beyond_authority()),
    }
}

/// Refuses roles that give more than these scopes.
pub(super) fn check_granted(
    doorward: &Doorward,
    scopes: Scopes,
    roles: &Roles,
) -> Result<(), Error> {
    match doorward.settings().admin_roles.may_manage(scopes, roles) {
        true => Ok(()),
        false => Err(forbidden(BEYOND_OWN_RIGHTS)),
    }
}

/// Why an administrator may not grant a role.
pub(super) const BEYOND_OWN_RIGHTS: &str =
    "this role may do more than you: somebody who may do the same has to grant it";

fn forbidden(reason: &str) -> Error {
    Error::NotDone(StatusCode::FORBIDDEN, reason.to_owned())
}
