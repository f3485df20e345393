//! What operations share: headers, ways to authenticate, and the answers in [`Shared`].

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::{guards, headers};
use crate::http::{
    description::{Schemas, Shared},
    error::{bearer_challenges, message, unauthorized_messages},
    factor_challenge::FactorChallenge,
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
    let json = |schema| Some(("application/json", schema));
    let of_status = || message(StatusCode::from_u16(shared.status()).expect("it is a status"));
    match shared {
        Shared::Authenticated => json(constant("You are authenticated.")),
        Shared::Designated => json(constant(greeting)),
        Shared::Admitted => json(constant("You may pass.")),
        Shared::ToSignIn => None,
        Shared::OtherCheckpoint => Some(("text/x.tlog.size", json!({ "type": "string" }))),
        Shared::Invalid => json(schemas.of_answer::<FieldErrors>()),
        Shared::Taken => json(schemas.of_answer::<Taken>()),
        Shared::FactorMissing => json(schemas.of_answer::<FactorMissing>()),
        Shared::StepUp => json(
            json!({ "oneOf": [message_of(&[of_status()]), schemas.of_answer::<FactorMissing>()] }),
        ),
        Shared::AlreadyInvited => {
            let invited = message_of(&["The address is invited already."]);
            json(json!({ "oneOf": [schemas.of_answer::<Taken>(), invited] }))
        }
        Shared::OrderConflict => {
            json(json!({ "oneOf": [schemas.of_answer::<Taken>(), schemas.of_answer::<Message>()] }))
        }
        Shared::InvalidClient => json(with_code(of_status(), "invalid_client")),
        Shared::InvalidForm => json(with_code(of_status(), "invalid_request")),
        Shared::Unauthorized => json(message_of(&unauthorized_messages())),
        Shared::AdminRefused => {
            let sign_in_again = [SIGN_IN_AGAIN.to_owned()];
            json(message_of(&[&unauthorized_messages()[..], &sign_in_again].concat()))
        }
        Shared::Unconfirmed | Shared::NotRecent => json(message_of(&[of_status(), SIGN_IN_AGAIN])),
        Shared::MayNotRegister => {
            json(message_of(&["Registration is not open for this address.", of_status()]))
        }
        Shared::MayNotInvite => json(message_of(&["You may not invite others.", of_status()])),
        Shared::FactorRefused => json(message_of(&[
            "The challenge has expired or was answered before. Please sign in again.",
            "The second factor is wrong.",
            "The passkey is not known here.",
            "The code was used before. Please wait for the next one.",
        ])),
        Shared::FactorConflict => json(message_of(&[
            "The factor exists already.",
            "Nobody can have more passkeys.",
            "This is the last way to sign in. Please set a password or add another passkey first.",
        ])),
        Shared::TooManyKeys => json(message_of(&[
            "You have the most keys that one can have. Please revoke one first.",
        ])),
        Shared::Mailed => {
            json(message_of(&["If the address can receive this mail, it is on its way."]))
        }
        Shared::WrongCode
        | Shared::OtherSite
        | Shared::RefusedVisit
        | Shared::NotFound
        | Shared::NotOffered
        | Shared::NoFactor
        | Shared::WrongCredentials
        | Shared::TooSlow
        | Shared::TooLarge
        | Shared::NotJson
        | Shared::Throttled
        | Shared::Internal
        | Shared::NeedsMail
        | Shared::Unavailable => json(message_of(&[of_status()])),
        Shared::MayNotInviteWithRoles
        | Shared::NotAllowed
        | Shared::NotDone
        | Shared::NotDoneNow
        | Shared::UserChanged
        | Shared::OtherOrder
        | Shared::NoMail
        | Shared::Failed
        | Shared::NotReady
        | Shared::GuardsNotReady => json(schemas.of_answer::<Message>()),
    }
}

const SIGN_IN_AGAIN: &str =
    "This action needs a sign-in within the last 10 minutes. Please sign in again.";

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
