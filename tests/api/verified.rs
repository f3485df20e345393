//! Verified e-mail addresses: who sets them, how conditions read them, what apps receive.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{REFUSED, TestServer};

const PASSWORD: &str = "correct horse";
const GUARDS: &str = r#"
    [guards.ours]
    allow = 'user.emailVerified && user.domain == "example.com"'
    grant = "user"

    [guards.anybody]
    allow = "true"
    grant = "user"
"#;

async fn server() -> TestServer {
    TestServer::open_with(|settings| settings.with_toml(GUARDS)).await
}

/// Marks an address, or not, and returns the mark that the answer has.
async fn verify(server: &TestServer, who: &str, verified: bool) -> Value {
    let answer = server.order("PATCH", who, "", json!({"emailVerified": verified})).await;
    answer.json()["emailVerified"].clone()
}

async fn change(server: &TestServer, token: &str, body: Value) -> Value {
    let answer = server.request_as(token, "PATCH", "/api/me", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()["emailVerified"].clone()
}

#[tokio::test]
async fn an_address_counts_once_the_operator_has_verified_it_and_until_it_changes() {
    let server = server().await;
    let eve = server.register("Eve", "eve@example.com").await;
    let verified_header = async || {
        let answer = server.guard("anybody", &eve.token).await;
        assert_eq!(answer.status, StatusCode::OK);
        answer.header("x-auth-user-email-verified").map(str::to_owned)
    };
    assert_eq!(
        server.guard("ours", &eve.token).await.status_and_body(),
        REFUSED,
        "a new address is not verified"
    );
    assert_eq!(verified_header().await.as_deref(), Some("false"));

    assert_eq!(verify(&server, "EVE@example.com", true).await, true);
    assert_eq!(verify(&server, &eve.id, true).await, true);
    assert_eq!(server.guard("ours", &eve.token).await.status, StatusCode::OK, "at once");
    assert_eq!(verified_header().await.as_deref(), Some("true"));
    let me = server.request_as(&eve.token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!(me["emailVerified"], true);
    let export = server.request_as(&eve.token, "GET", "/api/me/export", Value::Null).await.json();
    assert_eq!(export["user"]["emailVerified"], true);

    assert_eq!(change(&server, &eve.token, json!({"name": "Eva"})).await, true);
    let same = json!({"email": "eve@example.com", "password": PASSWORD});
    assert_eq!(change(&server, &eve.token, same.clone()).await, true);
    let boss = json!({"email": "boss@example.com", "password": PASSWORD});
    assert_eq!(change(&server, &eve.token, boss).await, false);
    assert_eq!(server.guard("ours", &eve.token).await.status_and_body(), REFUSED);
    assert_eq!(verified_header().await.as_deref(), Some("false"));
    assert_eq!(change(&server, &eve.token, same).await, false, "nor is the old one");
    assert_eq!(server.guard("ours", &eve.token).await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn an_address_that_the_operator_unverifies_no_longer_counts() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    assert_eq!(verify(&server, "ada@example.com", false).await, false);
    assert_eq!(verify(&server, "ada@example.com", true).await, true);
    assert_eq!(server.guard("ours", &ada.token).await.status, StatusCode::OK);
    assert_eq!(verify(&server, "ada@example.com", false).await, false);
    assert_eq!(server.guard("ours", &ada.token).await.status_and_body(), REFUSED);
    let unknown = "/api/admin/users/bob@example.com";
    let answer = server.operator("PATCH", unknown, json!({"emailVerified": true})).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_guard_that_grants_the_id_alone_sends_the_header_empty() {
    let server = TestServer::open().await;
    let ada = server.register("Miles Davis", "ada@example.com").await;
    verify(&server, "ada@example.com", true).await;
    let answer = server.guard("guard", &ada.token).await;
    assert_eq!(answer.header("x-auth-user-email-verified"), Some(""));
    // The headers of the name policy are cached until the user changes.
    for verified in [true, false, true] {
        verify(&server, "ada@example.com", verified).await;
        for _ in 0..2 {
            let answer = server.guard("miles", &ada.token).await;
            let expected = if verified { "true" } else { "false" };
            assert_eq!(answer.header("x-auth-user-email-verified"), Some(expected));
        }
    }
}

#[tokio::test]
async fn registering_cannot_claim_that_an_address_is_verified() {
    let server = server().await;
    let body = json!({"name": "Eve", "email": "eve@example.com", "emailVerified": true, "email_verified": true});
    let eve = server.register_with(body).await;
    assert_eq!(server.guard("ours", &eve.token).await.status_and_body(), REFUSED);
    assert_eq!(change(&server, &eve.token, json!({"emailVerified": true})).await, false);
}
