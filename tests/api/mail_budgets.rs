//! What strangers can do to other people's mail: nobody is flooded, and nobody keeps somebody else from a mail.

use std::net::SocketAddr;

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use doorward::{
    Settings,
    internals::{Internals, mail::Message, token::one_time::Purpose, user::EmailKey},
};
use serde_json::{Value, json};

use crate::{
    mail::{ADA, MAILED, PASSWORD, reset, secret, verified_ada},
    outbox::messages,
    support::{Answer, TestServer, with_mail},
};

async fn server(change: impl FnOnce(Settings) -> Settings) -> TestServer {
    let open = |settings| change(with_mail(settings).with("sign_in.mail_code", "true"));
    TestServer::open_with(open).await
}

async fn silent_server() -> TestServer {
    server(|settings| settings.with("registration_conflict", "silent")).await
}

/// Everybody with a verified address may invite others.
async fn inviting_server() -> TestServer {
    server(|settings| settings.with("invitations.allow", "user.emailVerified")).await
}

async fn ask(server: &TestServer, path: &str, email: &str, times: usize) {
    for _ in 0..times {
        let answer = server.post(path, &json!({"email": email})).await;
        assert_eq!(answer.status_and_body(), MAILED);
    }
}

async fn sign_up(server: &TestServer, email: &str) -> Answer {
    let body = json!({"name": "Ada", "email": email, "password": PASSWORD});
    server.post("/api/user", &body).await
}

/// A sign-up from another network.
async fn sign_up_from(server: &TestServer, network: [u8; 4], email: &str) -> Answer {
    let body = json!({"name": "Ada", "email": email}).to_string();
    let mut request = Request::post("/api/user")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((network, 9))));
    server.send(request).await
}

async fn is_registered(server: &TestServer, email: &str) -> bool {
    server.doorward.store().user_by_email(&EmailKey::of(email)).await.unwrap().is_some()
}

#[tokio::test]
async fn strangers_who_ask_for_a_new_password_do_not_keep_a_silent_sign_up_from_its_mail() {
    let server = silent_server().await;
    ask(&server, "/api/auth/forgot", ADA, 5).await;
    ask(&server, "/api/auth/code", ADA, 5).await;
    assert_eq!(sign_up(&server, ADA).await.status_and_body(), MAILED);
    assert!(is_registered(&server, ADA).await);
    let sent = messages(&server, ADA).await;
    assert!(sent.iter().any(|sent| matches!(sent, Message::VerifyEmail { .. })), "{sent:?}");
}

#[tokio::test]
async fn a_silent_sign_up_beyond_the_budget_makes_the_account_and_its_owner_gets_in_by_mail() {
    let server = silent_server().await;
    for number in 0..10 {
        sign_up(&server, &format!("ada+{number}@example.com")).await;
    }
    assert_eq!(sign_up(&server, ADA).await.status_and_body(), MAILED);
    assert_eq!(messages(&server, ADA).await, [Message::Nothing]);
    assert!(is_registered(&server, ADA).await);
    // A stranger who signs up with the address as well learns nothing and mails nothing.
    assert_eq!(sign_up(&server, ADA).await.status_and_body(), MAILED);
    assert_eq!(messages(&server, ADA).await, [Message::Nothing, Message::Nothing]);
    ask(&server, "/api/auth/forgot", ADA, 1).await;
    let (link, _) = secret(&server, ADA, Purpose::ResetPassword).await;
    assert_eq!(reset(&server, &link, "another horse").await.status_and_body(), (204, ""));
    assert_eq!(server.login(ADA, "another horse").await.status, StatusCode::OK);
    let sent = messages(&server, ADA).await;
    assert!(sent.iter().any(|sent| matches!(sent, Message::PasswordChanged { .. })), "{sent:?}");
}

#[tokio::test]
async fn an_invitation_is_mailed_or_not_made() {
    let server = inviting_server().await;
    let ada = verified_ada(&server).await;
    let bob = "bob@example.com";
    let invite = async || {
        let body = json!({"email": bob});
        server.request_as(&ada.token, "POST", "/api/invitations", body).await
    };
    ask(&server, "/api/auth/forgot", bob, 5).await;
    ask(&server, "/api/auth/code", bob, 5).await;
    let invited = invite().await;
    assert_eq!((invited.status, &invited.json()["mailed"]), (StatusCode::CREATED, &json!(true)));
    let is_invitation = |sent: &Message| matches!(sent, Message::Invitation { .. });
    let count = async || messages(&server, bob).await.iter().filter(|m| is_invitation(m)).count();
    assert_eq!(count().await, 1);
    let listed =
        async || server.request_as(&ada.token, "GET", "/api/invitations", Value::Null).await.body;
    let before = listed().await;
    let refused = invite().await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.header(header::RETRY_AFTER).is_some());
    assert_eq!((count().await, listed().await), (1, before));
}

#[tokio::test]
async fn an_address_gets_five_mails_at_once_whatever_others_ask_for() {
    let server = inviting_server().await;
    let ada = verified_ada(&server).await;
    let victim = "victim@example.com";
    let theirs = server.register("Victim", victim).await.token;
    for _ in 0..10 {
        ask(&server, "/api/auth/forgot", victim, 1).await;
        ask(&server, "/api/auth/code", victim, 1).await;
        server.request_as(&theirs, "POST", "/api/me/verify", Value::Null).await;
        let body = json!({"email": "Victim+1@example.com", "password": PASSWORD});
        server.request_as(&ada.token, "PATCH", "/api/me", body).await;
        let body = json!({"email": "victim+2@example.com"});
        server.request_as(&ada.token, "POST", "/api/invitations", body).await;
        sign_up(&server, "victim+3@example.com").await;
    }
    let mut sent = 0;
    for address in ["", "+1", "+2", "+3"] {
        for spelling in ["victim", "Victim"] {
            sent += messages(&server, &format!("{spelling}{address}@example.com")).await.len();
        }
    }
    assert_eq!(sent, 5);
}

#[tokio::test]
async fn a_used_link_gives_the_address_its_budget_back() {
    let server = server(|settings| settings).await;
    server.register("Ada", ADA).await;
    for number in 1..5 {
        ask(&server, "/api/auth/forgot", ADA, 10).await;
        let sent = messages(&server, ADA).await;
        let resets = sent.iter().filter(|sent| matches!(sent, Message::ResetPassword { .. }));
        assert_eq!(resets.count(), 2 * number);
        let (link, _) = secret(&server, ADA, Purpose::ResetPassword).await;
        let password = format!("battery staple {number}");
        assert_eq!(reset(&server, &link, &password).await.status_and_body(), (204, ""));
    }
}

#[tokio::test]
async fn sign_ups_that_send_mail_are_charged_to_the_network() {
    let server = server(|settings| settings).await;
    let mut statuses = Vec::new();
    for number in 0..70 {
        let answer =
            sign_up_from(&server, [192, 0, 2, 7], &format!("user{number}@a.example")).await;
        statuses.push(answer.status.as_u16());
    }
    assert_eq!(statuses, [vec![201; 60], vec![429; 10]].concat());
    assert!(!is_registered(&server, "user60@a.example").await);
    let other = sign_up_from(&server, [192, 0, 2, 8], "other@a.example").await;
    assert_eq!(other.status, StatusCode::CREATED);
    // Nobody gets more by many addresses of one mailbox.
    for last in 9..20 {
        sign_up_from(&server, [192, 0, 2, last], &format!("victim+{last}@a.example")).await;
    }
    let queue = server.doorward.store().mail_queue(None, 1000).await.unwrap();
    let to_victim = queue.iter().filter(|m| m.mail.recipient.as_str().starts_with("victim"));
    assert_eq!(to_victim.count(), 2);
    // Without mail, nothing of this limits a network.
    let server = TestServer::open().await;
    for number in 0..70 {
        let answer =
            sign_up_from(&server, [192, 0, 2, 7], &format!("user{number}@a.example")).await;
        assert_eq!(answer.status, StatusCode::CREATED);
    }
}

#[tokio::test]
async fn notices_to_a_verified_address_are_sent_whatever_strangers_ask_for() {
    let server = server(|settings| settings).await;
    verified_ada(&server).await;
    ask(&server, "/api/auth/forgot", ADA, 10).await;
    ask(&server, "/api/auth/code", ADA, 10).await;
    server.order("DELETE", ADA, "/sessions", Value::Null).await;
    let sent = messages(&server, ADA).await;
    assert!(sent.iter().any(|sent| matches!(sent, Message::SessionsEnded { .. })), "{sent:?}");
}
