//! What handlers answer when they succeed, by the types that they return.

use std::marker::PhantomData;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Schemas, Shared};
use crate::http::{
    answer::{Accepted, Cacheable, NoContent, NoStore},
    error::Error,
};

/// A type that a handler returns.
pub(in crate::http) trait Answer {
    /// Whether it may be an error in place of a success.
    const CAN_FAIL: bool = false;

    fn describe(schemas: &mut Schemas) -> Vec<Success>;
}

/// The answer of a success.
pub(in crate::http) enum Success {
    /// One that no other operation has.
    Own {
        status: StatusCode,
        /// Those besides the headers of every answer: their names, and those of their descriptions.
        headers: Vec<(&'static str, &'static str)>,
        content: Option<Content>,
    },
    Shared(Shared),
}

/// The content of an answer.
pub(in crate::http) struct Content {
    pub(in crate::http) media_type: &'static str,
    /// None for what programs read as a whole, such as a JWT.
    pub(in crate::http) schema: Option<Value>,
}

pub(in crate::http) const NO_STORE: (&str, &str) = ("Cache-Control", "NoStore");
pub(in crate::http) const PUBLIC: (&str, &str) = ("Cache-Control", "Public");

impl Content {
    pub(in crate::http) fn json<T: JsonSchema>(schemas: &mut Schemas) -> Option<Self> {
        Some(Self { media_type: "application/json", schema: Some(schemas.of_answer::<T>()) })
    }

    pub(in crate::http) fn text(media_type: &'static str) -> Option<Self> {
        Some(Self { media_type, schema: Some(json!({ "type": "string" })) })
    }

    pub(in crate::http) fn opaque(media_type: &'static str) -> Option<Self> {
        Some(Self { media_type, schema: None })
    }
}

impl Success {
    /// A success that no cache may store.
    pub(in crate::http) fn no_store(status: StatusCode, content: Option<Content>) -> Self {
        Self::Own { status, headers: vec![NO_STORE], content }
    }

    /// Adds a header, and the component that describes it.
    pub(in crate::http) fn with(mut self, header: &'static str, component: &'static str) -> Self {
        if let Self::Own { headers, .. } = &mut self {
            headers.push((header, component));
        }
        self
    }
}

impl<T: JsonSchema> Answer for NoStore<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::OK, Content::json::<T>(schemas))]
    }
}

impl<T: JsonSchema> Answer for Cacheable<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        let content = Content::json::<T>(schemas);
        vec![Success::Own { status: StatusCode::OK, headers: vec![PUBLIC], content }]
    }
}

impl Answer for NoContent {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::NO_CONTENT, None)]
    }
}

impl Answer for Accepted {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        vec![Success::Shared(Shared::Mailed)]
    }
}

impl<T: Answer> Answer for Result<T, Error> {
    const CAN_FAIL: bool = true;

    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        T::describe(schemas)
    }
}

/// A JSON answer about something that was created.
pub(in crate::http) struct Created<T>(pub(in crate::http) T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        NoStore(StatusCode::CREATED, self.0).into_response()
    }
}

impl<T: JsonSchema> Answer for Created<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::CREATED, Content::json::<T>(schemas))]
    }
}

/// A JSON answer that was written in another way. Its headers are its own.
pub(in crate::http) struct Sent<T>(Response, PhantomData<fn() -> T>);

impl<T> From<Response> for Sent<T> {
    fn from(response: Response) -> Self {
        Self(response, PhantomData)
    }
}

impl<T> IntoResponse for Sent<T> {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<T: JsonSchema> Answer for Sent<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        let content = Content::json::<T>(schemas);
        vec![Success::Own { status: StatusCode::OK, headers: Vec::new(), content }]
    }
}

/// One JSON value in each line.
pub(in crate::http) struct JsonLines(pub(in crate::http) Response);

impl IntoResponse for JsonLines {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for JsonLines {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::OK, Content::text("application/x-ndjson"))]
    }
}
