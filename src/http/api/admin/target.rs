//! Whom or what a request of an administrator is about.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::{
    Doorward,
    account::{
        look_up,
        user_order::{Order, subject},
    },
    http::{Error, admin::Admin},
    user::User,
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

impl<O: Order> Admin<O> {
    /// The user with this id or e-mail address, about whom the order is given.
    pub(super) async fn subject(
        &self,
        doorward: &Doorward,
        id_or_email: &str,
    ) -> Result<User, Error> {
        let found = look_up::user_by_id_or_email(doorward, id_or_email).await?;
        Ok(subject(found, self)?)
    }

    /// Carries out the order that the administrator may give.
    pub(super) async fn carry_out(
        &self,
        doorward: &Doorward,
        order: O,
        user: &User,
    ) -> Result<O::Outcome, Error> {
        Ok(order.carry_out(doorward, user, self).await?)
    }
}
