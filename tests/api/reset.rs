use std::{net::SocketAddr, time::Duration};

use axum::{
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use serde_json::{Value, json};

use crate::support::{Answer, REFUSED, TestServer, malformed};

async fn link(server: &TestServer, who: &str) -> String {
    let made = server.order("POST", who, "/reset-code", Value::Null).await;
    made.json()["code"].as_str().unwrap().to_owned()
}

async fn reset(server: &TestServer, code: &str, password: &str) -> Answer {
    server.post("/api/auth/reset", &json!({"code": code, "password": password})).await
}

#[tokio::test]
async fn a_code_sets_a_password_once() {
    let server = TestServer::open().await;
    let body = json!({"name": "Ada", "email": "ada@example.com"});
    server.register_with(body).await;
    let code = link(&server, "Ada@example.com").await;
    assert_eq!(reset(&server, &code, "correct horse").await.status_and_body(), (204, ""));
    assert_eq!(server.login("ada@example.com", "correct horse").await.status, StatusCode::OK);
    assert_eq!(reset(&server, &code, "another horse").await.status_and_body(), REFUSED);
    assert_eq!(server.login("ada@example.com", "correct horse").await.status, StatusCode::OK);
}

#[tokio::test]
async fn wrong_expired_replaced_and_voided_codes_are_refused_alike() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let replaced = link(&server, "ada@example.com").await;
    let code = link(&server, "ada@example.com").await;
    for wrong in ["", "x", &replaced, &code[1..], &format!("{code}0"), &"0".repeat(32)] {
        assert_eq!(
            reset(&server, wrong, "another horse").await.status_and_body(),
            REFUSED,
            "{wrong}"
        );
    }
    server.let_pass(Duration::from_secs(30 * 60));
    assert_eq!(reset(&server, &code, "another horse").await.status_and_body(), REFUSED);

    let voided = link(&server, "ada@example.com").await;
    let body = json!({"current": "correct horse", "new": "another horse"});
    let answer = server.request_as(&token, "POST", "/api/me/password", body).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(reset(&server, &voided, "a third horse").await.status_and_body(), REFUSED);

    let code = link(&server, "ada@example.com").await;
    server.order("PATCH", "ada@example.com", "", json!({"disabled": true})).await;
    assert_eq!(reset(&server, &code, "a third horse").await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_refused_code_gets_a_challenge_without_an_error() {
    let server = TestServer::open().await;
    let answer = reset(&server, "x", "another horse").await;
    assert_eq!(answer.status_and_body(), REFUSED);
    assert_eq!(answer.header(header::WWW_AUTHENTICATE), Some(r#"Bearer realm="doorward""#));
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
}

#[tokio::test]
async fn a_bad_password_does_not_use_the_code_up() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    let code = link(&server, "ada@example.com").await;
    let answer = reset(&server, &code, "short").await;
    let expected = malformed(r#"{"password":"String must contain at least 8 character(s)"}"#);
    assert_eq!(answer.status_and_body(), (400, &*expected));
    assert_eq!(reset(&server, &code, "another horse").await.status_and_body(), (204, ""));
    let answer = server.post_text("/api/auth/reset", "").await;
    let expected = malformed(r#"{"code":"Required","password":"Required"}"#);
    assert_eq!(answer.status_and_body(), (400, &*expected));
}

#[tokio::test]
async fn a_client_that_guesses_codes_is_throttled() {
    let server = TestServer::open().await;
    let guess = async || {
        let mut request = Request::post("/api/auth/reset");
        let from = ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711)));
        request.extensions_mut().unwrap().insert(from);
        let body = json!({"code": "x", "password": "another horse"}).to_string();
        server.send(request.body(body.into()).unwrap()).await
    };
    for _ in 0..600 {
        assert_eq!(guess().await.status_and_body(), REFUSED);
    }
    // The budget recovers by one guess per second, which may have passed.
    let throttled = loop {
        let answer = guess().await;
        if answer.status_and_body() != REFUSED {
            break answer;
        }
    };
    assert_eq!(throttled.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(throttled.header(header::RETRY_AFTER), Some("1"));
    assert_eq!(
        reset(&server, "x", "another horse").await.status_and_body(),
        REFUSED,
        "from elsewhere"
    );
}
