//! `password.refuse_common`, wherever a new password is set.

use serde_json::{Value, json};

use crate::support::{TestServer, malformed};

const COMMON: &str = "Too common: choose another password";
const OWN: &str = "Must not be your name or e-mail address";
/// A password of Ada Lovelace, ada.lovelace@example.com, and why it is refused.
const REFUSED: [(&str, &str); 6] = [
    ("password1", COMMON),
    ("QWERTY123", COMMON),
    // The name of the service.
    ("Doorward-2026", COMMON),
    ("ada lovelace", OWN),
    ("Ada.Lovelace@example.com", OWN),
    ("ada.lovelace", OWN),
];
const EMAIL: &str = "ada.lovelace@example.com";

async fn strict() -> TestServer {
    TestServer::open_with(|settings| settings.with("password.refuse_common", true)).await
}

async fn code(server: &TestServer) -> String {
    let made = server.order("POST", EMAIL, "/reset-code", Value::Null).await;
    made.json()["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn registration_refuses_common_passwords_where_that_is_set() {
    let server = strict().await;
    let ada = |password| json!({"name": "Ada Lovelace", "email": EMAIL, "password": password});
    for (password, fault) in REFUSED {
        let answer = server.post("/api/user", &ada(password)).await;
        let expected = malformed(&json!({ "password": fault }).to_string());
        assert_eq!(answer.status_and_body(), (400, &*expected), "{password}");
    }
    let body = json!({"name": "A", "email": "ada", "password": "password1"});
    let answer = server.post("/api/user", &body).await;
    let expected = malformed(&format!(
        r#"{{"name":"String must contain at least 2 character(s)","email":"Invalid email","password":"{COMMON}"}}"#
    ));
    assert_eq!(answer.status_and_body(), (400, &*expected), "every fault is named in one answer");
    server.register_with(ada("correct horse")).await;
}

#[tokio::test]
async fn any_password_of_the_right_length_is_accepted_by_default() {
    let server = TestServer::open().await;
    for (number, (password, _)) in REFUSED.into_iter().enumerate() {
        let email = format!("ada.lovelace+{number}@example.com");
        let body = json!({"name": "Ada Lovelace", "email": email, "password": password});
        server.register_with(body).await;
        server.token_of(&email, password).await;
    }
}

#[tokio::test]
async fn common_passwords_are_refused_by_default_where_the_public_url_is_https() {
    let https =
        |settings: doorward::Settings| settings.with("public_url", "https://auth.example.com");
    let server = TestServer::open_with(https).await;
    for (password, fault) in REFUSED {
        let body = json!({"name": "Ada Lovelace", "email": EMAIL, "password": password});
        let answer = server.post("/api/user", &body).await;
        let expected = malformed(&json!({ "password": fault }).to_string());
        assert_eq!(answer.status_and_body(), (400, &*expected), "{password}");
    }
}

#[tokio::test]
async fn a_change_and_a_reset_refuse_common_passwords_where_that_is_set() {
    let server = strict().await;
    let token = server.register("Ada Lovelace", EMAIL).await.token;
    let code = code(&server).await;
    for (password, fault) in REFUSED {
        let body = json!({"current": "correct horse", "new": password});
        let answer = server.request_as(&token, "POST", "/api/me/password", body).await;
        let expected = malformed(&json!({ "new": fault }).to_string());
        assert_eq!(answer.status_and_body(), (400, &*expected), "{password}");

        let body = json!({"code": code, "password": password});
        let answer = server.post("/api/auth/reset", &body).await;
        let expected = malformed(&json!({ "password": fault }).to_string());
        assert_eq!(answer.status_and_body(), (400, &*expected), "{password}");
    }
    let body = json!({"code": code, "password": "another horse"});
    assert_eq!(
        server.post("/api/auth/reset", &body).await.status_and_body(),
        (204, ""),
        "it is not used up"
    );
    server.token_of(EMAIL, "another horse").await;
}

#[tokio::test]
async fn a_common_password_from_before_still_logs_in() {
    let server = TestServer::open().await;
    let body = json!({"name": "Ada Lovelace", "email": EMAIL, "password": "password1"});
    server.register_with(body).await;
    let refuse = |settings: doorward::Settings| settings.with("password.refuse_common", true);
    let server = TestServer::reopen(server.close(), refuse).await;
    server.token_of(EMAIL, "password1").await;
}

#[tokio::test]
async fn the_setting_applies_to_the_operator() {
    let server = strict().await;
    server.register("Ada Lovelace", EMAIL).await;
    for (password, fault) in REFUSED {
        let expected = malformed(&json!({"password": fault}).to_string());
        let set = format!("/api/admin/users/{EMAIL}/password");
        let user = json!({"name": "Ada Lovelace", "email": EMAIL, "password": password});
        for (path, body) in [(&*set, json!({"password": password})), ("/api/admin/users", user)] {
            let refused = server.operator("POST", path, body).await;
            assert_eq!(refused.status_and_body(), (400, &*expected));
        }
    }
}
