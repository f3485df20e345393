//! Sign-up that does not tell whether an address is taken.

use std::time::Duration;

use axum::http::StatusCode;
use doorward::internals::{mail::Message, token::one_time::Purpose};
use serde_json::{Value, json};

use crate::{
    mail::{ADA, MAILED, PASSWORD, reset, secret, verify},
    outbox::messages,
    support::{NOT_FOUND, REFUSED, TestServer, with_mail},
};

/// Settings under which a sign-up does not tell whether an address is taken.
async fn silent_server() -> TestServer {
    TestServer::open_with(|settings| with_mail(settings).with("registration_conflict", "silent"))
        .await
}

#[tokio::test]
async fn a_silent_sign_up_answers_the_same_for_a_free_and_a_taken_address() {
    let server = silent_server().await;
    let sign_up = async |email: &str| {
        let body = json!({"name": "Ada", "email": email, "password": PASSWORD});
        server.post("/api/user", &body).await
    };
    assert_eq!(sign_up(ADA).await.status_and_body(), MAILED);
    assert!(matches!(messages(&server, ADA).await[..], [Message::VerifyEmail { .. }]));
    let taken = sign_up("ADA@example.com").await;
    assert_eq!(taken.status_and_body(), MAILED);
    let last = messages(&server, ADA).await.pop().unwrap();
    assert!(matches!(last, Message::ResetPassword { .. }), "it may be a stranger's: {last:?}");
    let bad = server.post("/api/user", &json!({"name": "Ada", "email": "x"})).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);

    // A login before the verification would tell, so it fails like any other.
    assert_eq!(server.login(ADA, PASSWORD).await.status_and_body(), (404, NOT_FOUND));
    let (void, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(&server, &void).await.status_and_body(), REFUSED);
    let (link, _) = secret(&server, ADA, Purpose::ResetPassword).await;
    assert_eq!(reset(&server, &link, "another horse").await.status_and_body(), (204, ""));
    assert_eq!(server.login(ADA, "another horse").await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(1));
    assert_eq!(sign_up(ADA).await.status_and_body(), MAILED);
    assert_eq!(messages(&server, ADA).await.last(), Some(&Message::AlreadyRegistered));
}

#[tokio::test]
async fn a_silent_change_of_the_address_does_not_tell_either() {
    let server = silent_server().await;
    for (name, email) in [("Ada", ADA), ("Bob", "bob@example.com")] {
        let body = json!({"name": name, "email": email, "password": PASSWORD});
        server.post("/api/user", &body).await;
        let (link, _) = secret(&server, email, Purpose::VerifyEmail).await;
        assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    }
    let token = server.token_of(ADA, PASSWORD).await;
    for email in ["bob@example.com", "free@example.com"] {
        let body = json!({"email": email, "password": PASSWORD});
        let answer = server.request_as(&token, "PATCH", "/api/me", body).await;
        let me = server.request_as(&token, "GET", "/api/me", Value::Null).await;
        for answer in [answer, me] {
            let pending = answer.json()["pendingEmail"].clone();
            assert_eq!((answer.status, pending), (StatusCode::OK, json!(email)));
        }
        server.let_pass(Duration::from_secs(1));
    }
    let told = messages(&server, "bob@example.com").await;
    assert_eq!(told.last(), Some(&Message::AlreadyRegistered));
}

#[tokio::test]
async fn an_app_that_embeds_the_service_is_told_of_a_silent_sign_up() {
    let server = silent_server().await;
    let client = doorward::ClientInfo::new([192, 0, 2, 7].into(), "");
    let user = doorward::NewUser::new("Ada", ADA).password(PASSWORD);
    let outcome = server.doorward.register(user, client).await;
    assert!(matches!(outcome, Err(doorward::AccountError::OwnerMailed)), "{outcome:?}");
}
