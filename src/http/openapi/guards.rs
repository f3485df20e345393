//! The description of guards, which answer every method.

use serde_json::{Map, Value, json};

use super::reference;
use crate::http::{description::Shared, forward_auth::GuardKind};

/// OpenAPI cannot say "any other method".
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "patch", "trace"];

/// Adds the operations of a guard to the description of its path.
pub(super) fn describe(kind: GuardKind, item: &mut Map<String, Value>) {
    use Shared::*;
    let answer = reference("parameters", "answer");
    let (id, summary, answers, parameters): (_, _, &[Shared], _) = match kind {
        GuardKind::Authenticated => {
            ("guard", "Admit any valid token", &[Authenticated, Unauthorized], vec![answer])
        }
        GuardKind::Designated => {
            let summary = "Admit the user with the designated name";
            ("designated", summary, &[Designated, Unauthorized], vec![answer])
        }
        GuardKind::Declared => {
            let answers = &[Admitted, ToSignIn, Unauthorized, RefusedVisit, NotFound];
            let forwarded = FORWARDED.map(|name| reference("parameters", name));
            let parameters = [name(), answer].into_iter().chain(forwarded);
            ("declaredGuard", "Admit by a declared guard", answers, parameters.collect())
        }
    };
    let responses = answers
        .iter()
        .chain(&[Internal, Unavailable])
        .map(|answer| (answer.status().to_string(), reference("responses", answer.name())));
    let responses: Map<_, _> = responses.collect();
    item.insert("parameters".into(), parameters.into());
    for method in METHODS {
        let operation = json!({
            "operationId": operation_id(id, method),
            "tags": ["Guards"],
            "summary": summary,
            "security": [{ "bearer": [] }],
            "responses": responses,
        });
        item.insert(method.into(), operation);
    }
}

/// The id of the operation with this method: the name of the guard alone for `get`.
fn operation_id(guard: &str, method: &str) -> String {
    match (method, method.split_at(1)) {
        ("get", _) => guard.to_owned(),
        (_, (first, rest)) => format!("{guard}{}{rest}", first.to_uppercase()),
    }
}

fn name() -> Value {
    json!({
        "name": "guard",
        "in": "path",
        "required": true,
        "description": "The name of the guard in the settings",
        "schema": { "type": "string", "pattern": "^[a-z0-9-]{1,64}$" },
        "example": "staff",
    })
}

/// The headers in which proxies describe the guarded request.
pub(super) const FORWARDED: [&str; 7] = [
    "X-Forwarded-Method",
    "X-Forwarded-Uri",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-For",
    "X-Original-Method",
    "X-Original-Uri",
];

/// The parameters that guards share.
pub(super) fn parameters() -> Value {
    let forwarded = FORWARDED.map(|name| {
        let part = match name {
            "X-Forwarded-Method" => "The method (Traefik, Caddy, HAProxy)",
            "X-Forwarded-Uri" => "The path and query (Traefik, Caddy, HAProxy)",
            "X-Forwarded-Host" => "The host",
            "X-Forwarded-Proto" => "The scheme",
            "X-Forwarded-For" => "The client's address",
            "X-Original-Method" => "The method (nginx)",
            _ => "The path and query (nginx)",
        };
        let description =
            format!("{part} of the guarded request. Read only if a trusted proxy sends it");
        let schema = json!({ "type": "string" });
        let parameter =
            json!({ "name": name, "in": "header", "description": description, "schema": schema });
        (name.to_owned(), parameter)
    });
    let answer = json!({
        "name": "answer",
        "in": "query",
        "description": "`full` for the second request of nginx: the answer to a refused request. It is never an admission",
        "schema": { "type": "string" },
    });
    [("answer".to_owned(), answer)].into_iter().chain(forwarded).collect()
}
