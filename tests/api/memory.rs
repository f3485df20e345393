//! Queries and signature checks that a guarded request costs.

use axum::http::StatusCode;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::internals::{Internals, store::Effects};
use serde_json::json;

use crate::support::{NOW, REFUSED, TestServer};

#[tokio::test]
async fn a_guarded_request_makes_no_query_and_no_signature_check_while_nothing_changes() {
    let server = TestServer::open().await;
    let token = server.register("Miles Davis", "miles@example.com").await.token;
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK);
    let after_the_first = server.doorward.work_done();
    assert_eq!((after_the_first.signature_checks, after_the_first.look_ups), (1, 1));
    for _ in 0..100 {
        for guard in ["guard", "miles"] {
            assert_eq!(server.guard(guard, &token).await.status, StatusCode::OK);
        }
    }
    assert_eq!(server.doorward.work_done(), after_the_first);
}

#[tokio::test]
async fn ending_a_session_takes_effect_at_the_next_request() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    assert_eq!(server.guard("guard", &member.token).await.status, StatusCode::OK);
    let ended = server
        .doorward
        .store()
        .end_sessions(member.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    assert_eq!(ended, 1);
    assert_eq!(server.guard("guard", &member.token).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(server.doorward.work_done().signature_checks, 1, "the signature had not changed");
}

#[tokio::test]
async fn deleting_a_user_takes_effect_at_the_next_request_of_every_token() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    let login = server.login("ada@example.com", "correct horse").await.json();
    let tokens = [member.token.as_str(), login["token"].as_str().unwrap()];
    for token in tokens {
        assert_eq!(server.guard("guard", token).await.status, StatusCode::OK);
    }
    assert!(
        server
            .doorward
            .store()
            .delete_user(member.id.parse().unwrap(), NOW, &Effects::NONE)
            .await
            .unwrap()
    );
    for token in tokens {
        assert_eq!(server.guard("guard", token).await.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_change_to_one_user_leaves_the_others_cached() {
    let server = TestServer::open().await;
    let mut tokens = Vec::new();
    for number in 0..20 {
        let email = format!("user{number}@example.com");
        tokens.push(server.register("Somebody", &email).await);
    }
    for member in &tokens {
        server.guard("guard", &member.token).await;
    }
    let before = server.doorward.work_done();
    server
        .doorward
        .store()
        .end_sessions(tokens[0].id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    for member in &tokens[1..] {
        assert_eq!(server.guard("guard", &member.token).await.status, StatusCode::OK);
    }
    let looked_up = server.doorward.work_done().look_ups - before.look_ups;
    assert!(looked_up <= 1, "{looked_up} of 19 users were looked up again");
}

#[tokio::test]
async fn garbage_is_not_cached_and_costs_no_query() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let garbage = format!("{}x", &token[..token.len() - 1]);
    for _ in 0..3 {
        assert_eq!(server.guard("guard", &garbage).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(server.doorward.work_done().look_ups, 0);
}

/// Tokens with a change that only the signature reveals.
fn forgeries(token: &str) -> impl Iterator<Item = String> {
    let [head, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else {
        panic!("{token}")
    };
    let claims = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let at = claims.find("\"jti\":\"").unwrap() + 7;
    (0..20).map(move |number| {
        let claims = format!("{}{number:08x}{}", &claims[..at], &claims[at + 8..]);
        format!("{head}.{}.{signature}", BASE64_URL_SAFE_NO_PAD.encode(claims))
    })
}

#[tokio::test]
async fn a_forged_token_costs_neither_a_signature_check_nor_a_query() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    for forgery in forgeries(&token) {
        assert_eq!(server.guard("guard", &forgery).await.status_and_body(), REFUSED);
        assert_eq!(
            server
                .request_as(&forgery, "POST", "/api/auth/refresh", json!({}))
                .await
                .status_and_body(),
            REFUSED
        );
    }
    let work = server.doorward.work_done();
    assert_eq!((work.signature_checks, work.look_ups), (0, 0));
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK);
}

#[tokio::test]
async fn wrong_signatures_under_the_claims_of_a_session_are_checked_a_few_times_a_minute() {
    let server = TestServer::open().await;
    let seen = server.register("Ada", "ada@example.com").await.token;
    let known = server.token_of("ada@example.com", "correct horse").await;
    let unseen = server.token_of("ada@example.com", "correct horse").await;
    assert_eq!(server.guard("guard", &known).await.status, StatusCode::OK);
    let checks = || server.doorward.work_done().signature_checks;
    let before = checks();
    let wrong = async |token: &str| {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        for number in 0..20 {
            let forged = format!("{signed}.{number:04x}{}", &signature[4..]);
            assert_eq!(server.guard("guard", &forged).await.status_and_body(), REFUSED);
        }
    };
    wrong(&seen).await;
    assert_eq!(checks() - before, 10);
    // Other sessions and cached tokens are not affected.
    assert_eq!(server.guard("guard", &unseen).await.status, StatusCode::OK);
    wrong(&known).await;
    assert_eq!(server.guard("guard", &known).await.status, StatusCode::OK);
    // The genuine token is refused unchecked for the rest of the minute.
    assert_eq!(server.guard("guard", &seen).await.status_and_body(), REFUSED);
    server.let_pass(std::time::Duration::from_secs(60));
    assert_eq!(server.guard("guard", &seen).await.status, StatusCode::OK);
}
