//! The query of a request, parsed field by field as a form.

use axum::{extract::FromRequestParts, http::request::Parts};

use super::{
    error::Error,
    form::{FaultRecorded, Form},
};
use crate::fault::Fault;

/// The fields of a query. An empty field is missing.
pub(super) struct Query(pub(super) Form);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        Form::of_query(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

impl Query {
    /// The field `limit`: how many records an answer holds at most.
    pub(super) fn limit(&mut self, default: usize, max: usize) -> Result<usize, FaultRecorded> {
        let limit = self.0.optional("limit", |text| {
            let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
            limit.ok_or_else(|| Fault::malformed(format!("Expected a number from 1 to {max}")))
        })?;
        Ok(limit.unwrap_or(default))
    }

    /// A field that is `true`, `false` or absent.
    pub(super) fn flag(&mut self, field: &'static str) -> Result<Option<bool>, FaultRecorded> {
        self.0.optional(field, |text| {
            text.parse().map_err(|_| Fault::malformed("Expected true or false".to_owned()))
        })
    }
}
