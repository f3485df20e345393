//! What an operator can look up about refused logins and guard requests.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{NOT_FOUND, TestServer};

async fn refused(server: &TestServer, who: &str) -> Value {
    server.ordered("GET", &format!("/api/admin/users/{who}/refusals"), Value::Null).await
}

/// The reasons of failed logins, the newest first.
async fn reasons(server: &TestServer, who: &str) -> Vec<String> {
    let reason = |one: &Value| Some(one["action"]["login"]["reason"].as_str()?.to_owned());
    refused(server, who).await["refused"].as_array().unwrap().iter().filter_map(reason).collect()
}

#[tokio::test]
async fn every_failed_login_is_kept_with_its_reason() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await;
    server.register_with(json!({"name": "Bob", "email": "bob@example.com"})).await;
    for (email, password) in [
        ("ada@example.com", "wrong horse"),
        ("bob@example.com", "correct horse"),
        ("nobody@example.com", "correct horse"),
    ] {
        assert_eq!(server.login(email, password).await.status, StatusCode::NOT_FOUND);
    }
    server.doorward.disable_user(ada.id.parse().unwrap()).await.unwrap();
    assert_eq!(
        server.login("ADA@example.com", "correct horse").await.status,
        StatusCode::NOT_FOUND
    );
    for who in ["ada@example.com", "Ada@Example.com", &ada.id] {
        assert_eq!(reasons(&server, who).await, ["disabled", "wrong password"], "{who}");
    }
    let report = refused(&server, &ada.id).await;
    assert_eq!((&report["user"], &report["disabled"]), (&json!(ada.id), &json!(true)));
    assert_eq!(reasons(&server, "bob@example.com").await, ["no password"]);
    assert_eq!(reasons(&server, "nobody@example.com").await, ["unknown address"]);
    let unknown = refused(&server, "nobody@example.com").await;
    assert_eq!((&unknown["user"], &unknown["disabled"]), (&Value::Null, &json!(false)));
    assert_eq!(refused(&server, "unheard-of@example.com").await["refused"], json!([]));
    let answer = server.operator("GET", "/api/admin/users/nobody/refusals", Value::Null).await;
    assert_eq!(answer.status_and_body(), (404, NOT_FOUND));
}

#[tokio::test]
async fn a_throttled_login_says_which_budget_is_spent() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    let mut tries = 0;
    while server.login("ada@example.com", "wrong horse").await.status == StatusCode::NOT_FOUND {
        tries += 1;
        assert!(tries < 1000, "it is throttled eventually");
    }
    let reasons = reasons(&server, "ada@example.com").await;
    assert!(reasons.iter().any(|reason| reason.starts_with("throttled: ")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason == "wrong password"), "{reasons:?}");
}

#[tokio::test]
async fn refusals_by_guards_are_listed_with_the_id_that_explains_them() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let refusal = server.guard("miles", &ada.token).await;
    assert_eq!(refusal.status, StatusCode::UNAUTHORIZED);
    let report = refused(&server, "ada@example.com").await["refused"].take();
    let decision = refusal.header("x-decision-id").expect("a decision id");
    let guard = json!({"guard": "Designated", "decision": decision, "onlyReported": false});
    let refused_at = server.now().to_string();
    assert_eq!(report, json!([{"refusedAt": refused_at, "action": {"guard": guard}}]));
}
