use std::time::Duration;

use axum::http::{StatusCode, header};
use doorward::internals::{credential::password::Cost, token::one_time::Purpose};
use serde_json::{Value, json};

use crate::{
    mail::{self, ADA},
    support::{REFUSED, TestServer, malformed},
};

const TAKEN: &str = r#"{"message":"The requested action conflicts with the current state of the resource.","error":[{"email":"Already registered"}]}"#;
const PASSWORD: &str = "correct horse";

#[tokio::test]
async fn a_user_sees_their_own_record_and_no_hash() {
    let server = TestServer::open().await;
    let member = server.register("Ada Lovelace", "Ada@example.com").await;
    let answer = server.request_as(&member.token, "GET", "/api/me", Value::Null).await;
    let expected = format!(
        r#"{{"id":"{}","name":"Ada Lovelace","email":"Ada@example.com","emailVerified":false,"roles":[],"createdAt":"2027-01-15T08:00:00.000Z","updatedAt":"2027-01-15T08:00:00.000Z","authenticatedAt":"2027-01-15T08:00:00.000Z","methods":["pwd"]}}"#,
        member.id
    );
    assert_eq!(answer.status_and_body(), (200, &*expected));
}

#[tokio::test]
async fn an_export_holds_everything_but_the_hash() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    server.let_pass(Duration::from_secs(60));
    let token = server.token_of("ada@example.com", PASSWORD).await;
    let answer = server.request_as(&token, "GET", "/api/me/export", Value::Null).await;
    assert!(!answer.body.contains("argon2") && !answer.body.contains("assword_hash"));
    let exported = answer.json();
    assert_eq!(
        exported["user"],
        json!({
            "id": member.id, "name": "Ada", "email": "ada@example.com", "emailVerified": false,
            "roles": [],
            "createdAt": "2027-01-15T08:00:00.000Z", "updatedAt": "2027-01-15T08:00:00.000Z",
            "hasPassword": true, "lastLoginAt": "2027-01-15T08:01:00.000Z",
        })
    );
    let sessions = server.request_as(&token, "GET", "/api/sessions", Value::Null).await.json();
    assert_eq!(exported["sessions"], sessions);
    assert_eq!(exported["knownNetworks"], json!([]), "loopback is not noted");
    assert_eq!((&exported["factors"], &exported["recoveryCodes"]), (&json!([]), &json!(0)));
    assert_eq!(exported["trustedDevices"], json!([]));
    assert_eq!(exported["keys"], json!([]));
}

#[tokio::test]
async fn a_name_change_needs_no_password_and_takes_effect_at_once() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    assert_eq!(server.guard("miles", &member.token).await.status_and_body(), REFUSED);
    server.let_pass(Duration::from_secs(5));
    let body = json!({"name": " Miles Davis ", "id": "x", "roles": ["admin"], "createdAt": 0});
    let answer = server.request_as(&member.token, "PATCH", "/api/me", body).await;
    let expected = format!(
        r#"{{"id":"{}","name":"Miles Davis","email":"ada@example.com","emailVerified":false,"roles":[],"createdAt":"2027-01-15T08:00:00.000Z","updatedAt":"2027-01-15T08:00:05.000Z","authenticatedAt":"2027-01-15T08:00:00.000Z","methods":["pwd"]}}"#,
        member.id
    );
    assert_eq!(answer.status_and_body(), (200, &*expected));
    assert_eq!(server.guard("miles", &member.token).await.status, StatusCode::OK);

    // An update without a difference does not change the record.
    server.let_pass(Duration::from_secs(5));
    for body in [json!({}), json!({"name": "Miles Davis"}), Value::Null] {
        let answer = server.request_as(&member.token, "PATCH", "/api/me", body).await;
        assert_eq!(answer.status_and_body(), (200, &*expected));
    }
    server.token_of("ada@example.com", PASSWORD).await;
    let answer = server.request_as(&member.token, "GET", "/api/me", Value::Null).await;
    assert_eq!(answer.status_and_body(), (200, &*expected), "a login does not change the record");
}

#[tokio::test]
async fn an_address_is_changed_only_with_the_password() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    server.register("Bob", "bob@example.com").await;
    let patch = async |body| server.request_as(&member.token, "PATCH", "/api/me", body).await;

    let answer = patch(json!({"email": "new@example.com", "password": "wrong horse"})).await;
    assert_eq!(answer.status_and_body(), REFUSED);
    assert_eq!(
        answer.header(header::WWW_AUTHENTICATE),
        Some(r#"Bearer realm="doorward", error="insufficient_scope""#)
    );
    let answer = patch(json!({"email": "BOB@example.com", "password": PASSWORD})).await;
    assert_eq!(answer.status_and_body(), (409, TAKEN));
    assert_eq!(
        server.login("ada@example.com", PASSWORD).await.status,
        StatusCode::OK,
        "nothing has changed"
    );

    let answer = patch(json!({"email": "New@example.com", "password": PASSWORD})).await;
    assert_eq!(
        (answer.status, &answer.json()["email"]),
        (StatusCode::OK, &json!("New@example.com"))
    );
    assert_eq!(server.login("ada@example.com", PASSWORD).await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.login("new@example.com", PASSWORD).await.status, StatusCode::OK);
    assert_eq!(server.guard("guard", &member.token).await.status, StatusCode::OK);
    // The previous address can be registered.
    server.register("Carl", "ada@example.com").await;
}

#[tokio::test]
async fn a_user_without_a_password_needs_none_until_they_set_one() {
    let server = TestServer::open().await;
    let body = json!({"name": "Ada", "email": "ada@example.com"});
    let token = server.register_with(body).await.token;
    let answer =
        server.request_as(&token, "PATCH", "/api/me", json!({"email": "new@example.com"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let answer =
        server.request_as(&token, "POST", "/api/me/password", json!({"new": PASSWORD})).await;
    assert_eq!(answer.status_and_body(), (204, ""));
    let answer =
        server.request_as(&token, "POST", "/api/me/password", json!({"new": PASSWORD})).await;
    assert_eq!(answer.status_and_body(), (400, &*malformed(r#"{"current":"Required"}"#)));
    let answer = server.request_as(&token, "DELETE", "/api/me", Value::Null).await;
    assert_eq!(answer.status_and_body(), (400, &*malformed(r#"{"password":"Required"}"#)));
    server.token_of("new@example.com", PASSWORD).await;

    let body = json!({"name": "Bob", "email": "bob@example.com"});
    let bob = server.register_with(body).await;
    let answer = server.request_as(&bob.token, "DELETE", "/api/me", Value::Null).await;
    assert_eq!(answer.status_and_body(), (204, ""));
    assert_eq!(server.get(&format!("/api/user/{}", bob.id)).await.status, StatusCode::NOT_FOUND);
}

/// A thief has the token of a user who signs in with mailed codes.
#[tokio::test]
async fn a_stolen_token_of_a_user_without_a_password_gives_no_account_away() {
    let server = mail::server().await;
    let sign_in = async || {
        server.post("/api/auth/code", &json!({"email": ADA})).await;
        let (code, _) = mail::secret(&server, ADA, Purpose::SignIn).await;
        let signed_in = server.post("/api/auth/code/login", &json!({"code": code})).await;
        signed_in.json()["token"].as_str().unwrap().to_owned()
    };
    server.register_with(json!({"name": "Ada", "email": ADA})).await;
    let stolen = sign_in().await;
    let attacks = [
        ("POST", "/api/me/password", json!({"new": "horse of the thief"})),
        ("PATCH", "/api/me", json!({"email": "thief@example.com"})),
        ("DELETE", "/api/me", json!({"password": "horse of the thief"})),
        ("DELETE", "/api/me", Value::Null),
    ];
    let again = "This action needs a sign-in within the last 10 minutes. Please sign in again.";
    let challenge =
        "Bearer realm=\"doorward\", max_age=600, error=\"insufficient_user_authentication\"";
    server.let_pass(Duration::from_secs(11 * 60));
    // A refresh is not a sign-in.
    let refreshed = server.request_as(&stolen, "POST", "/api/auth/refresh", Value::Null).await;
    let refreshed = refreshed.json()["token"].as_str().unwrap().to_owned();
    for (method, path, body) in attacks {
        let answer = server.request_as(&refreshed, method, path, body).await;
        assert_eq!(
            (answer.status, &answer.json()["message"]),
            (StatusCode::UNAUTHORIZED, &json!(again))
        );
        assert_eq!(answer.header(header::WWW_AUTHENTICATE), Some(challenge), "{method} {path}");
    }
    let me = server.request_as(&refreshed, "GET", "/api/me", Value::Null).await.json();
    assert_eq!((&me["email"], &me["pendingEmail"]), (&json!(ADA), &Value::Null));
    assert_eq!(me["authenticatedAt"], "2027-01-15T08:00:01.000Z");
    assert_eq!(me["methods"], json!(["otp"]));
    // The name gives nothing away.
    let named = server.request_as(&refreshed, "PATCH", "/api/me", json!({"name": "Adele"})).await;
    assert_eq!(named.status, StatusCode::OK, "{}", named.body);

    let fresh = sign_in().await;
    server.let_pass(Duration::from_secs(9 * 60));
    let body = json!({"email": "ada@example.org"});
    let changed = server.request_as(&fresh, "PATCH", "/api/me", body).await;
    assert_eq!(changed.json()["pendingEmail"], "ada@example.org", "{}", changed.body);
    let set = json!({"new": PASSWORD});
    let answer = server.request_as(&fresh, "POST", "/api/me/password", set).await;
    assert_eq!(answer.status_and_body(), (204, ""));
    // With a password, a recent sign-in is not enough.
    let body = json!({"password": "wrong horse"});
    let answer = server.request_as(&fresh, "DELETE", "/api/me", body).await;
    assert_eq!(answer.status_and_body(), REFUSED);
    let body = json!({"password": PASSWORD});
    let answer = server.request_as(&fresh, "DELETE", "/api/me", body).await;
    assert_eq!(answer.status_and_body(), (204, ""));
}

#[tokio::test]
async fn every_fault_is_named_in_one_answer_with_the_messages_of_registration() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    for (method, path, body, faults) in [
        (
            "PATCH",
            "/api/me",
            json!({"email": "nobody", "name": ""}),
            r#"{"name":"String must contain at least 2 character(s)","email":"Invalid email","password":"Required"}"#,
        ),
        (
            "PATCH",
            "/api/me",
            json!({"email": 1, "name": null, "password": []}),
            r#"{"name":"Expected string, received null","email":"Expected string, received number","password":"Expected string, received array"}"#,
        ),
        ("POST", "/api/me/password", Value::Null, r#"{"current":"Required","new":"Required"}"#),
        (
            "POST",
            "/api/me/password",
            json!({"current": 7, "new": "short"}),
            r#"{"current":"Expected string, received number","new":"String must contain at least 8 character(s)"}"#,
        ),
        ("DELETE", "/api/me", json!({}), r#"{"password":"Required"}"#),
        ("DELETE", "/api/me", json!([]), r#"{"body":"Expected object, received array"}"#),
    ] {
        let answer = server.request_as(&token, method, path, body).await;
        assert_eq!(answer.status_and_body(), (400, &*malformed(faults)), "{method} {path}");
    }
}

#[tokio::test]
async fn a_new_password_replaces_the_old_one() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    server.let_pass(Duration::from_secs(5));
    let change = async |current: &str, new: &str| {
        let body = json!({"current": current, "new": new});
        server.request_as(&token, "POST", "/api/me/password", body).await
    };
    assert_eq!(change("wrong horse", "another horse").await.status_and_body(), REFUSED);
    assert_eq!(change(PASSWORD, "another horse").await.status_and_body(), (204, ""));
    assert_eq!(change(PASSWORD, "a third horse").await.status_and_body(), REFUSED);
    assert_eq!(server.login("ada@example.com", PASSWORD).await.status, StatusCode::NOT_FOUND);
    server.token_of("ada@example.com", "another horse").await;
    let me = server.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!(me["updatedAt"], "2027-01-15T08:00:05.000Z");
}

#[tokio::test]
async fn deleting_an_account_needs_the_password_and_frees_the_address() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    let leave = async |password: &str| {
        server.request_as(&member.token, "DELETE", "/api/me", json!({"password": password})).await
    };
    assert_eq!(leave("wrong horse").await.status_and_body(), REFUSED);
    assert_eq!(leave(PASSWORD).await.status_and_body(), (204, ""));
    assert_eq!(leave(PASSWORD).await.status_and_body(), REFUSED);
    assert_eq!(server.login("ada@example.com", PASSWORD).await.status, StatusCode::NOT_FOUND);
    let again = server.register("Ada", "ada@example.com").await;
    assert_ne!(again.id, member.id);
}

#[tokio::test]
async fn wrong_passwords_of_a_signed_in_user_are_throttled_with_their_logins() {
    let server =
        TestServer::open_with(|s| s.with_cheap_passwords(Cost { memory_kib: 8, passes: 1 })).await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let mut refusals = 0;
    let throttled = loop {
        let body = json!({"password": "wrong horse"});
        let answer = server.request_as(&token, "DELETE", "/api/me", body).await;
        if answer.status != StatusCode::UNAUTHORIZED {
            break answer;
        }
        refusals += 1;
    };
    assert_eq!(refusals, 100);
    assert_eq!(throttled.status, StatusCode::TOO_MANY_REQUESTS);
    let login = server.login("ada@example.com", PASSWORD).await;
    assert_eq!(login.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK);
}
