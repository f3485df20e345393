//! The description of one operation.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{headers, reference};
use crate::http::{
    description::{Content, JSON, Operation, Parameter, Requested, Schemas, Shared, Success},
    handler::Method,
    may_call::MayCall,
};

pub(super) fn describe(
    path: &str,
    method: Method,
    may_call: MayCall,
    operation: &Operation,
    examples: &Value,
    schemas: &mut Schemas,
) -> Value {
    let mut request = Requested::default();
    (operation.types.request)(&mut request, schemas);
    let mut described = Map::new();
    let mut add = |name: &str, value: Value| {
        described.insert(name.to_owned(), value);
    };
    add("operationId", operation.id.into());
    add("tags", json!([format!("{:?}", operation.tag)]));
    add("summary", operation.summary.into());
    let description = [operation.description, &needs(may_call)].join(" ").trim().to_owned();
    if !description.is_empty() {
        add("description", description.into());
    }
    match may_call {
        MayCall::Operator => add("x-operator", true.into()),
        MayCall::Anyone => add("security", json!([])),
        MayCall::Client => add("security", json!([{ "basic": [] }])),
        _ => add("security", json!([{ "bearer": [] }])),
    }
    let refusals = usual_refusals(path, may_call, method, operation, &request);
    let parameters = parameters(path, operation, &request, examples);
    if !parameters.is_empty() {
        add("parameters", parameters.into());
    }
    if let Some(body) = body(operation, &request, &examples["body"]) {
        add("requestBody", body);
    }
    add("responses", responses(refusals, operation, examples, schemas));
    described.into()
}

/// What a caller needs, in words.
fn needs(may_call: MayCall) -> String {
    match may_call {
        MayCall::Admin(scope) => format!("Needs the scope `{}`.", scope.name()),
        MayCall::Fresh(scope) => {
            let scope = scope.name();
            format!("Needs the scope `{scope}`, and a sign-in within the last 10 minutes.")
        }
        MayCall::Operator => {
            "Only for the operator on the machine, on the socket `doorward.sock` in the data folder. For everybody else there is \
             no such resource."
                .to_owned()
        }
        MayCall::Anyone | MayCall::SignedIn | MayCall::Inviter | MayCall::Client => String::new(),
    }
}

/// The parameters: of the path, of the query, and others.
fn parameters(
    path: &str,
    operation: &Operation,
    request: &Requested,
    examples: &Value,
) -> Vec<Value> {
    let in_path = names(path).map(|name| {
        let (description, schema) = in_path(name, operation);
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description,
            "schema": schema,
            "example": examples["path"][name],
        })
    });
    let in_query = request.query.iter().flat_map(in_query);
    let others = operation.takes.iter().map(|parameter| other(*parameter));
    in_path.chain(in_query).chain(others).collect()
}

/// The names of the parameters of a path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn in_path<'a>(name: &str, operation: &Operation) -> (&'a str, Value) {
    let text = json!({ "type": "string" });
    match name {
        "id" => (operation.id_is, json!({ "type": "string", "format": "uuid" })),
        "user" => ("The id or the e-mail address of a user", text),
        "role" => (
            "1 to 64 letters, digits and `_ - : . /`",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9_:./-]{1,64}$" }),
        ),
        "guard" => ("The name of the guard", text),
        "login" => ("The name of the login in the settings", text),
        "invitation" => ("The id of an invitation, or the address that it is to", text),
        "decision" => ("The `X-Decision-Id` of the answer", text),
        "kid" => ("The id of the key", text),
        "nonce" => ("The value of its header", text),
        name => panic!("{name} is not described"),
    }
}

/// The members of an object as parameters.
fn in_query(schema: &Value) -> Vec<Value> {
    let required = schema["required"].as_array();
    let members = schema["properties"].as_object().into_iter().flatten();
    let parameters = members.map(|(name, schema)| {
        let mut schema = schema.clone();
        let described =
            schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
        let required = required.is_some_and(|required| required.contains(&json!(name)));
        json!({
            "name": name,
            "in": "query",
            "required": required,
            "description": described.unwrap_or_default(),
            "schema": schema,
        })
    });
    parameters.collect()
}

fn other(parameter: Parameter) -> Value {
    match parameter {
        Parameter::IdempotencyKey => json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "1 to 255 characters that the client chooses. A repeated request with the same key gets the same answer and creates nothing",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        }),
        Parameter::Since => json!({
            "name": "since",
            "in": "query",
            "description": "The cursor of the previous response. An unknown one gets everything",
            "schema": { "type": "string" },
        }),
        Parameter::IfMatch => json!({
            "name": "If-Match",
            "in": "header",
            "description": "The `ETag` of the user. The request fails with 412 if somebody has changed the user since",
            "schema": { "type": "string" },
        }),
    }
}

fn body(operation: &Operation, request: &Requested, example: &Value) -> Option<Value> {
    let (media_type, schema, is_required) = match (&request.body, operation.reads) {
        (Some(body), _) => (body.media_type, body.schema.clone(), body.is_required),
        (None, Some(media_type)) => (media_type, json!({ "type": "string" }), false),
        (None, None) => return None,
    };
    let content = json!({ media_type: { "schema": schema, "example": example } });
    Some(json!({ "required": is_required, "content": content }))
}

/// The answers: those of success, those of every operation like this, and its own.
fn responses(
    usual: Vec<Shared>,
    operation: &Operation,
    examples: &Value,
    schemas: &mut Schemas,
) -> Value {
    let mut responses = BTreeMap::new();
    // Its own refusal of a status says more.
    for refusal in usual.iter().chain(operation.refuses) {
        responses.insert(refusal.status(), reference("responses", refusal.name()));
    }
    for success in (operation.types.answers)(schemas) {
        let (status, response) = match success {
            Success::Shared(shared) => (shared.status(), reference("responses", shared.name())),
            Success::Own { status, headers: own, content } => {
                let mut response =
                    json!({ "description": operation.answer, "headers": headers(own) });
                if let Some(Content { media_type, schema }) = content {
                    let mut media = json!({});
                    if let Some(schema) = schema {
                        media["schema"] = schema;
                    }
                    if let Some(example) = examples.get(status.as_str()) {
                        media["example"] = example.clone();
                    }
                    response["content"] = json!({ media_type: media });
                }
                (status.as_u16(), response)
            }
        };
        responses.insert(status, response);
    }
    let responses = responses.into_iter().map(|(status, response)| (status.to_string(), response));
    responses.collect::<Map<_, _>>().into()
}

/// The refusals that follow from who may call an operation, and from what it takes.
fn usual_refusals(
    path: &str,
    may_call: MayCall,
    method: Method,
    operation: &Operation,
    request: &Requested,
) -> Vec<Shared> {
    let mut refusals = Vec::new();
    match may_call {
        MayCall::Anyone => {}
        MayCall::SignedIn | MayCall::Inviter | MayCall::Admin(_) => {
            refusals.push(Shared::Unauthorized);
        }
        MayCall::Fresh(_) => refusals.push(Shared::AdminRefused),
        MayCall::Client => refusals.push(Shared::InvalidClient),
        MayCall::Operator => refusals.push(Shared::NotFound),
    }
    if method != Method::Get {
        refusals.push(Shared::OtherSite);
    }
    if names(path).next().is_some() {
        refusals.push(Shared::NotFound);
    }
    if request.query.is_some() {
        refusals.push(Shared::Invalid);
    }
    match request.body.as_ref().map(|body| body.media_type) {
        Some(JSON) => {
            refusals.extend([Shared::Invalid, Shared::TooSlow, Shared::TooLarge, Shared::NotJson]);
        }
        Some(_) => refusals.extend([Shared::InvalidForm, Shared::TooSlow, Shared::TooLarge]),
        None => {}
    }
    if operation.types.can_fail || may_call != MayCall::Anyone {
        refusals.extend([Shared::Internal, Shared::Unavailable]);
    }
    refusals
}
