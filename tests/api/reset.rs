use std::{net::SocketAddr, time::Duration};

use axum::{
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use doorward::internals::control::{Command, Reply, UserRef};
use serde_json::json;

use crate::support::{Answer, House, REFUSED, malformed};

async fn link(house: &House, who: &str) -> String {
    match house.command(Command::CreateResetCode(UserRef(who.into()))).await {
        Reply::ResetCode(code) => code.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

async fn reset(house: &House, code: &str, password: &str) -> Answer {
    house.post("/api/auth/reset", &json!({"code": code, "password": password})).await
}

#[tokio::test]
async fn a_code_sets_a_password_once() {
    let house = House::open().await;
    let body = json!({"name": "Ada", "email": "ada@example.com"});
    house.register_with(body).await;
    let code = link(&house, "Ada@example.com").await;
    assert_eq!(reset(&house, &code, "correct horse").await.told(), (204, ""));
    assert_eq!(house.login("ada@example.com", "correct horse").await.status, StatusCode::OK);
    assert_eq!(reset(&house, &code, "another horse").await.told(), REFUSED);
    assert_eq!(house.login("ada@example.com", "correct horse").await.status, StatusCode::OK);
}

#[tokio::test]
async fn wrong_expired_replaced_and_voided_codes_are_refused_alike() {
    let house = House::open().await;
    let token = house.register("Ada", "ada@example.com").await.token;
    let replaced = link(&house, "ada@example.com").await;
    let code = link(&house, "ada@example.com").await;
    for wrong in ["", "x", &replaced, &code[1..], &format!("{code} "), &"0".repeat(32)] {
        assert_eq!(reset(&house, wrong, "another horse").await.told(), REFUSED, "{wrong}");
    }
    house.let_pass(Duration::from_secs(30 * 60));
    assert_eq!(reset(&house, &code, "another horse").await.told(), REFUSED);

    let voided = link(&house, "ada@example.com").await;
    let body = json!({"current": "correct horse", "new": "another horse"});
    let answer = house.ask_as(&token, "POST", "/api/me/password", body).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(reset(&house, &voided, "a third horse").await.told(), REFUSED);

    let code = link(&house, "ada@example.com").await;
    house.command(Command::DisableUser(UserRef("ada@example.com".into()))).await;
    assert_eq!(reset(&house, &code, "a third horse").await.told(), REFUSED);
}

#[tokio::test]
async fn a_refused_code_gets_a_challenge_without_an_error() {
    let house = House::open().await;
    let answer = reset(&house, "x", "another horse").await;
    assert_eq!(answer.told(), REFUSED);
    assert_eq!(answer.header(header::WWW_AUTHENTICATE), Some(r#"Bearer realm="doorward""#));
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
}

#[tokio::test]
async fn a_bad_password_does_not_use_the_code_up() {
    let house = House::open().await;
    house.register("Ada", "ada@example.com").await;
    let code = link(&house, "ada@example.com").await;
    let answer = reset(&house, &code, "short").await;
    let expected = malformed(r#"{"password":"String must contain at least 8 character(s)"}"#);
    assert_eq!(answer.told(), (400, &*expected));
    assert_eq!(reset(&house, &code, "another horse").await.told(), (204, ""));
    let answer = house.post_text("/api/auth/reset", "").await;
    let expected = malformed(r#"{"code":"Required","password":"Required"}"#);
    assert_eq!(answer.told(), (400, &*expected));
}

#[tokio::test]
async fn a_client_that_guesses_codes_is_throttled() {
    let house = House::open().await;
    let guess = async || {
        let mut request = Request::post("/api/auth/reset");
        let from = ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711)));
        request.extensions_mut().unwrap().insert(from);
        let body = json!({"code": "x", "password": "another horse"}).to_string();
        house.send(request.body(body.into()).unwrap()).await
    };
    for _ in 0..600 {
        assert_eq!(guess().await.told(), REFUSED);
    }
    // The budget recovers by one guess per second, which may have passed.
    let throttled = loop {
        let answer = guess().await;
        if answer.told() != REFUSED {
            break answer;
        }
    };
    assert_eq!(throttled.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(throttled.header(header::RETRY_AFTER), Some("1"));
    assert_eq!(reset(&house, "x", "another horse").await.told(), REFUSED, "from elsewhere");
}
