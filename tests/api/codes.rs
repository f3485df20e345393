//! Guessing the codes beside mailed links: ten are compared for each secret, whatever happens between them, and no answer tells that
//! a code is right.

use std::time::Duration;

use axum::http::StatusCode;
use doorward::internals::token::one_time::Purpose;
use serde_json::{Value, json};

use crate::{
    mail::{ADA, PASSWORD, by_email, reset, secret, server, verified_ada, verify},
    support::{Answer, REFUSED, TestServer, with_mail},
};

const VERIFY: &str = "/api/auth/verify";

/// Codes that are not the right one.
fn wrong_codes(right: &str) -> impl Iterator<Item = String> {
    let right = right.replace(' ', "");
    (0..100_000_000).map(|number| format!("{number:08}")).filter(move |code| *code != right)
}

/// What a client sees of an answer, without the id of the request.
fn whole(answer: &Answer) -> (u16, String, String) {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    (answer.status.as_u16(), format!("{headers:?}"), answer.body.clone())
}

/// Whoever has registered an address that is not theirs guesses the code that verifies it. They log in between the guesses, register,
/// ask for time, and the service restarts.
#[tokio::test]
async fn of_1500_guesses_ten_are_compared_whatever_happens_between_them() {
    let mut server = TestServer::open_with(with_mail).await;
    server.register("Eve", ADA).await;
    let (link, code) = secret(&server, ADA, Purpose::VerifyEmail).await;
    let (mut wrong, mut throttled) = (0, 0);
    for (number, guess) in wrong_codes(&code).take(1500).enumerate() {
        match server.post(VERIFY, &json!({"email": ADA, "code": guess})).await.status.as_u16() {
            401 => wrong += 1,
            429 => throttled += 1,
            other => panic!("{number}: {other}"),
        }
        match number {
            _ if number % 100 == 50 => {
                assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::OK);
            }
            _ if number % 100 == 70 => {
                server.register("Eve", &format!("eve{number}@example.com")).await;
                server.let_pass(Duration::from_secs(60 * 60));
            }
            _ if number % 500 == 400 => {
                server.doorward.save_failures().await.unwrap();
                server = TestServer::reopen(server.close(), with_mail).await;
            }
            // The right code is refused long before the address is throttled.
            20 => {
                let right = json!({"email": ADA, "code": code});
                assert_eq!(server.post(VERIFY, &right).await.status_and_body(), REFUSED);
            }
            _ => {}
        }
    }
    assert_eq!((wrong, throttled), (99, 1401), "and the right one");
    let typed = server.post(VERIFY, &json!({"email": ADA, "code": code})).await;
    assert_eq!(typed.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!by_email(&server, ADA).await.email_verified);
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT, "the link is not void");
}

/// A request that uses a code, and the code.
struct Code {
    path: &'static str,
    body: Value,
    right: String,
}

impl Code {
    async fn send(&self, server: &TestServer, code: &str) -> Answer {
        let mut body = self.body.clone();
        let field = if self.path == "/api/user" { "invitation" } else { "code" };
        body[field] = code.into();
        server.post(self.path, &body).await
    }
}

async fn invited(server: &TestServer, email: &str) -> String {
    let invite = json!({"email": email, "roles": ["staff"], "mail": false});
    let made = server.operator("POST", "/api/admin/invitations", invite).await;
    made.json()["code"].as_str().unwrap().to_owned()
}

/// A new code of each kind.
async fn codes(server: &TestServer, name: &str) -> Vec<Code> {
    let email = |kind: &str| format!("{kind}-{name}@example.com");
    let mut codes = Vec::new();
    let verified = email("verify");
    server.register("Ada", &verified).await;
    let (_, right) = secret(server, &verified, Purpose::VerifyEmail).await;
    codes.push(Code { path: VERIFY, body: json!({"email": verified}), right });
    let (old, new) = (email("old"), email("new"));
    let token = server.register("Ada", &old).await.token;
    let change = json!({"email": new, "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", change).await;
    let (_, right) = secret(server, &new, Purpose::ChangeEmail).await;
    codes.push(Code { path: VERIFY, body: json!({"email": new}), right });
    let forgetful = email("reset");
    server.register("Ada", &forgetful).await;
    server.post("/api/auth/forgot", &json!({"email": forgetful})).await;
    let (_, right) = secret(server, &forgetful, Purpose::ResetPassword).await;
    let body = json!({"email": forgetful, "password": "another horse"});
    codes.push(Code { path: "/api/auth/reset", body, right });
    let without_password = email("sign-in");
    server.register_with(json!({"name": "Ada", "email": without_password})).await;
    server.post("/api/auth/code", &json!({"email": without_password})).await;
    let (_, right) = secret(server, &without_password, Purpose::SignIn).await;
    let body = json!({"email": without_password});
    codes.push(Code { path: "/api/auth/code/login", body, right });
    let friend = email("friend");
    let right = invited(server, &friend).await;
    let body = json!({"name": "Ada", "email": friend, "password": PASSWORD});
    codes.push(Code { path: "/api/user", body, right });
    codes
}

#[tokio::test]
async fn the_tenth_code_is_compared_and_the_eleventh_is_not() {
    let server = server().await;
    for (wrong, is_used) in [(0, true), (9, true), (10, false)] {
        for code in codes(&server, &format!("after-{wrong}")).await {
            let mut refused = None;
            for wrong in wrong_codes(&code.right).take(wrong) {
                let answer = code.send(&server, &wrong).await;
                assert!(answer.status.is_client_error(), "{}: {}", code.path, answer.status);
                refused = Some(whole(&answer));
            }
            let typed = code.send(&server, &code.right).await;
            assert_eq!(typed.status.is_success(), is_used, "{} after {wrong}", code.path);
            if !is_used {
                assert_eq!(Some(whole(&typed)), refused, "{}", code.path);
            }
        }
    }
}

#[tokio::test]
async fn codes_of_an_address_are_counted_for_each_of_its_secrets() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    let (_, first) = secret(&server, ADA, Purpose::VerifyEmail).await;
    let guess = async |code: &str| server.post(VERIFY, &json!({"email": ADA, "code": code})).await;
    for wrong in wrong_codes(&first).take(9) {
        assert_eq!(guess(&wrong).await.status_and_body(), REFUSED);
    }
    server.request_as(&token, "POST", "/api/me/verify", Value::Null).await;
    let (_, second) = secret(&server, ADA, Purpose::VerifyEmail).await;
    // The second one has nine guesses left, and the first one none.
    assert_eq!(guess("00000000").await.status_and_body(), REFUSED);
    assert_eq!(guess(&first).await.status_and_body(), REFUSED);
    assert_eq!(guess(&second).await.status_and_body(), (204, ""));
}

#[tokio::test]
async fn wrong_codes_do_not_lock_anybody_out_and_a_login_does_not_clear_them() {
    let server = server().await;
    server.register("Ada", ADA).await;
    let (_, right) = secret(&server, ADA, Purpose::VerifyEmail).await;
    let guess = async |code: &str| {
        server.post(VERIFY, &json!({"email": ADA, "code": code})).await.status.as_u16()
    };
    let mut statuses = Vec::new();
    for wrong in wrong_codes(&right).take(120) {
        statuses.push(guess(&wrong).await);
    }
    assert_eq!(statuses, [[401; 100].as_slice(), &[429; 20]].concat());
    assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::OK);
    assert_eq!(guess("00000000").await, 429);
    let other = server.post(VERIFY, &json!({"email": "bob@example.com", "code": "00000000"})).await;
    assert_eq!(other.status_and_body(), REFUSED, "other addresses have budgets of their own");
    for _ in 0..100 {
        assert_eq!(server.login(ADA, "wrong").await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(server.login(ADA, PASSWORD).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_right_code_refunds_itself_and_no_earlier_one() {
    let server = server().await;
    server.register_with(json!({"name": "Ada", "email": ADA})).await;
    let login = async |code: &str| {
        let body = json!({"email": ADA, "code": code});
        server.post("/api/auth/code/login", &body).await.status.as_u16()
    };
    for _ in 0..99 {
        assert_eq!(login("00000000").await, 404);
    }
    for _ in 0..3 {
        server.post("/api/auth/code", &json!({"email": ADA})).await;
        let (_, code) = secret(&server, ADA, Purpose::SignIn).await;
        assert_eq!(login(&code).await, 200);
    }
    assert_eq!(login("00000000").await, 404);
    assert_eq!(login("00000000").await, 429);
}

/// 403 for a wrong code and 409 for the right one would tell which it is.
#[tokio::test]
async fn a_right_code_for_a_taken_address_answers_like_a_wrong_one() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await.token;
    let change = json!({"email": "eve@example.com", "password": PASSWORD});
    server.request_as(&ada, "PATCH", "/api/me", change).await;
    let (link, code) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    let ticket = invited(&server, "eve@example.com").await;
    server.register("Eve", "eve@example.com").await;
    let body = json!({"email": "eve@example.com"});
    let change = Code { path: VERIFY, body, right: code };
    let body = json!({"name": "Eve", "email": "eve@example.com", "password": PASSWORD});
    let invitation = Code { path: "/api/user", body, right: ticket };
    for code in [change, invitation] {
        let wrong = code.send(&server, &wrong_codes(&code.right).next().unwrap()).await;
        let right = code.send(&server, &code.right).await;
        assert_eq!(whole(&right), whole(&wrong), "{}", code.path);
        assert!([401, 403].contains(&right.status.as_u16()), "{}", right.status);
    }
    assert_eq!(verify(&server, &link).await.status, StatusCode::CONFLICT, "a link may tell");
}

#[tokio::test]
async fn a_way_back_has_no_code() {
    let server = server().await;
    let token = verified_ada(&server).await.token;
    let change = json!({"email": "eve@example.com", "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", change).await;
    let (link, _) = secret(&server, "eve@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, StatusCode::NO_CONTENT);
    let (link, code) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let body = |code: &str| json!({"email": ADA, "code": code, "password": "another horse"});
    for code in [&*code, &code.replace(' ', "")] {
        let typed = server.post("/api/auth/restore-email", &body(code)).await;
        assert_eq!(typed.status_and_body(), REFUSED);
    }
    let linked = server.post("/api/auth/restore-email", &body(&link)).await;
    assert_eq!(linked.status_and_body(), (204, ""));
}

#[tokio::test]
async fn addresses_without_a_user_and_texts_that_are_no_address_answer_like_others() {
    let server = server().await;
    server.register("Ada", ADA).await;
    let long = format!("{}@example.com", "a".repeat(5000));
    let mut answers = Vec::new();
    for email in [ADA, "nobody@example.com", "", "codes to ada@example.com", &long] {
        for _ in 0..12 {
            let body = json!({"email": email, "code": "00000000", "password": "another horse"});
            answers.push(whole(&server.post("/api/auth/reset", &body).await));
        }
    }
    assert_eq!((answers[0].0, answers[0].2.as_str()), REFUSED);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let (link, _) = {
        server.post("/api/auth/forgot", &json!({"email": ADA})).await;
        secret(&server, ADA, Purpose::ResetPassword).await
    };
    assert_eq!(reset(&server, &link, "another horse").await.status, StatusCode::NO_CONTENT);
}
