use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use doorward::internals::{Internals, store::Effects};
use serde_json::json;

use crate::support::{Member, NOW, TestServer, UNAUTHORIZED};

const PASSED_GUARD: (u16, &str) = (200, r#""You are authenticated.""#);
const PASSED_MILES: (u16, &str) = (200, r#""You are Miles Davis.""#);
const REFUSED: (u16, &str) = (401, UNAUTHORIZED);

const NO_CODE: &str = r#"Bearer realm="doorward""#;
const INVALID: &str = r#"Bearer realm="doorward", error="invalid_token""#;
const INSUFFICIENT: &str = r#"Bearer realm="doorward", error="insufficient_scope""#;

#[tokio::test]
async fn every_guard_answers_every_kind_of_caller_as_its_policy_says() {
    let server = TestServer::open().await;
    let miles = server.register("miles DAVIS", "miles@example.com").await.token;
    let ada = server.register("Ada", "ada@example.com").await.token;
    let deleted = server.register("Miles Davis", "gone@example.com").await;
    server
        .doorward
        .store()
        .delete_user(deleted.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    let ended = server.register("Miles Davis", "ended@example.com").await;
    server
        .doorward
        .store()
        .end_sessions(ended.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    let other_server =
        TestServer::open().await.register("Miles Davis", "miles@example.com").await.token;

    let bearer = |token: &str| vec![format!("Bearer {token}")];
    let callers: Vec<(&str, Vec<String>, &str, &str)> = vec![
        ("the designated user", bearer(&miles), "", ""),
        ("the designated user, bearer", vec![format!("bearer {miles}")], "", ""),
        ("another user", bearer(&ada), "", INSUFFICIENT),
        ("nobody", vec![], NO_CODE, NO_CODE),
        ("another scheme", vec![format!("Basic {miles}")], NO_CODE, NO_CODE),
        ("no scheme", vec![miles.clone()], NO_CODE, NO_CODE),
        ("an empty token", bearer(""), INVALID, INVALID),
        ("a garbled token", bearer(&miles.replace('.', "-")), INVALID, INVALID),
        ("a token and more", bearer(&format!("{miles} {miles}")), INVALID, INVALID),
        ("a comma", bearer(&format!("{miles},")), INVALID, INVALID),
        ("two headers", [bearer(&miles), bearer(&miles)].concat(), INVALID, INVALID),
        ("a deleted user", bearer(&deleted.token), INVALID, INVALID),
        ("an ended session", bearer(&ended.token), INVALID, INVALID),
        ("a token of another server", bearer(&other_server), INVALID, INVALID),
    ];
    for (caller, authorization, guard_challenge, miles_challenge) in callers {
        let authorization: Vec<_> = authorization.iter().map(String::as_str).collect();
        for (path, passed, challenge) in [
            ("/api/auth/guard", PASSED_GUARD, guard_challenge),
            ("/api/auth/miles", PASSED_MILES, miles_challenge),
        ] {
            for method in [Method::GET, Method::POST, Method::OPTIONS, Method::DELETE] {
                let answer = server.request(method.clone(), path, &authorization).await;
                let expected = if challenge.is_empty() { passed } else { REFUSED };
                assert_eq!(answer.status_and_body(), expected, "{method} {path} by {caller}");
                assert_eq!(
                    answer.header(header::WWW_AUTHENTICATE).unwrap_or_default(),
                    challenge,
                    "{method} {path} by {caller}"
                );
                assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
                assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"));
            }
        }
    }
}

#[tokio::test]
async fn a_token_is_read_from_the_authorization_header_alone() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let answer = server.get(&format!("/api/auth/guard?access_token={token}&token={token}")).await;
    assert_eq!(answer.status_and_body(), REFUSED);
    let request = axum::http::Request::post("/api/auth/guard")
        .header(header::COOKIE, format!("token={token}"))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(format!("access_token={token}").into())
        .unwrap();
    assert_eq!(server.send(request).await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_token_is_valid_until_its_last_second() {
    let server = TestServer::open_with(|s| s.with("token.lifetime", "1h")).await;
    let token = server.register("Ada", "ada@example.com").await.token;
    server.let_pass(Duration::from_secs(3599));
    assert_eq!(server.guard("guard", &token).await.status_and_body(), PASSED_GUARD);
    server.let_pass(Duration::from_secs(1));
    assert_eq!(
        server.guard("guard", &token).await.status_and_body(),
        REFUSED,
        "cached, but expired"
    );
}

#[tokio::test]
async fn name_and_segment_of_the_designated_guard_are_settings() {
    let server = TestServer::open_with(|settings| {
        settings.with("designated.name", "Ella Fitzgerald").with("designated.segment", "ella")
    })
    .await;
    let ella = server.register("ELLA fitzgerald", "ella@example.com").await.token;
    assert_eq!(
        server.guard("ella", &ella).await.status_and_body(),
        (200, r#""You are Ella Fitzgerald.""#)
    );
    assert_eq!(server.guard("miles", &ella).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn registering_the_address_of_a_deleted_user_creates_a_new_user() {
    let server = TestServer::open().await;
    let old = server.register("Ada", "ada@example.com").await;
    server
        .doorward
        .store()
        .delete_user(old.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    let new = server.register_with(json!({"name": "Ada", "email": "ada@example.com"})).await;
    assert_ne!(new.id, old.id);
    assert_eq!(server.guard("guard", &old.token).await.status_and_body(), REFUSED);
    assert_eq!(server.guard("guard", &new.token).await.status_and_body(), PASSED_GUARD);
}

#[tokio::test]
async fn the_designated_guard_judges_the_current_name() {
    let server = TestServer::open().await;
    let one = server.register("Miles Davis", "one@example.com").await;
    let other = server.register("Miles Davis", "other@example.com").await;
    let identity_headers = async |member: &Member| {
        let answer = server.guard("miles", &member.token).await;
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        ["x-auth-user-id", "x-auth-user-name", "x-auth-user-email", "x-request-id"].map(header)
    };
    let mut ids = Vec::new();
    for member in [&one, &one, &other, &one, &other, &other] {
        let email = if member.id == one.id { "one@example.com" } else { "other@example.com" };
        let [id, name, address, request_id] = identity_headers(member).await;
        assert_eq!([&*id, &*name, &*address], [&*member.id, "Miles Davis", email]);
        ids.push(request_id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "every answer has a unique id");

    let renamed = json!({"name": "MILES davis"});
    server.request_as(&other.token, "PATCH", "/api/me", renamed).await;
    assert_eq!(identity_headers(&other).await[1], "MILES davis");
}

#[tokio::test]
async fn an_admission_has_no_more_headers_than_a_cheap_copy_holds() {
    let server = TestServer::open().await;
    let miles = server.register("Miles Davis", "miles@example.com").await;
    for guard in ["guard", "miles"] {
        let answer = server.guard(guard, &miles.token).await;
        assert_eq!(answer.status, StatusCode::OK);
        // A tenth would cost every guard an eighth more instructions: see `admission`.
        assert_eq!(answer.headers.len(), 9, "{:?}", answer.headers);
        assert_eq!(answer.headers.iter().next().unwrap().0, "x-request-id");
    }
}
