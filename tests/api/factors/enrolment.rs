//! Adding and removing second factors.

use std::time::Duration;

use axum::http::StatusCode;
use doorward::Settings;
use serde_json::{Value, json};

use super::{
    ADA, Authenticator, ORIGIN, PASSWORD, Person, answer_code, answer_passkey, challenge, methods,
    server, token,
};
use crate::support::{TestServer, with_mail};

const FACTORS: &str = "/api/me/factors";
const TOTP: &str = "/api/me/factors/totp";
const PASSKEYS: &str = "/api/me/factors/passkeys";

#[tokio::test]
async fn factors_are_listed_without_secrets() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let none = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    let expected = json!({"passkeys": [], "totp": null, "recoveryCodes": 0, "trustedDevices": []});
    assert_eq!(none, expected);
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await;
    let (secret, held) = (ada.totp.unwrap(), held);
    assert!(!held.body.contains(&secret));
    let held = held.json();
    assert_eq!(held["recoveryCodes"], 8);
    assert_eq!(held["passkeys"][0]["name"], "Phone");
    assert_eq!(held["passkeys"][0]["kind"], "passkey");
    assert_eq!(held["totp"]["lastUsedAt"], Value::Null);
}

#[tokio::test]
async fn the_session_has_proved_the_factor_that_it_adds_and_gets_a_new_token() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let old = ada.token.clone();
    ada.add_totp(&server).await;
    assert_eq!(methods(&server, &ada.token).await, json!(["pwd", "totp"]));
    let replaced = server.request_as(&old, "GET", "/api/me", Value::Null).await;
    assert_eq!(replaced.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn adding_and_removing_needs_a_recent_sign_in() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    server.let_pass(Duration::from_secs(10 * 60));
    for path in [TOTP, "/api/me/factors/passkeys/options", "/api/me/factors/recovery-codes"] {
        let refused = server.request_as(&ada.token, "POST", path, json!({})).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
        let header = refused.header("www-authenticate").unwrap();
        assert!(header.contains("insufficient_user_authentication"), "{header}");
        assert!(header.contains("max_age=600"), "{header}");
    }
    ada.token = server.token_of(ADA, PASSWORD).await;
    ada.add_totp(&server).await;
    server.let_pass(Duration::from_secs(10 * 60));
    let refused = server.request_as(&ada.token, "DELETE", TOTP, Value::Null).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    // The account itself is protected by the second factor, too.
    let body = json!({"email": "new@example.com", "password": PASSWORD});
    let refused = server.request_as(&ada.token, "PATCH", "/api/me", body).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    for (method, path) in [("GET", "/api/me/export"), ("DELETE", "/api/me")] {
        let body = json!({"password": PASSWORD});
        let refused = server.request_as(&ada.token, method, path, body).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let opened = answer_code(&server, &challenge(&server).await, &ada.code(&server)).await;
    let removed = server.request_as(&token(&opened), "DELETE", TOTP, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    // Nothing stands in for a factor that is gone.
    let held = server.request_as(&token(&opened), "GET", FACTORS, Value::Null).await.json();
    assert_eq!(held["recoveryCodes"], 0);
    assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_code_a_foreign_setup_and_a_second_app_are_refused() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let eve = server.register("Eve", "eve@example.com").await;
    let begun = server.request_as(&ada.token, "POST", TOTP, Value::Null).await.json();
    let confirm = "/api/me/factors/totp/confirm";
    let right = super::totp_code(begun["secret"].as_str().unwrap(), server.now().seconds());
    let wrong = if right == "000000" { "000001" } else { "000000" };
    let body = json!({"setup": begun["setup"], "code": wrong});
    let refused = server.request_as(&ada.token, "POST", confirm, body).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.json()["error"], json!([{"code": "Wrong code"}]));
    let body = json!({"setup": begun["setup"], "code": right});
    let refused = server.request_as(&eve.token, "POST", confirm, body).await;
    assert_eq!(refused.json()["error"], json!([{"setup": "Has expired"}]));
    ada.add_totp(&server).await;
    let again = server.request_as(&ada.token, "POST", TOTP, Value::Null).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert_eq!(again.json()["message"], "The factor exists already.");
}

#[tokio::test]
async fn a_passkey_is_renamed_and_removed_by_its_user_only() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let eve = server.register("Eve", "eve@example.com").await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    let path = format!("{PASSKEYS}/{}", held["passkeys"][0]["id"].as_str().unwrap());
    for (who, status) in [(&eve.token, StatusCode::NOT_FOUND), (&ada.token, StatusCode::NO_CONTENT)]
    {
        let body = json!({"name": "Key ring"});
        assert_eq!(server.request_as(who, "PATCH", &path, body).await.status, status);
    }
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    assert_eq!(held["passkeys"][0]["name"], "Key ring");
    for (who, status) in [
        (&eve.token, StatusCode::NOT_FOUND),
        (&ada.token, StatusCode::NO_CONTENT),
        (&ada.token, StatusCode::NOT_FOUND),
    ] {
        assert_eq!(server.request_as(who, "DELETE", &path, Value::Null).await.status, status);
    }
}

#[tokio::test]
async fn the_same_passkey_is_not_added_twice() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let mut passkey = ada.passkey.take().unwrap();
    let begun = server
        .request_as(&ada.token, "POST", "/api/me/factors/passkeys/options", json!({}))
        .await
        .json();
    assert_eq!(begun["publicKey"]["excludeCredentials"].as_array().unwrap().len(), 1);
    let credential = passkey.create(&begun["publicKey"]);
    let body = json!({"setup": begun["setup"], "credential": credential});
    let again = server.request_as(&ada.token, "POST", PASSKEYS, body).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.body);
}

#[tokio::test]
async fn new_recovery_codes_replace_the_old_ones() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let path = "/api/me/factors/recovery-codes";
    let none = server.request_as(&ada.token, "POST", path, Value::Null).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND, "without a factor");
    ada.add_totp(&server).await;
    let new = server.request_as(&ada.token, "POST", path, Value::Null).await.json();
    let new = new["recoveryCodes"].as_array().unwrap().clone();
    assert_eq!(new.len(), 8);
    let old = answer_code(&server, &challenge(&server).await, &ada.recovery_codes[0]).await;
    assert_eq!(old.status, StatusCode::UNAUTHORIZED);
    token(&answer_code(&server, &challenge(&server).await, new[0].as_str().unwrap()).await);
}

#[tokio::test]
async fn the_last_way_in_cannot_be_removed() {
    let with_codes = |settings: Settings| {
        let settings = with_mail(settings).with("public_url", ORIGIN);
        settings.with("sign_in.mail_code", "true")
    };
    let server = TestServer::open_with(with_codes).await;
    let member = server.register_with(json!({"name": "Ada", "email": ADA})).await;
    let mut ada = Person::of(member);
    ada.add_passkey(&server, Authenticator::new()).await;
    // Without mail, a user without a password has nothing but the passkey.
    let without_mail = |settings: Settings| settings.with("public_url", ORIGIN);
    let server = TestServer::reopen(server.close(), without_mail).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let passkey = ada.passkey.as_mut().unwrap();
    ada.token = token(&answer_passkey(&server, &begun, passkey).await);
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    let path = format!("{PASSKEYS}/{}", held["passkeys"][0]["id"].as_str().unwrap());
    let refused = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.body);
    assert!(refused.body.contains("the last way to sign in"), "{}", refused.body);
    ada.add_passkey(&server, Authenticator::new()).await;
    let removed = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
}
