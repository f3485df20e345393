//! Whose an account is that somebody else has registered, or has moved to another address: second factors do not keep the owner of
//! its mail out.

use axum::http::StatusCode;
use doorward::internals::token::one_time::Purpose;
use serde_json::{Value, json};

use super::{ADA, Authenticator, PASSWORD, Person, answer_passkey, server, token};
use crate::{
    mail::{by_email, reset, secret, verify},
    support::{Answer, TestServer, with_mail},
};

const NEW_PASSWORD: &str = "another horse";

async fn sign_in_with_passkey(server: &TestServer, authenticator: &mut Authenticator) -> Answer {
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    answer_passkey(server, &begun, authenticator).await
}

/// A new password by mail. The address belongs to whoever asks for it.
async fn set_password_by_mail(server: &TestServer) {
    let forgot = server.post("/api/auth/forgot", &json!({"email": ADA})).await;
    assert_eq!(forgot.status, StatusCode::ACCEPTED, "{}", forgot.body);
    let (link, _) = secret(server, ADA, Purpose::ResetPassword).await;
    assert_eq!(reset(server, &link, NEW_PASSWORD).await.status_and_body(), (204, ""));
}

#[tokio::test]
async fn a_new_password_by_mail_takes_an_unverified_address_from_whoever_has_registered_it() {
    let server = server().await;
    let mut stranger = Person::register(&server).await;
    stranger.add_passkey(&server, Authenticator::new()).await;
    stranger.add_totp(&server).await;
    set_password_by_mail(&server).await;
    let refused = sign_in_with_passkey(&server, stranger.passkey.as_mut().unwrap()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.body);
    let owner = server.token_of(ADA, NEW_PASSWORD).await;
    let held = server.request_as(&owner, "GET", "/api/me/factors", Value::Null).await.json();
    assert_eq!((&held["passkeys"], &held["totp"]), (&json!([]), &Value::Null), "{held}");
    assert_eq!(held["recoveryCodes"], 0);
}

#[tokio::test]
async fn a_new_password_by_mail_leaves_the_factors_of_a_verified_address() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let (link, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    ada.add_passkey(&server, Authenticator::new()).await;
    set_password_by_mail(&server).await;
    let missing = server.login(ADA, NEW_PASSWORD).await;
    assert_eq!(missing.status, StatusCode::UNAUTHORIZED);
    assert_eq!(missing.json()["factors"], json!(["passkey", "recovery"]));
    token(&sign_in_with_passkey(&server, ada.passkey.as_mut().unwrap()).await);
}

#[tokio::test]
async fn a_mailed_code_without_the_factor_verifies_nothing_and_ends_nothing() {
    let server = TestServer::open_with(|settings| {
        let settings = with_mail(settings).with("sign_in.mail_code", "true");
        settings.with("public_url", super::ORIGIN)
    })
    .await;
    let registered = server.register_with(json!({"name": "Ada", "email": ADA})).await;
    let mut stranger = Person::of(registered);
    stranger.add_passkey(&server, Authenticator::new()).await;
    let asked = server.post("/api/auth/code", &json!({"email": ADA})).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{}", asked.body);
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    let half = server.post("/api/auth/code/login", &json!({"code": link})).await;
    assert_eq!(half.json()["factors"], json!(["passkey", "recovery"]), "{}", half.body);
    assert!(!by_email(&server, ADA).await.email_verified);
    super::methods(&server, &stranger.token).await;
    let again = server.post("/api/auth/code/login", &json!({"code": link})).await;
    assert_eq!(again.json().get("factors"), None, "the code is used up: {}", again.body);
}

#[tokio::test]
async fn the_way_back_of_an_address_removes_what_was_added_since_the_change() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let (link, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    ada.add_passkey(&server, Authenticator::new()).await;
    let mut own = ada.passkey.take().unwrap();
    let body = json!({"email": "eve@example.com", "password": PASSWORD});
    let asked = server.request_as(&ada.token, "PATCH", "/api/me", body).await;
    assert_eq!(asked.status, StatusCode::OK, "{}", asked.body);
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    // Of the same session, which somebody else has in their hands.
    ada.add_passkey(&server, Authenticator::new()).await;
    ada.add_totp(&server).await;
    let (link, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let body = json!({"code": link, "password": NEW_PASSWORD});
    assert_eq!(server.post("/api/auth/restore-email", &body).await.status, 204);
    let refused = sign_in_with_passkey(&server, ada.passkey.as_mut().unwrap()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.body);
    let missing = server.login(ADA, NEW_PASSWORD).await.json();
    assert_eq!(missing["factors"], json!(["passkey", "recovery"]), "{missing}");
    token(&sign_in_with_passkey(&server, &mut own).await);
    assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::NOT_FOUND);
}
