//! The query of a request, parsed field by field as a form.

use std::marker::PhantomData;

use axum::{extract::FromRequestParts, http::request::Parts};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{
    error::Error,
    form::{FaultRecorded, FieldType, Form, FormContext, FormField, FormPart, ObjectSchema, text},
};
use crate::fault::Fault;

/// The parameters of a query, which are declared as a form. An empty one is missing.
pub(super) struct Query<T> {
    pub(super) form: Form,
    fields: PhantomData<fn() -> T>,
}

impl<T, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let form = Form::of_query(parts.uri.query().unwrap_or_default())?;
        Ok(Self { form, fields: PhantomData })
    }
}

impl<T: FormPart> Query<T> {
    /// The parameters, or an error with every fault.
    pub(super) fn read<'a>(self, context: impl Into<FormContext<'a>>) -> Result<T, Error> {
        self.form.read(context)
    }
}

/// How many records an answer holds at most.
pub(super) struct Limit<const DEFAULT: usize, const MAX: usize>;

impl<const DEFAULT: usize, const MAX: usize> FormField for Limit<DEFAULT, MAX> {
    type Parsed = usize;

    fn read(
        form: &mut Form,
        name: &'static str,
        _: FormContext<'_>,
    ) -> Result<usize, FaultRecorded> {
        let limit = form.optional(name, |text| {
            let limit = text.parse().ok().filter(|limit| (1..=MAX).contains(limit));
            limit.ok_or_else(|| Fault::malformed(format!("Expected a number from 1 to {MAX}")))
        })?;
        Ok(limit.unwrap_or(DEFAULT))
    }

    fn describe(object: &mut ObjectSchema, name: &str, description: &str, _: &mut SchemaGenerator) {
        let schema = json_schema!({
            "type": "integer", "minimum": 1, "maximum": MAX, "default": DEFAULT,
        });
        object.property(name, description, schema);
    }
}

/// `true` or `false`.
pub(super) struct Flag;

impl FieldType for Flag {
    type Parsed = bool;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<bool, Fault> {
        let flag = text(sent)?.parse();
        flag.map_err(|_| Fault::malformed("Expected true or false"))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        bool::schema(generator)
    }
}
