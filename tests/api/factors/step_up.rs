//! Making a session stronger.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::REFUSED;

use super::{Authenticator, PASSWORD, Person, answer_code, answer_passkey, methods, server, token};

const STEP_UP: &str = "/api/me/step-up";

#[tokio::test]
async fn a_password_makes_a_session_without_a_factor_fresh() {
    let server = server().await;
    let ada = Person::register(&server).await;
    server.let_pass(Duration::from_secs(3600));
    let export = "/api/me/export";
    let stale = server.request_as(&ada.token, "GET", export, Value::Null).await;
    assert_eq!(stale.status, StatusCode::UNAUTHORIZED);
    let wrong = json!({"password": "wrong horse"});
    let refused = server.request_as(&ada.token, "POST", STEP_UP, wrong).await;
    assert_eq!(refused.status_and_body(), REFUSED);
    let body = json!({"password": PASSWORD});
    let fresh = token(&server.request_as(&ada.token, "POST", STEP_UP, body).await);
    let exported = server.request_as(&fresh, "GET", export, Value::Null).await;
    assert_eq!(exported.status, StatusCode::OK);
    let old = server.request_as(&ada.token, "GET", "/api/me", Value::Null).await;
    assert_eq!(old.status, StatusCode::UNAUTHORIZED, "the token was replaced");
    let sessions = server.request_as(&fresh, "GET", "/api/sessions", Value::Null).await.json();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "the session is the same");
}

#[tokio::test]
async fn old_proofs_do_not_count_for_a_step_up() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    server.let_pass(Duration::from_secs(3600));
    // Without the password, a code is one factor.
    let missing = server.request_as(&ada.token, "POST", STEP_UP, json!({})).await;
    assert_eq!(missing.status, StatusCode::UNAUTHORIZED);
    assert_eq!(missing.json()["factors"], json!([]));
    let refused = answer_code(&server, &missing.json(), &ada.code(&server)).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    server.let_pass(Duration::from_secs(30));
    let body = json!({"password": PASSWORD});
    let missing = server.request_as(&ada.token, "POST", STEP_UP, body).await;
    assert_eq!(missing.json()["factors"], json!(["totp", "recovery"]));
    let fresh = token(&answer_code(&server, &missing.json(), &ada.code(&server)).await);
    assert_eq!(methods(&server, &fresh).await, json!(["pwd", "totp"]));
}

#[tokio::test]
async fn a_passkey_alone_is_enough() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    server.let_pass(Duration::from_secs(3600));
    let missing = server.request_as(&ada.token, "POST", STEP_UP, json!({})).await.json();
    assert_eq!(missing["factors"], json!(["passkey"]));
    let passkey = ada.passkey.as_mut().unwrap();
    let fresh = token(&answer_passkey(&server, &missing, passkey).await);
    assert_eq!(methods(&server, &fresh).await, json!(["passkey"]));
    let again = answer_passkey(&server, &missing, passkey).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED, "an answered challenge");
}

#[tokio::test]
async fn the_challenge_of_a_session_that_has_ended_is_void() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let missing = server.request_as(&ada.token, "POST", STEP_UP, json!({})).await.json();
    server.request_as(&ada.token, "POST", "/api/auth/logout", Value::Null).await;
    let refused = answer_passkey(&server, &missing, ada.passkey.as_mut().unwrap()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
}
