//! What users are told of by mail.

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use doorward::internals::{
    language::Language,
    mail::{DeletedBy, EndedBy, Message},
    token::one_time::Purpose,
};
use serde_json::{Value, json};

use crate::{
    mail::{ADA, PASSWORD, secret, server, verified_ada, verify},
    outbox::{mails, messages},
    support::{Answer, TestServer, with_mail},
};

/// Logs in from an address with a program.
async fn login_from(server: &TestServer, address: [u8; 4], user_agent: &str) -> Answer {
    let body = json!({"email": ADA, "password": PASSWORD}).to_string();
    let mut request = Request::post("/api/auth/login")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, user_agent)
        .header(header::ACCEPT_LANGUAGE, "de-AT, en;q=0.5")
        .body(Body::from(body))
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((address, 9))));
    server.send(request).await
}

#[tokio::test]
async fn a_sign_in_from_a_new_device_or_network_is_told_of_in_the_language_of_the_request() {
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    const NEWER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0";
    const EDGE: &str = "Mozilla/5.0 (Windows NT 10.0) Chrome/126.0.0.0 Safari/537.36 Edg/126.0";
    let server = server().await;
    let told = async || {
        let sent = mails(&server, ADA).await;
        sent.iter().filter(|sent| matches!(sent.mail.message, Message::NewSignIn { .. })).count()
    };
    let token = verified_ada(&server).await.token;
    server.request_as(&token, "POST", "/api/auth/logout", Value::Null).await;
    for (address, user_agent, expected) in [
        ([192, 0, 2, 1], FIREFOX, 0), // the first
        ([192, 0, 2, 1], FIREFOX, 0),
        ([192, 0, 2, 1], NEWER, 0), // an update
        ([192, 0, 2, 1], EDGE, 1),
        ([192, 0, 2, 1], EDGE, 1),
        ([198, 51, 100, 7], EDGE, 2),
        ([198, 51, 100, 7], FIREFOX, 2),
    ] {
        assert_eq!(login_from(&server, address, user_agent).await.status, StatusCode::OK);
        assert_eq!(told().await, expected, "{address:?} {user_agent}");
    }
    let sent = mails(&server, ADA).await;
    assert_eq!(sent.last().unwrap().mail.language, Language::German);
}

#[tokio::test]
async fn the_end_of_sessions_is_told_of_unless_the_user_ends_them() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    server.request_as(&token, "POST", "/api/auth/logout-everywhere", Value::Null).await;
    server.order("DELETE", ADA, "/sessions", Value::Null).await;
    assert_eq!(messages(&server, ADA).await.len(), 1, "there was nothing to end");
    server.token_of(ADA, PASSWORD).await;
    server.order("DELETE", ADA, "/sessions", Value::Null).await;
    let last = messages(&server, ADA).await.pop().unwrap();
    assert!(matches!(last, Message::SessionsEnded { by: EndedBy::Operator, .. }), "{last:?}");

    let old = server.token_of(ADA, PASSWORD).await;
    server.request_as(&old, "POST", "/api/auth/refresh", Value::Null).await;
    server.let_pass(Duration::from_secs(31));
    let reused = server.request_as(&old, "POST", "/api/auth/refresh", Value::Null).await;
    assert_eq!(reused.status, StatusCode::UNAUTHORIZED);
    let last = messages(&server, ADA).await.pop().unwrap();
    assert!(matches!(last, Message::SessionsEnded { by: EndedBy::Reuse, .. }), "{last:?}");
}

#[tokio::test]
async fn each_notice_can_be_turned_off() {
    let server = TestServer::open_with(|settings| {
        with_mail(settings)
            .with("notices.new_sign_in", "false")
            .with("notices.password_changed", "false")
            .with("notices.email_changed", "false")
            .with("notices.sessions_ended", "false")
            .with("notices.account_deleted", "false")
            .with("notices.factors", "false")
    })
    .await;
    verified_ada(&server).await;
    login_from(&server, [192, 0, 2, 1], "curl/8").await;
    login_from(&server, [192, 0, 2, 2], "Wget/1").await;
    server.order("DELETE", ADA, "/sessions", Value::Null).await;
    server.order("POST", ADA, "/factor-reset", Value::Null).await;
    let token = server.token_of(ADA, PASSWORD).await;
    let body = json!({"current": PASSWORD, "new": "another horse"});
    server.request_as(&token, "POST", "/api/me/password", body).await;
    let body = json!({"email": "ada@new.example", "password": "another horse"});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "ada@new.example", Purpose::ChangeEmail).await;
    verify(&server, &link).await;
    let sent = messages(&server, ADA).await;
    assert!(matches!(sent[..], [Message::VerifyEmail { .. }]), "{sent:?}");
    server.order("DELETE", "ada@new.example", "", Value::Null).await;
    assert!(messages(&server, "ada@new.example").await.is_empty());
}

#[tokio::test]
async fn a_deletion_is_mailed_to_the_address_whoever_deletes() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let body = json!({"password": "wrong password"});
    server.request_as(&token, "DELETE", "/api/me", body).await;
    assert!(!was_told(&server, DeletedBy::User).await, "nothing was deleted");
    let body = json!({"password": PASSWORD});
    let answer = server.request_as(&token, "DELETE", "/api/me", body).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.body);
    assert!(was_told(&server, DeletedBy::User).await);
    let [queued] = &mails(&server, ADA).await[..] else { panic!("no other mail of theirs stays") };
    assert_eq!(queued.mail.user_id, None);

    verified_ada(&server).await;
    server.order("DELETE", ADA, "", Value::Null).await;
    assert!(was_told(&server, DeletedBy::Operator).await);
    let path = format!("/api/admin/users/{ADA}");
    assert_eq!(server.operator("DELETE", &path, Value::Null).await.status, StatusCode::NOT_FOUND);
    assert_eq!(mails(&server, ADA).await.len(), 2, "there was nobody left to delete");
}

async fn was_told(server: &TestServer, by: DeletedBy) -> bool {
    let is_told = |message: &Message| matches!(message, Message::AccountDeleted { by: other, .. } if *other == by);
    messages(server, ADA).await.iter().any(is_told)
}
