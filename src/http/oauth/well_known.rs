//! `GET /.well-known/…`: the key set and the metadata that verifiers of tokens need. Both are public.

use std::{borrow::Cow, net::SocketAddr, time::Duration};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, request::Parts},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    Doorward,
    http::{answer::Cacheable, client_ip, paths},
    network::{Arrival, PROBE_HEADER},
};

/// The members of RFC 8414 and OpenID Connect Discovery that apply without an authorisation endpoint.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Metadata {
    issuer: String,
    #[schemars(url)]
    jwks_uri: String,
    #[schemars(url)]
    revocations_uri: String,
    #[schemars(url)]
    introspection_endpoint: String,
    #[schemars(extend("items" = { "type": "string", "const": "client_secret_basic" }))]
    introspection_endpoint_auth_methods_supported: [&'static str; 1],
    #[schemars(url)]
    revocation_endpoint: String,
    #[schemars(extend("items" = { "type": "string", "const": "client_secret_basic" }))]
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    #[schemars(length(min = 1), extend(
        "items" = { "type": "string", "enum": ["ES256", "EdDSA", "RS256"] },
        "uniqueItems" = true
    ))]
    id_token_signing_alg_values_supported: Vec<&'static str>,
    #[schemars(extend("items" = { "type": "string", "const": "public" }))]
    subject_types_supported: [&'static str; 1],
    response_types_supported: [&'static str; 0],
    grant_types_supported: [&'static str; 0],
}

/// The public keys. Their type is that of a library, which derives no schema.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct PublicKeys<K>(K);

impl<K> JsonSchema for PublicKeys<K> {
    fn schema_name() -> Cow<'static, str> {
        "KeySet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let constant = |text: &str| json!({ "type": "string", "const": text });
        let key = |algorithm: &str, others: &[(&str, Value)]| {
            let usual =
                [("use", constant("sig")), ("alg", constant(algorithm)), ("kid", base64url())];
            let members = usual.iter().chain(others);
            let properties: Map<_, _> = members
                .clone()
                .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
                .collect();
            let required: Vec<_> = members.map(|(name, _)| *name).collect();
            json!({ "type": "object", "properties": properties, "required": required })
        };
        let keys = [
            key(
                "ES256",
                &[
                    ("kty", constant("EC")),
                    ("crv", constant("P-256")),
                    ("x", base64url()),
                    ("y", base64url()),
                ],
            ),
            key(
                "EdDSA",
                &[("kty", constant("OKP")), ("crv", constant("Ed25519")), ("x", base64url())],
            ),
            key("RS256", &[("kty", constant("RSA")), ("n", base64url()), ("e", base64url())]),
        ];
        json_schema!({
            "type": "object",
            "properties": { "keys": { "type": "array", "minItems": 1, "items": { "oneOf": keys } } },
            "required": ["keys"],
        })
    }
}

fn base64url() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$" })
}

pub(crate) async fn keys(
    State(doorward): State<Doorward>,
) -> Cacheable<PublicKeys<impl Serialize>> {
    Cacheable(max_age(&doorward), PublicKeys(doorward.mint().public_keys()))
}

pub(crate) async fn metadata(
    State(doorward): State<Doorward>,
    request: Request,
) -> Cacheable<Metadata> {
    record_probe(&doorward, &request.into_parts().0);
    let settings = doorward.settings();
    let base = doorward.public_base();
    let at = |path: &str| format!("{base}{path}");
    let metadata = Metadata {
        issuer: settings.token.issuer.clone(),
        jwks_uri: at(paths::KEY_SET),
        revocations_uri: at(paths::REVOCATIONS),
        introspection_endpoint: at(paths::INTROSPECT),
        introspection_endpoint_auth_methods_supported: ["client_secret_basic"],
        revocation_endpoint: at(paths::REVOKE),
        revocation_endpoint_auth_methods_supported: ["client_secret_basic"],
        id_token_signing_alg_values_supported: doorward.mint().algorithms(),
        subject_types_supported: ["public"],
        response_types_supported: [],
        grant_types_supported: [],
    };
    Cacheable(max_age(&doorward), metadata)
}

/// Records a request of `doorward doctor`. Every proxy of `deploy/` passes this path to Doorward.
fn record_probe(doorward: &Doorward, parts: &Parts) {
    let Some(nonce) = text(&parts.headers, PROBE_HEADER) else { return };
    doorward.probes().record(&nonce, || {
        let peer = client_ip::peer(&parts.extensions);
        let trusted = &doorward.settings().trusted_proxies;
        let client = client_ip::client_address(&parts.headers, peer, trusted);
        Arrival {
            peer: parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0),
            is_trusted: client_ip::is_trusted(peer, trusted),
            client: client.unwrap_or(peer),
            forwarded_for: text(&parts.headers, "x-forwarded-for"),
            forwarded_proto: text(&parts.headers, "x-forwarded-proto"),
        }
    });
}

/// The lines of a header, as one list.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

fn max_age(doorward: &Doorward) -> Duration {
    doorward.settings().token.key_set_max_age()
}
