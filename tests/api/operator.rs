//! Orders of the operator about users, and what they change for callers.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Answer, NOT_FOUND, TestServer, malformed, routes_about_a_user};

const ADA: &str = "ada@example.com";
const USERS: &str = "/api/admin/users";

async fn add(server: &TestServer, name: &str, email: &str, password: Option<&str>) -> Answer {
    let mut body = json!({"name": name, "email": email});
    if let Some(password) = password {
        body["password"] = password.into();
    }
    server.operator("POST", USERS, body).await
}

#[tokio::test]
async fn an_added_user_can_log_in() {
    let server = TestServer::open().await;
    let ada = add(&server, " Ada ", ADA, Some("correct horse")).await;
    assert_eq!(ada.status, StatusCode::CREATED);
    let ada = ada.json();
    assert_eq!(
        (&ada["name"], &ada["hasPassword"], &ada["disabled"]),
        (&json!("Ada"), &json!(true), &json!(false))
    );
    server.token_of(ADA, "correct horse").await;
    let bob = add(&server, "Bob", "bob@example.com", None).await.json();
    assert_eq!(bob["hasPassword"], false);
}

#[tokio::test]
async fn the_rules_of_registration_apply_to_the_operator() {
    let server = TestServer::open().await;
    server.register("Ada", ADA).await;
    for (name, email, password, expected) in [
        (
            "x",
            "eve@example.com",
            None,
            json!({"name": "String must contain at least 2 character(s)"}),
        ),
        ("Eve", "eve", None, json!({"email": "Invalid email"})),
        (
            "Eve",
            "eve@example.com",
            Some("short"),
            json!({"password": "String must contain at least 8 character(s)"}),
        ),
    ] {
        let refused = add(&server, name, email, password).await;
        assert_eq!(refused.status_and_body(), (400, &*malformed(&expected.to_string())));
    }
    let taken = add(&server, "Eve", "ADA@example.com", None).await;
    assert_eq!(taken.status, StatusCode::CONFLICT);
    assert_eq!(taken.json()["error"], json!([{"email": "Already registered"}]));
    let path = format!("{USERS}/{ADA}/password");
    let short = server.operator("POST", &path, json!({"password": "short"})).await;
    assert_eq!(short.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_disabled_user_is_like_an_unknown_one_until_enabled() {
    let server = TestServer::open().await;
    server.register("Ada", ADA).await;
    server.order("PATCH", ADA, "", json!({"disabled": true})).await;
    let refused = server.login(ADA, "correct horse").await;
    assert_eq!(refused.status_and_body(), (404, NOT_FOUND));
    assert_eq!(server.order("GET", ADA, "", Value::Null).await.json()["disabled"], true);
    server.order("PATCH", ADA, "", json!({"disabled": false})).await;
    server.token_of(ADA, "correct horse").await;
}

#[tokio::test]
async fn a_password_set_by_the_operator_replaces_the_old_one() {
    let server = TestServer::open().await;
    server.register("Ada", ADA).await;
    server.order("POST", ADA, "/password", json!({"password": "another horse"})).await;
    let old = server.login(ADA, "correct horse").await;
    assert_eq!(old.status, StatusCode::NOT_FOUND);
    server.token_of(ADA, "another horse").await;
}

#[tokio::test]
async fn orders_about_an_unknown_user_find_nobody() {
    let server = TestServer::open().await;
    for route in routes_about_a_user() {
        if route.path.ends_with("/refusals") {
            // What was refused to an unknown address is listed.
            continue;
        }
        let method = route.method.as_str();
        let path = route.path.replace("{role}", "staff");
        let path = path.replace("{id}", "0190a0a0-0000-4000-8000-00000000000a");
        let body = match method {
            "PATCH" | "POST" => json!({"disabled": true, "password": "correct horse"}),
            _ => Value::Null,
        };
        for nobody in ["nobody@example.com", "0190a0a0-0000-4000-8000-00000000000a", "%ff"] {
            let path = path.replace("{user}", nobody);
            let answer = server.operator(method, &path, body.clone()).await;
            assert_eq!(answer.status_and_body(), (404, NOT_FOUND), "{method} {path}");
        }
    }
}
