//! What the path of a request names: its id, and the answer if it is not there.

use std::{convert::Infallible, str::FromStr};

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use super::{answer::NoContent, error::Error};

/// The id in the path. One that is not valid gets the same answer as an unknown one, and as one of somebody else.
pub(super) struct PathId<T>(Option<T>);

impl<T> PathId<T> {
    /// The id, if it is valid.
    pub(super) fn valid(self) -> Result<T, Error> {
        self.0.ok_or(Error::NotFound)
    }
}

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(path.ok().and_then(|Path(id)| id.parse().ok())))
    }
}

impl NoContent {
    /// The answer to an order about what may not be there.
    pub(super) fn if_found(is_found: bool) -> Result<Self, Error> {
        if is_found { Ok(Self) } else { Err(Error::NotFound) }
    }
}
