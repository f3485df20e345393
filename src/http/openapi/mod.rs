//! `GET /openapi.json`: the API description, made from the table of routes, with the settings of this service. Tests compare the
//! answers with it, and `docs/openapi.json` is what a service with default settings answers.

mod components;
mod guards;
mod operations;

use std::{
    future::{Ready, ready},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    answer::{DOCUMENT_MAX_AGE, JSON, public},
    description::{Answer, Content, Operation, PUBLIC, Schemas, Shared, Success, Tag},
    form::NewPassword,
    forward_auth::GuardKind,
    handler::Method,
    may_call::MayCall,
    paths::SEGMENT,
};
use crate::Doorward;

/// The examples of operations, by their ids. Tests run them. `{base}` stands for the URL of the service, and `{version}` for its version.
const EXAMPLES: &str = include_str!("../../../docs/openapi-examples.json");

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the document has of a route.
pub(super) enum Entry {
    Operation(Method, MayCall, Operation),
    Guard(GuardKind),
}

/// The document with what this service has set: its URL, the designated user, and the rules for passwords.
pub(super) fn document(
    doorward: &Doorward,
    entries: impl IntoIterator<Item = (&'static str, Entry)>,
) -> String {
    let settings = doorward.settings();
    let examples =
        EXAMPLES.replace("{base}", &doorward.public_base()).replace("{version}", VERSION);
    let examples: Value = serde_json::from_str(&examples).expect("the examples are valid JSON");
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for (path, entry) in entries {
        let place = paths.entry(path.replace(SEGMENT, &settings.designated_segment));
        let item = place.or_insert_with(|| json!({})).as_object_mut().expect("it is an object");
        match entry {
            Entry::Guard(kind) => guards::describe(kind, item),
            Entry::Operation(method, may_call, operation) => {
                let examples = &examples[operation.id];
                let described = operations::describe(
                    path,
                    method,
                    may_call,
                    &operation,
                    examples,
                    &mut schemas,
                );
                item.insert(method.as_str().to_lowercase(), described);
            }
        }
    }
    let greeting = format!("You are {}.", doorward.designated().name());
    let responses = Shared::ALL.iter().map(|shared| {
        let response = components::response(*shared, &greeting, &examples, &mut schemas);
        (shared.name().to_owned(), response)
    });
    let responses: Map<_, _> = responses.collect();
    let mut components = schemas.components();
    let password = NewPassword::schema_by(settings.password_rules());
    components.insert("NewPassword".into(), password.to_value());
    let tags =
        Tag::ALL.map(|tag| json!({ "name": format!("{tag:?}"), "description": tag.description() }));
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Doorward",
            "version": VERSION,
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "license": { "name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE") },
            "description": INTRODUCTION,
        },
        "servers": [{ "url": doorward.public_base() }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": components::security_schemes(),
            "parameters": components::parameters(),
            "headers": components::headers_of_answers(),
            "schemas": components,
            "responses": responses,
        },
    });
    format!("{document:#}\n")
}

const INTRODUCTION: &str = "\
Bodies are JSON. Every error is JSON with a `message`. Unknown members of a body are ignored, unless they are a misspelling of a missing one.

`HEAD` is allowed wherever `GET` is. Another method returns 405 with `Allow`. Where `public_url` is set, `/api` returns 421 for a host name that is not one of the service. Every operation may also return 400, 408, 414 or 431 for a request that is not valid HTTP, too slow or too large. A guard answers every method and every path below its own alike.";

/// A reference to a component.
fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The descriptions of headers: those of every answer, and these.
fn headers(others: impl IntoIterator<Item = (&'static str, &'static str)>) -> Value {
    let usual = [("X-Request-Id", "RequestId"), ("X-Content-Type-Options", "NoSniff")];
    let named = usual.into_iter().chain(others);
    named.map(|(name, component)| (name.to_owned(), reference("headers", component))).collect()
}

/// The document as an answer.
pub(super) struct Document(Bytes);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let cache = public(DOCUMENT_MAX_AGE);
        ([(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, cache)], self.0).into_response()
    }
}

impl Answer for Document {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        let content =
            Content { media_type: "application/json", schema: Some(json!({ "type": "object" })) };
        let (status, headers) = (StatusCode::OK, vec![PUBLIC]);
        vec![Success::Own { status, headers, content: Some(content) }]
    }
}

/// A handler that makes the document at its first request. All answers share it, so that clients that do not read theirs
/// cost one copy.
pub(super) fn show(
    make: fn(&Doorward) -> String,
) -> impl Fn(State<Doorward>) -> Ready<Document> + Clone {
    let shared: Arc<OnceLock<Bytes>> = Arc::default();
    move |State(doorward): State<Doorward>| {
        ready(Document(shared.get_or_init(|| make(&doorward).into()).clone()))
    }
}
