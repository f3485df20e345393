//! Discovery documents and the key set.

use std::time::Duration;

use doorward::internals::Internals;
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

const KEY_SET: &str = "/.well-known/jwks.json";

#[track_caller]
fn kept_for(answer: &Answer, seconds: u64) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some(&*format!("public, max-age={seconds}")));
    answer.json()
}

#[tokio::test]
async fn the_key_set_holds_every_key_that_verifies_or_is_to_sign() {
    let server = TestServer::open().await;
    let set = kept_for(&server.get(KEY_SET).await, 60);
    assert_eq!(set["keys"].as_array().unwrap().len(), 1);
    let first = &set["keys"][0];
    for (member, value) in [("kty", "EC"), ("crv", "P-256"), ("alg", "ES256"), ("use", "sig")] {
        assert_eq!(first[member], value);
    }
    server.rotate_keys().await;
    let set = server.get(KEY_SET).await.json();
    assert_eq!((set["keys"].as_array().unwrap().len(), &set["keys"][0]), (2, first));

    server.let_pass(Duration::from_secs(60));
    server.doorward.tend_keys().await.unwrap();
    let rotated = server.get(KEY_SET).await.json();
    assert_eq!(rotated["keys"], json!([set["keys"][1], first]), "the one that signs comes first");

    server.revoke_key(first["kid"].as_str().unwrap()).await;
    assert_eq!(server.get(KEY_SET).await.json()["keys"], json!([set["keys"][1]]));
}

#[tokio::test]
async fn a_cached_key_set_expires_before_a_key_that_it_lacks_signs() {
    for (published_for, kept) in [(0, 0), (90, 90), (7 * 24 * 60 * 60, 60 * 60)] {
        let server = TestServer::open_with(|s| {
            s.with("token.publish_before_signing", format!("{published_for}s"))
        })
        .await;
        kept_for(&server.get(KEY_SET).await, kept);
    }
}

#[tokio::test]
async fn discovery_names_the_key_set() {
    let file =
        "public_url = \"https://auth.example.com/\"\ntoken.issuer = \"https://auth.example.com\"\n";
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    for document in ["openid-configuration", "oauth-authorization-server"] {
        let metadata = kept_for(&server.get(&format!("/.well-known/{document}")).await, 60);
        assert_eq!(
            metadata,
            json!({
                "issuer": "https://auth.example.com",
                "jwks_uri": "https://auth.example.com/.well-known/jwks.json",
                "revocations_uri": "https://auth.example.com/.well-known/revocations",
                "introspection_endpoint": "https://auth.example.com/oauth/introspect",
                "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
                "revocation_endpoint": "https://auth.example.com/oauth/revoke",
                "revocation_endpoint_auth_methods_supported": ["client_secret_basic"],
                "id_token_signing_alg_values_supported": ["ES256"],
                "subject_types_supported": ["public"],
                "response_types_supported": [],
                "grant_types_supported": [],
            })
        );
    }
}

#[tokio::test]
async fn browsers_find_the_origins_that_may_use_passkeys() {
    const PATH: &str = "/.well-known/webauthn";
    let file = "public_url = 'https://id.example.com/in'\nsign_in.passkey_domain = 'old.example'\n\
                sign_in.passkey_origins = ['https://old.example']\n";
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    let origins = kept_for(&server.get(PATH).await, 60 * 60);
    assert_eq!(origins, json!({"origins": ["https://id.example.com", "https://old.example"]}));
    for file in [
        "public_url = 'http://127.0.0.1:3000'",
        "public_url = 'https://192.0.2.7'",
        "public_url = 'https://id.example.com'\nsign_in.factor_kinds = ['totp']",
    ] {
        let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
        assert_eq!(server.get(PATH).await.status, 404, "{file}");
    }
}

#[tokio::test]
async fn without_a_public_url_discovery_names_the_address_that_it_listens_on() {
    let metadata = TestServer::open().await.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["issuer"], "doorward");
    assert_eq!(metadata["jwks_uri"], "http://localhost:3000/.well-known/jwks.json");
}
