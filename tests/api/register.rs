use axum::http::{StatusCode, header};
use serde_json::{Value, json};

use crate::support::{TestServer, malformed};

async fn refused(body: Value) -> String {
    let answer = TestServer::open().await.post("/api/user", &body).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_new_user_gets_an_id_and_a_token() {
    let server = TestServer::open().await;
    let body = json!({"name": "Ada", "email": "ada@example.com", "password": "12345678"});
    let answer = server.post("/api/user", &body).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"));
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    let id = body["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "4"), "a UUID of version 4: {id}");
    assert_eq!(server.guard("guard", body["token"].as_str().unwrap()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_missing_body_reports_name_and_email_as_required() {
    let expected = malformed(r#"{"name":"Required","email":"Required"}"#);
    let server = TestServer::open().await;
    for body in ["", "{}"] {
        assert_eq!(
            server.post_text("/api/user", body).await.status_and_body(),
            (400, &*expected),
            "{body:?}"
        );
    }
}

#[tokio::test]
async fn every_fault_is_named_in_one_answer_in_the_order_of_the_fields() {
    assert_eq!(
        refused(json!({"password": "short", "email": "nobody", "name": ""})).await,
        malformed(
            r#"{"name":"String must contain at least 2 character(s)","email":"Invalid email","password":"String must contain at least 8 character(s)"}"#
        )
    );
    assert_eq!(
        refused(json!({"name": 1, "email": [], "password": null})).await,
        malformed(
            r#"{"name":"Expected string, received number","email":"Expected string, received array","password":"Expected string, received null"}"#
        )
    );
    assert_eq!(
        refused(json!({"name": {}, "email": true})).await,
        malformed(
            r#"{"name":"Expected string, received object","email":"Expected string, received boolean"}"#
        )
    );
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_refused() {
    let server = TestServer::open().await;
    let answers = [
        ("nonsense", "Invalid JSON"),
        ("{\"name\":", "Invalid JSON"),
        ("\u{feff}{}", "Invalid JSON"),
        (r#"{"name":"\ud800"}"#, "Invalid JSON"),
        (&"[".repeat(100_000)[..60_000], "Invalid JSON"),
        ("[]", "Expected object, received array"),
        ("null", "Expected object, received null"),
        ("\"text\"", "Expected object, received string"),
        ("7", "Expected object, received number"),
        ("true", "Expected object, received boolean"),
    ];
    for (body, message) in answers {
        let expected = malformed(&format!(r#"{{"body":"{message}"}}"#));
        let answer = server.post_text("/api/user", body.to_owned()).await;
        assert_eq!(answer.status_and_body(), (400, &*expected), "{:.40}", body);
    }
}

#[tokio::test]
async fn an_address_can_be_registered_once_in_any_letter_case() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    for email in ["ada@example.com", "ADA@Example.com"] {
        let body = json!({"name": "Eve", "email": email, "password": "12345678"});
        let answer = server.post("/api/user", &body).await;
        assert_eq!(
            answer.status_and_body(),
            (
                409,
                r#"{"message":"The requested action conflicts with the current state of the resource.","error":[{"email":"Already registered"}]}"#
            )
        );
    }
}

#[tokio::test]
async fn fields_that_a_caller_may_not_set_are_ignored() {
    let server = TestServer::open().await;
    let wanted = "00000000-0000-4000-8000-000000000000";
    let member = server
        .register_with(json!({
            "name": "Eve", "email": "eve@example.com", "id": wanted, "createdAt": 0,
            "password_hash": "x", "roles": ["admin"],
        }))
        .await;
    assert_ne!(member.id, wanted);
    let profile = server.get(&format!("/api/user/{}", member.id)).await;
    assert_eq!(profile.body, format!(r#"{{"id":"{}","name":"Eve"}}"#, member.id));
}

#[tokio::test]
async fn the_limits_of_a_password_are_settings() {
    let server = TestServer::open_with(|settings| settings.with("password.min_length", 12)).await;
    let body = json!({"name": "Ada", "email": "ada@example.com", "password": "12345678901"});
    let answer = server.post("/api/user", &body).await;
    assert_eq!(
        answer.status_and_body(),
        (400, &*malformed(r#"{"password":"String must contain at least 12 character(s)"}"#))
    );
}
