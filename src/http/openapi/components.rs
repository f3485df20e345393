//! What operations share: headers, ways to authenticate, and the answers in [`Shared`].

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::{guards, headers};
use crate::{
    account,
    http::{
        Error,
        description::{Schemas, Shared, SharedBody},
        error::{bearer_challenges, message, unauthorized_messages},
        factor_challenge::FactorChallenge,
    },
};

pub(super) fn security_schemes() -> Value {
    json!({
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The token of a registration, login or refresh. The admin API and guards with `keys = true` also take an API key",
        },
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "A client of the setting `clients`, from `doorward client secret`",
        },
    })
}

pub(super) fn parameters() -> Value {
    guards::parameters()
}

pub(super) fn headers_of_answers() -> Value {
    let text = |description: &str, schema: Value| json!({ "description": description, "required": true, "schema": schema });
    let pattern = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let constant = |text: &str| json!({ "type": "string", "const": text });
    json!({
        "RequestId": text("The id of the request, as in the log", pattern("^[0-9a-f]{16}$")),
        "NoSniff": text("Browsers must not guess another content type", constant("nosniff")),
        "NoStore": text("No cache may store the answer", constant("no-store")),
        "Public": text("How long caches may store the answer", pattern("^public, max-age=[0-9]+$")),
        "ETag": { "description": "The version of the user, for `If-Match`", "schema": { "type": "string" } },
        "RetryAfter": text("Seconds after which the request may succeed", json!({ "type": "integer", "minimum": 1 })),
        "BearerChallenge": text(
            "RFC 6750. Without a code: the request had no credentials. `invalid_token`: get a new token. `insufficient_scope`: the token is valid, but not for this. `insufficient_user_authentication` (RFC 9470): its session has to prove more, or to have proved it not longer ago",
            json!({ "type": "string", "enum": bearer_challenges() }),
        ),
        "BasicChallenge": text("RFC 7617", constant("Basic realm=\"doorward\"")),
        "VaryAuthorization": text("The answer depends on the token", constant("Authorization")),
        "DecisionId": {
            "description": "The id of a refusal. `doorward why` explains it to the operator",
            "schema": pattern("^[0-9a-f]{32}$"),
        },
        "UserId": text(
            "The user's id; empty if a declared guard admitted a request without a user",
            pattern("^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$"),
        ),
        "Policy": text("The guard that admitted the request", pattern("^[a-z0-9_-]{1,64}$")),
        "EmailVerified": text(
            "Empty if the guard discloses the id only",
            json!({ "type": "string", "enum": ["true", "false", ""] }),
        ),
        "Disclosed": text(
            "Printable ASCII, other characters percent-encoded; empty if the guard discloses the id only",
            pattern("^[ -~]*$"),
        ),
        "ExtraIdentity": {
            "description": "Only with the setting `identity_headers`. Printable ASCII, other characters percent-encoded",
            "schema": pattern("^[ -~]*$"),
        },
    })
}

/// The headers that a component describes.
fn described_by(component: &'static str) -> &'static [&'static str] {
    match component {
        "NoStore" => &["Cache-Control"],
        "RetryAfter" => &["Retry-After"],
        "BearerChallenge" | "BasicChallenge" => &["WWW-Authenticate"],
        "VaryAuthorization" => &["Vary"],
        "DecisionId" => &["X-Decision-Id"],
        "UserId" => &["X-Auth-User-Id"],
        "Policy" => &["X-Auth-Policy"],
        "Disclosed" => &["X-Auth-User-Name", "X-Auth-User-Email"],
        "EmailVerified" => &["X-Auth-User-Email-Verified"],
        "ExtraIdentity" => &[
            "Remote-User",
            "Remote-Name",
            "Remote-Email",
            "Remote-Groups",
            "X-Auth-Request-User",
            "X-Auth-Request-Preferred-Username",
            "X-Auth-Request-Email",
            "X-Auth-Request-Groups",
        ],
        component => panic!("{component} describes no header"),
    }
}

/// The description of a shared answer. `greeting` is that of the designated user.
pub(super) fn response(
    shared: Shared,
    greeting: &str,
    examples: &Value,
    schemas: &mut Schemas,
) -> Value {
    let named = shared.headers().iter().copied();
    let named =
        named.flat_map(|header| described_by(header).iter().map(move |name| (*name, header)));
    let mut headers = headers(named);
    let mut content = Map::new();
    if let Some((media_type, schema)) = body(shared, greeting, schemas) {
        let mut media = json!({ "schema": schema });
        if let Some(example) = examples.get(shared.name()).or_else(|| success(shared, &schema)) {
            media["example"] = example.clone();
        }
        content.insert(media_type.to_owned(), media);
    }
    if matches!(shared, Shared::ToSignIn | Shared::RefusedVisit) {
        // Pages have other headers.
        headers.as_object_mut().and_then(|headers| headers.shift_remove("X-Content-Type-Options"));
        headers["Set-Cookie"] = json!({
            "description": "The app cookie or the try cookie",
            "schema": { "type": "string" },
        });
    }
    if shared == Shared::ToSignIn {
        let schema = json!({ "type": "string", "format": "uri-reference" });
        headers["Location"] = json!({ "required": true, "schema": schema });
    }
    if shared == Shared::RefusedVisit {
        content.insert("text/html".to_owned(), json!({ "schema": { "type": "string" } }));
    }
    let mut response = json!({ "description": shared.description(), "headers": headers });
    if !content.is_empty() {
        response["content"] = content.into();
    }
    response
}

/// The only value of a success, which is its example.
fn success(shared: Shared, schema: &Value) -> Option<&Value> {
    schema.get("const").filter(|_| shared.status() < 300)
}

/// The media type and the schema of the body.
fn body(shared: Shared, greeting: &str, schemas: &mut Schemas) -> Option<(&'static str, Value)> {
    let of_status = || message(StatusCode::from_u16(shared.status()).expect("it is a status"));
    let schema = match shared.body() {
        SharedBody::Nothing => return None,
        SharedBody::TreeSize => return Some(("text/x.tlog.size", json!({ "type": "string" }))),
        SharedBody::Text(text) => constant(text),
        SharedBody::Greeting => constant(greeting),
        SharedBody::Status => message_of(&[of_status()]),
        SharedBody::AnyMessage => schemas.of_answer::<Message>(),
        SharedBody::Message(message) => message_of(&[message]),
        SharedBody::Reasons(reasons) => message_of_one(reasons()),
        SharedBody::ReasonOrStatus(reason) => {
            message_of(&[Error::from(reason).message(), of_status()])
        }
        SharedBody::WithCode(code) => with_code(of_status(), code),
        SharedBody::Faults => schemas.of_answer::<FieldErrors>(),
        SharedBody::Taken => schemas.of_answer::<Taken>(),
        SharedBody::TakenOrAnyMessage => {
            json!({ "oneOf": [schemas.of_answer::<Taken>(), schemas.of_answer::<Message>()] })
        }
        SharedBody::TakenOrReasons(reasons) => {
            json!({ "oneOf": [schemas.of_answer::<Taken>(), message_of_one(reasons())] })
        }
        SharedBody::Unauthorized => message_of(&unauthorized_messages()),
        SharedBody::UnauthorizedOrSignInAgain => {
            let sign_in_again = [Error::SignInAgain.message().to_owned()];
            message_of(&[&unauthorized_messages()[..], &sign_in_again].concat())
        }
        SharedBody::StatusOrSignInAgain => message_of(&[of_status(), Error::SignInAgain.message()]),
        SharedBody::FactorMissing => schemas.of_answer::<FactorMissing>(),
        SharedBody::StatusOrFactorMissing => {
            json!({ "oneOf": [message_of(&[of_status()]), schemas.of_answer::<FactorMissing>()] })
        }
    };
    Some(("application/json", schema))
}

/// A body with the message of one of these reasons.
fn message_of_one(reasons: Vec<account::Error>) -> Value {
    let errors: Vec<_> = reasons.into_iter().map(Error::from).collect();
    message_of(&errors.iter().map(Error::message).collect::<Vec<_>>())
}

fn constant(text: &str) -> Value {
    json!({ "type": "string", "const": text })
}

/// A body with one of these messages.
fn message_of<T: AsRef<str>>(messages: &[T]) -> Value {
    let message = match messages {
        [message] => constant(message.as_ref()),
        messages => {
            let messages: Vec<_> = messages.iter().map(AsRef::as_ref).collect();
            json!({ "type": "string", "enum": messages })
        }
    };
    json!({
        "type": "object",
        "properties": { "message": message },
        "required": ["message"],
        "additionalProperties": false,
    })
}

/// A body with a code of RFC 6749.
fn with_code(message: &str, code: &str) -> Value {
    json!({
        "type": "object",
        "properties": { "message": constant(message), "error": constant(code) },
        "required": ["message", "error"],
        "additionalProperties": false,
    })
}

// The bodies that `Error` writes.

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it only describes a body")]
struct Message {
    message: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it only describes a body")]
struct FieldErrors {
    #[schemars(extend("const" = message(StatusCode::BAD_REQUEST)))]
    message: String,
    #[schemars(extend("items" = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": { "type": "string" },
        "description": "A message for each invalid field, and for each unknown field that is a misspelling of a missing one. The key `body` stands for the whole body"
    }))]
    error: [String; 1],
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it only describes a body")]
struct Taken {
    #[schemars(extend("const" = message(StatusCode::CONFLICT)))]
    message: String,
    error: [TakenField; 1],
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "it only describes a body")]
struct TakenField {
    #[schemars(extend("const" = "Already registered"))]
    email: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it only describes a body")]
struct FactorMissing {
    #[schemars(extend("const" = "A second factor is missing."))]
    message: String,
    #[serde(flatten)]
    challenge: FactorChallenge,
}
