//! Everything that a person does by mail: verify an address, change it, take the change back, set a forgotten password, sign in
//! with a code. The mails are read from the outbox.

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use doorward::internals::{
    Internals,
    mail::Message,
    token::one_time::Purpose,
    user::{EmailKey, User},
};
use serde_json::{Value, json};

use crate::{
    outbox::{mails, messages, one_time},
    support::{Answer, Member, NOT_FOUND, REFUSED, TestServer, with_mail},
};

pub const ADA: &str = "ada@example.com";
pub const PASSWORD: &str = "correct horse";
pub const MAILED: (u16, &str) =
    (202, r#"{"message":"If the address can receive this mail, it is on its way."}"#);

pub async fn server() -> TestServer {
    TestServer::open_with(|settings| with_mail(settings).with("sign_in.mail_code", "true")).await
}

/// The link secret and the code for a purpose in the latest mail to an address.
pub async fn secret(server: &TestServer, to: &str, purpose: Purpose) -> (String, String) {
    let id = one_time(server, to, purpose).await;
    let mint = server.doorward.one_time_secrets();
    (mint.secret(id, purpose).as_str().to_owned(), mint.code(id, purpose).to_text())
}

async fn ada(server: &TestServer) -> User {
    by_email(server, ADA).await
}

pub async fn by_email(server: &TestServer, email: &str) -> User {
    server.doorward.store().user_by_email(&EmailKey::of(email)).await.unwrap().unwrap()
}

pub async fn verify(server: &TestServer, code: &str) -> Answer {
    server.post("/api/auth/verify", &json!({"code": code})).await
}

async fn forgot(server: &TestServer, email: &str) -> Answer {
    server.post("/api/auth/forgot", &json!({"email": email})).await
}

pub async fn reset(server: &TestServer, code: &str, password: &str) -> Answer {
    server.post("/api/auth/reset", &json!({"code": code, "password": password})).await
}

/// Ada with a verified address.
pub async fn verified_ada(server: &TestServer) -> Member {
    let ada = server.register("Ada", ADA).await;
    let (link, _) = secret(server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(server, &link).await.status, StatusCode::NO_CONTENT);
    ada
}

#[tokio::test]
async fn a_registration_mails_a_link_that_verifies_the_address_once() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    assert!(!ada(&server).await.email_verified);
    let (link, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(&server, &link).await.status_and_body(), (204, ""));
    assert!(ada(&server).await.email_verified);
    let me = server.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!(me["emailVerified"], true);
    assert_eq!(verify(&server, &link).await.status_and_body(), REFUSED, "used twice");
    assert_eq!(mails(&server, ADA).await.len(), 1);
}

#[tokio::test]
async fn the_code_beside_the_link_verifies_too_and_needs_the_address() {
    let server = server().await;
    server.register("Ada", ADA).await;
    let (_, code) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_eq!(verify(&server, &code).await.status_and_body(), REFUSED);
    let with = |email: &str| json!({"code": code, "email": email});
    let answer = server.post("/api/auth/verify", &with("bob@example.com")).await;
    assert_eq!(answer.status_and_body(), REFUSED);
    let answer = server.post("/api/auth/verify", &with("ADA@example.com")).await;
    assert_eq!(answer.status_and_body(), (204, ""));
    assert!(ada(&server).await.email_verified);
}

#[tokio::test]
async fn a_user_can_have_the_link_mailed_again_and_every_link_works() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    let (first, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    let again = server.request_as(&token, "POST", "/api/me/verify", Value::Null).await;
    assert_eq!(again.status_and_body(), MAILED);
    let (second, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    assert_ne!(first, second);
    assert_eq!(verify(&server, &first).await.status, StatusCode::NO_CONTENT);
    let verified = server.request_as(&token, "POST", "/api/me/verify", Value::Null).await;
    assert_eq!(verified.status_and_body(), MAILED);
    assert_eq!(mails(&server, ADA).await.len(), 2, "a verified address gets no more");
}

#[tokio::test]
async fn a_new_address_counts_when_it_is_verified_and_the_old_one_gets_a_way_back() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let body = json!({"email": "ada@new.example", "password": PASSWORD});
    let changed = server.request_as(&token, "PATCH", "/api/me", body).await;
    assert_eq!(changed.status, StatusCode::OK);
    let me = server.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    for shown in [changed.json(), me] {
        assert_eq!(
            (&shown["email"], &shown["pendingEmail"]),
            (&json!(ADA), &json!("ada@new.example"))
        );
        assert_eq!(shown["emailVerified"], true);
    }
    let (link, _) = secret(&server, "ada@new.example", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    let user = by_email(&server, "ada@new.example").await;
    assert!(user.email_verified);
    let me = server.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!((&me["email"], &me["pendingEmail"]), (&json!("ada@new.example"), &Value::Null));

    let (back, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let body = json!({"code": back, "password": "another horse"});
    let restored = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(restored.status_and_body(), (204, ""));
    assert_eq!(ada(&server).await.id, user.id);
    assert!(ada(&server).await.email_verified);
    assert_eq!(server.guard("guard", &token).await.status_and_body(), REFUSED, "sessions end");
    assert_eq!(server.login(ADA, PASSWORD).await.status_and_body(), (404, NOT_FOUND));
    assert_eq!(server.login(ADA, "another horse").await.status, StatusCode::OK);
    let again = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(again.status_and_body(), REFUSED);
}

#[tokio::test]
async fn the_way_back_survives_what_an_intruder_does_and_ends_after_a_week() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let change_to = async |email: &str, password: &str| {
        let body = json!({"email": email, "password": password});
        let changed = server.request_as(&token, "PATCH", "/api/me", body).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
        let (link, _) = secret(&server, email, Purpose::ChangeEmail).await;
        assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    };
    change_to("eve@example.com", PASSWORD).await;
    let body = json!({"current": PASSWORD, "new": "a third horse"});
    server.request_as(&token, "POST", "/api/me/password", body).await;
    change_to("eve@example.org", "a third horse").await;
    let (back, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let restore = json!({"code": back, "password": "another horse"});
    server.let_pass(Duration::from_secs(7 * 24 * 60 * 60 - 60));
    let restored = server.post("/api/auth/restore-email", &restore).await;
    assert_eq!(restored.status_and_body(), (204, ""));
    // The way back of the second change is void: it would return the account to the intruder.
    let (other, _) = secret(&server, "eve@example.com", Purpose::RestoreEmail).await;
    let body = json!({"code": other, "password": "another horse"});
    let refused = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(refused.status_and_body(), REFUSED);

    let token = server.token_of(ADA, "another horse").await;
    let body = json!({"email": "ada@new.example", "password": "another horse"});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "ada@new.example", Purpose::ChangeEmail).await;
    verify(&server, &link).await;
    let (back, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    server.let_pass(Duration::from_secs(7 * 24 * 60 * 60));
    let body = json!({"code": back, "password": "another horse"});
    let refused = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(refused.status_and_body(), REFUSED);
}

#[tokio::test]
async fn an_intruder_cannot_end_the_way_back_with_one_of_their_own() {
    let server = server().await;
    let mut token = verified_ada(&server).await.token;
    for email in ["eve@example.com", "eve@example.org"] {
        let body = json!({"email": email, "password": PASSWORD});
        server.request_as(&token, "PATCH", "/api/me", body).await;
        let (link, _) = secret(&server, email, Purpose::ChangeEmail).await;
        assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    }
    let restore = async |from: &str, password: &str| {
        let (back, _) = secret(&server, from, Purpose::RestoreEmail).await;
        let body = json!({"code": back, "password": password});
        server.post("/api/auth/restore-email", &body).await.status
    };
    assert_eq!(restore("eve@example.com", "horse of eve").await, StatusCode::NO_CONTENT);
    token = server.token_of("eve@example.com", "horse of eve").await;
    assert_eq!(restore(ADA, "another horse").await, StatusCode::NO_CONTENT);
    assert_eq!(server.guard("guard", &token).await.status_and_body(), REFUSED);
    assert_eq!(server.login(ADA, "another horse").await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_intruder_cannot_block_the_way_back_by_registering_the_old_address() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let body = json!({"email": "eve@example.com", "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    let (back, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let account = by_email(&server, "eve@example.com").await.id;

    let squatter = server.register("Eve", ADA).await.token;
    let body = json!({"code": back, "password": "another horse"});
    let restored = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(restored.status_and_body(), (204, ""));
    assert_eq!(ada(&server).await.id, account);
    assert_eq!(server.guard("guard", &squatter).await.status_and_body(), REFUSED);

    // Whoever has verified the address keeps it.
    let token = server.token_of(ADA, "another horse").await;
    let body = json!({"email": "eve@example.com", "password": "another horse"});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    let (back, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let other = verified_ada(&server).await.token;
    let body = json!({"code": back, "password": "a third horse"});
    let refused = server.post("/api/auth/restore-email", &body).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(server.guard("guard", &other).await.status, StatusCode::OK);
}

/// Somebody moves an account of theirs to an address whose owner confirms it. That person sets a new password by mail, and so the
/// account is theirs alone.
#[tokio::test]
async fn a_way_back_ends_when_a_new_password_is_set_by_mail() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let change_to = async |token: &str, email: &str, password: &str| {
        let body = json!({"email": email, "password": password});
        let changed = server.request_as(token, "PATCH", "/api/me", body).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
        let (link, _) = secret(&server, email, Purpose::ChangeEmail).await;
        assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    };
    let restore = async |from: &str, password: &str| {
        let (back, _) = secret(&server, from, Purpose::RestoreEmail).await;
        let body = json!({"code": back, "password": password});
        server.post("/api/auth/restore-email", &body).await.status_and_body().0
    };
    change_to(&token, "bob@example.com", PASSWORD).await;
    forgot(&server, "bob@example.com").await;
    let (link, _) = secret(&server, "bob@example.com", Purpose::ResetPassword).await;
    assert_eq!(reset(&server, &link, "horse of bob").await.status, StatusCode::NO_CONTENT);
    assert_eq!(restore(ADA, "another horse").await, 401);
    assert_eq!(server.login("bob@example.com", "horse of bob").await.status, StatusCode::OK);

    // One that was sent to the address itself stays.
    let token = server.token_of("bob@example.com", "horse of bob").await;
    change_to(&token, "eve@example.com", "horse of bob").await;
    change_to(&token, "bob@example.com", "horse of bob").await;
    forgot(&server, "bob@example.com").await;
    let (link, _) = secret(&server, "bob@example.com", Purpose::ResetPassword).await;
    assert_eq!(reset(&server, &link, "a new horse").await.status, StatusCode::NO_CONTENT);
    assert_eq!(restore("eve@example.com", "horse of eve").await, 401);
    assert_eq!(restore("bob@example.com", "another horse").await, 204);
}

#[tokio::test]
async fn an_address_that_was_never_verified_gets_no_way_back() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    let body = json!({"email": "ada@new.example", "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "ada@new.example", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    let sent = messages(&server, ADA).await;
    assert!(matches!(sent[..], [Message::VerifyEmail { .. }]), "{sent:?}");
}

#[tokio::test]
async fn an_address_of_somebody_else_is_taken_at_the_request_and_at_the_confirmation() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    server.register("Bob", "bob@example.com").await;
    let change = |email: &str| json!({"email": email, "password": PASSWORD});
    let taken = server.request_as(&token, "PATCH", "/api/me", change("BOB@example.com")).await;
    assert_eq!(taken.status, StatusCode::CONFLICT);
    let free = server.request_as(&token, "PATCH", "/api/me", change("eve@example.com")).await;
    assert_eq!(free.status, StatusCode::OK);
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    server.register("Eve", "eve@example.com").await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::CONFLICT);
    assert_eq!(ada(&server).await.email.as_str(), ADA);
}

#[tokio::test]
async fn a_forgotten_password_is_set_by_link_or_code_and_ends_all_sessions() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    assert_eq!(forgot(&server, "Ada@Example.com").await.status_and_body(), MAILED);
    let (link, _) = secret(&server, ADA, Purpose::ResetPassword).await;
    assert_eq!(reset(&server, &link, "short").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(reset(&server, &link, "another horse").await.status_and_body(), (204, ""));
    assert_eq!(server.guard("guard", &token).await.status_and_body(), REFUSED);
    assert_eq!(server.login(ADA, PASSWORD).await.status_and_body(), (404, NOT_FOUND));
    assert_eq!(server.login(ADA, "another horse").await.status, StatusCode::OK);
    assert!(ada(&server).await.email_verified, "the link proves the address");
    assert_eq!(reset(&server, &link, "a third horse").await.status_and_body(), REFUSED);

    forgot(&server, ADA).await;
    let (_, code) = secret(&server, ADA, Purpose::ResetPassword).await;
    let body = json!({"code": code, "email": ADA, "password": "a third horse"});
    assert_eq!(server.post("/api/auth/reset", &body).await.status_and_body(), (204, ""));
    assert_eq!(server.login(ADA, "a third horse").await.status, StatusCode::OK);
    let changed = messages(&server, ADA).await;
    let notices =
        changed.iter().filter(|message| matches!(message, Message::PasswordChanged { .. }));
    assert_eq!(notices.count(), 2, "{changed:?}");
}

#[tokio::test]
async fn every_address_gets_the_same_answer() {
    let server = server().await;
    server.register("Ada", ADA).await;
    server.register_with(json!({"name": "Bob", "email": "bob@example.com"})).await;
    server.register("Eve", "eve@example.com").await;
    server.order("PATCH", "eve@example.com", "", json!({"disabled": true})).await;
    for path in ["/api/auth/forgot", "/api/auth/code"] {
        let ask = async |email: &str| server.post(path, &json!({"email": email})).await;
        server.let_pass(Duration::from_secs(1));
        let known = ask(ADA).await;
        assert_eq!(known.status_and_body(), MAILED);
        for email in ["bob@example.com", "eve@example.com", "nobody@example.com"] {
            let other = ask(email).await;
            assert_eq!(other.status_and_body(), known.status_and_body(), "{path} {email}");
            let names = |answer: &Answer| answer.headers.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&other), names(&known));
        }
    }
    let nothing = messages(&server, "nobody@example.com").await;
    assert_eq!(nothing, [Message::Nothing, Message::Nothing]);
    let disabled = messages(&server, "eve@example.com").await;
    assert_eq!(disabled[1..], [Message::Nothing, Message::Nothing]);
    for bad in [json!({}), json!({"email": "x"}), json!({"email": 5})] {
        assert_eq!(server.post("/api/auth/forgot", &bad).await.status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_user_without_a_password_signs_in_with_a_mailed_code_or_link() {
    let server = server().await;
    let first = server.register_with(json!({"name": "Ada", "email": ADA})).await.token;
    let ask = async || server.post("/api/auth/code", &json!({"email": ADA})).await;
    let login = async |body: Value| server.post("/api/auth/code/login", &body).await;
    assert_eq!(ask().await.status_and_body(), MAILED);
    let (_, code) = secret(&server, ADA, Purpose::SignIn).await;
    let signed_in = login(json!({"email": ADA, "code": code})).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{}", signed_in.body);
    let token = signed_in.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK);
    assert!(ada(&server).await.email_verified);
    // Whoever registered the address without owning it is out.
    assert_eq!(server.guard("guard", &first).await.status_and_body(), REFUSED);
    let again = login(json!({"email": ADA, "code": code})).await;
    assert_eq!(again.status_and_body(), (404, NOT_FOUND));

    ask().await;
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    assert_eq!(login(json!({"code": link})).await.status, StatusCode::OK);
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK, "sessions stay now");
    ask().await;
    let (late, _) = secret(&server, ADA, Purpose::SignIn).await;
    server.let_pass(Duration::from_secs(10 * 60));
    assert_eq!(login(json!({"code": late})).await.status_and_body(), (404, NOT_FOUND));
}

#[tokio::test]
async fn whoever_registered_an_address_before_its_owner_cannot_change_it_later() {
    let server = server().await;
    let stranger = server.register_with(json!({"name": "Eve", "email": ADA})).await.token;
    let body = json!({"email": "eve@example.com"});
    let asked = server.request_as(&stranger, "PATCH", "/api/me", body).await;
    assert_eq!(asked.status, StatusCode::OK, "{}", asked.body);
    server.post("/api/auth/code", &json!({"email": ADA})).await;
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    let signed_in = server.post("/api/auth/code/login", &json!({"code": link})).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{}", signed_in.body);
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status_and_body(), REFUSED);
    assert_eq!(ada(&server).await.email.as_str(), ADA);
}

#[tokio::test]
async fn a_user_with_a_password_is_told_to_use_it() {
    let server = server().await;
    verified_ada(&server).await;
    let answer = server.post("/api/auth/code", &json!({"email": ADA})).await;
    assert_eq!(answer.status_and_body(), MAILED);
    assert_eq!(messages(&server, ADA).await.last(), Some(&Message::HasPassword));
}

/// Where everybody signs in with mailed codes.
async fn server_for_everybody() -> TestServer {
    TestServer::open_with(|settings| with_mail(settings).with("sign_in.mail_code", "everybody"))
        .await
}

#[tokio::test]
async fn where_everybody_signs_in_with_codes_a_password_does_not_matter() {
    let server = server_for_everybody().await;
    verified_ada(&server).await;
    assert_eq!(server.post("/api/auth/code", &json!({"email": ADA})).await.status, 202);
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    let answer = server.post("/api/auth/code/login", &json!({"code": link})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::OK, "it stays valid");
}

/// Somebody else may have registered the address, and would still know the password.
#[tokio::test]
async fn a_code_signs_nobody_in_whose_password_may_be_a_strangers() {
    let server = server_for_everybody().await;
    server.register("Mallory", ADA).await;
    // So that the mail is a later one.
    server.let_pass(Duration::from_secs(1));
    server.post("/api/auth/code", &json!({"email": ADA})).await;
    assert_eq!(messages(&server, ADA).await.last(), Some(&Message::HasPassword));

    // Nor if the operator takes the mark back while the code is on its way.
    let server = server_for_everybody().await;
    verified_ada(&server).await;
    server.post("/api/auth/code", &json!({"email": ADA})).await;
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": false})).await;
    let answer = server.post("/api/auth/code/login", &json!({"code": link})).await;
    assert_eq!(answer.status_and_body(), (404, NOT_FOUND));
}

#[tokio::test]
async fn a_pending_address_is_sent_again_and_cancelled() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let pending = "/api/me/pending-email";
    for method in ["POST", "DELETE"] {
        let answer = server.request_as(&token, method, pending, Value::Null).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method}: nothing is pending");
    }
    let new = "ada@new.example";
    let change = json!({"email": new, "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", change).await;
    // A user causes one mail to an address in a quarter of an hour.
    let again = server.request_as(&token, "POST", pending, Value::Null).await;
    assert_eq!(again.status, StatusCode::TOO_MANY_REQUESTS, "{}", again.body);
    server.let_pass(Duration::from_secs(15 * 60));
    let again = server.request_as(&token, "POST", pending, Value::Null).await;
    assert_eq!(again.status_and_body(), MAILED);
    assert_eq!(messages(&server, new).await.len(), 2);
    let (link, _) = secret(&server, new, Purpose::ChangeEmail).await;
    let cancelled = server.request_as(&token, "DELETE", pending, Value::Null).await;
    assert_eq!(cancelled.status_and_body(), (204, ""));
    let me = server.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!((&me["email"], me.get("pendingEmail")), (&json!(ADA), None));
    assert_eq!(verify(&server, &link).await.status_and_body(), REFUSED);
    let cancelled = server.request_as(&token, "DELETE", pending, Value::Null).await;
    assert_eq!(cancelled.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_pending_address_that_somebody_has_registered_is_not_sent_again() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let new = "ada@new.example";
    let change = json!({"email": new, "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", change).await;
    server.register("Eve", new).await;
    server.let_pass(Duration::from_secs(15 * 60));
    let again = server.request_as(&token, "POST", "/api/me/pending-email", Value::Null).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.body);
}

/// Every way in which a secret does not count.
#[tokio::test]
async fn secrets_of_another_purpose_or_after_a_change_are_refused() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    forgot(&server, ADA).await;
    let (verification, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    let (resetting, reset_code) = secret(&server, ADA, Purpose::ResetPassword).await;
    let with_password = |code: &str| json!({"code": code, "password": "another horse"});
    for (path, code) in [
        ("/api/auth/verify", &resetting),
        ("/api/auth/reset", &verification),
        ("/api/auth/restore-email", &verification),
        ("/api/auth/restore-email", &resetting),
    ] {
        let answer = server.post(path, &with_password(code)).await;
        assert_eq!(answer.status_and_body(), REFUSED, "{path}");
    }
    for code in [&verification, &resetting] {
        let answer = server.post("/api/auth/code/login", &json!({"code": code})).await;
        assert_eq!(answer.status_and_body(), (404, NOT_FOUND));
    }
    // The code of one user does not count for another.
    server.register("Bob", "bob@example.com").await;
    let body = json!({"code": reset_code, "email": "bob@example.com", "password": "another horse"});
    assert_eq!(server.post("/api/auth/reset", &body).await.status_and_body(), REFUSED);

    let body = json!({"current": PASSWORD, "new": "a third horse"});
    let changed = server.request_as(&token, "POST", "/api/me/password", body).await;
    assert_eq!(changed.status, StatusCode::NO_CONTENT);
    assert_eq!(reset(&server, &resetting, "another horse").await.status_and_body(), REFUSED);
    assert_eq!(verify(&server, &verification).await.status_and_body(), REFUSED);

    forgot(&server, ADA).await;
    let (before, _) = secret(&server, ADA, Purpose::ResetPassword).await;
    let body = json!({"email": "ada@new.example", "password": "a third horse"});
    server.request_as(&token, "PATCH", "/api/me", body).await;
    let (link, _) = secret(&server, "ada@new.example", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    assert_eq!(reset(&server, &before, "another horse").await.status_and_body(), REFUSED);

    forgot(&server, "ada@new.example").await;
    let (late, _) = secret(&server, "ada@new.example", Purpose::ResetPassword).await;
    server.let_pass(Duration::from_secs(60 * 60));
    assert_eq!(reset(&server, &late, "another horse").await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn an_address_gets_few_mails_and_the_answers_stay_the_same() {
    let server = server().await;
    server.register("Ada", ADA).await;
    for _ in 0..20 {
        assert_eq!(forgot(&server, ADA).await.status_and_body(), MAILED);
        assert_eq!(forgot(&server, "nobody@example.com").await.status_and_body(), MAILED);
    }
    let resets = messages(&server, ADA).await;
    let resets = resets.iter().filter(|sent| matches!(sent, Message::ResetPassword { .. }));
    assert_eq!(resets.count(), 2);
    assert_eq!(mails(&server, "nobody@example.com").await.len(), 2);
}

#[tokio::test]
async fn a_network_asks_for_few_mails() {
    let server = server().await;
    let ask = async |number: usize| {
        let body = json!({"email": format!("user{number}@example.com")}).to_string();
        let mut request = Request::post("/api/auth/forgot")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .unwrap();
        let client = SocketAddr::from(([192, 0, 2, 7], 9));
        request.extensions_mut().insert(ConnectInfo(client));
        server.send(request).await
    };
    for number in 0..60 {
        assert_eq!(ask(number).await.status_and_body(), MAILED);
    }
    let refused = ask(60).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.header(header::RETRY_AFTER).is_some());
}

const NEEDS_MAIL: &str = r#"{"message":"The requested action needs a mail that the service does not send. Please ask its operator."}"#;

#[tokio::test]
async fn codes_to_sign_in_are_off_by_default() {
    let server = TestServer::open_with(with_mail).await;
    server.register_with(json!({"name": "Ada", "email": ADA})).await;
    let answer = server.post("/api/auth/code", &json!({"email": ADA})).await;
    assert_eq!(answer.status_and_body(), (501, NEEDS_MAIL));
    assert_eq!(mails(&server, ADA).await.len(), 1, "only the one that verifies the address");
}

#[tokio::test]
async fn without_mail_everything_works_as_before_and_what_needs_mail_says_so() {
    let server = TestServer::open().await;
    let token = server.register("Ada", ADA).await.token;
    let body = json!({"email": "ada@new.example", "password": PASSWORD});
    let changed = server.request_as(&token, "PATCH", "/api/me", body).await.json();
    assert_eq!((&changed["email"], changed.get("pendingEmail")), (&json!("ada@new.example"), None));
    for path in ["/api/auth/forgot", "/api/auth/code"] {
        let answer = server.post(path, &json!({"email": ADA})).await;
        assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
        assert_eq!(answer.body, NEEDS_MAIL);
    }
    let answer = server.request_as(&token, "POST", "/api/me/verify", Value::Null).await;
    assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
    assert!(server.doorward.store().mail_queue(None, 10).await.unwrap().is_empty());
    let pending = by_email(&server, "ada@new.example").await;
    let pending = server
        .doorward
        .store()
        .pending_one_time(&pending, Purpose::ChangeEmail, pending.created_at)
        .await;
    assert_eq!(pending.unwrap(), None);
}

/// What is stored reveals no secret: neither the outbox nor the table of one-time secrets.
#[tokio::test]
async fn no_secret_is_stored() {
    let server = server().await;
    server.register("Ada", ADA).await;
    forgot(&server, ADA).await;
    let mut secrets = Vec::new();
    for purpose in [Purpose::VerifyEmail, Purpose::ResetPassword] {
        let (link, code) = secret(&server, ADA, purpose).await;
        secrets.extend([link, code.replace(' ', ""), code]);
    }
    let folder = server.close();
    let mut files = 0;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        files += 1;
        for secret in &secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    assert!(files > 2);
}
