use axum::http::{HeaderMap, StatusCode};
use doorward::internals::{Internals, credential::password::Cost};
use serde_json::json;

use crate::support::{Answer, NOT_FOUND, TestServer, malformed};

#[tokio::test]
async fn the_right_password_gets_a_token_and_nothing_else() {
    let server = TestServer::open().await;
    server.register("Ada", "Ada@example.com").await;
    for email in ["Ada@example.com", "ada@EXAMPLE.com"] {
        let answer = server.login(email, "correct horse").await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let body = answer.json();
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        assert_eq!(
            server.guard("guard", body["token"].as_str().unwrap()).await.status,
            StatusCode::OK
        );
    }
}

fn without_request_id(mut answer: Answer) -> (StatusCode, HeaderMap, String) {
    answer.headers.remove("x-request-id").expect("every answer has a request id");
    (answer.status, answer.headers, answer.body)
}

#[tokio::test]
async fn all_login_refusals_have_the_same_bytes() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    server.register_with(json!({"name": "Bob", "email": "bob@example.com"})).await;
    let unknown = without_request_id(server.login("nobody@example.com", "correct horse").await);
    assert_eq!((unknown.0.as_u16(), &*unknown.2), (404, NOT_FOUND));
    let others = [
        ("ada@example.com", "wrong horse"),
        ("ada@example.com", ""),
        ("ada@example.com", &"x".repeat(10_000)),
        ("bob@example.com", "correct horse"),
        ("bob@example.com", ""),
        ("no address at all", "correct horse"),
        ("", ""),
    ];
    for (email, password) in others {
        let answer = without_request_id(server.login(email, password).await);
        assert_eq!(answer, unknown, "{email:?} with {password:.10?}");
    }
}

#[tokio::test]
async fn missing_and_mistyped_fields_are_malformed() {
    let server = TestServer::open().await;
    let answer = server.post_text("/api/auth/login", "").await;
    let expected = malformed(r#"{"email":"Required","password":"Required"}"#);
    assert_eq!(answer.status_and_body(), (400, &*expected));
    let answer = server.post("/api/auth/login", &json!({"email": 1, "password": null})).await;
    let expected = malformed(
        r#"{"email":"Expected string, received number","password":"Expected string, received null"}"#,
    );
    assert_eq!(answer.status_and_body(), (400, &*expected));
}

#[tokio::test]
async fn too_many_failures_on_an_account_are_throttled_alike_whether_it_exists() {
    let server =
        TestServer::open_with(|s| s.with_cheap_passwords(Cost { memory_kib: 8, passes: 1 })).await;
    server.register("Ada", "ada@example.com").await;
    for email in ["ada@example.com", "nobody@example.com"] {
        let mut refusals = 0;
        let throttled = loop {
            let answer = server.login(email, "wrong horse").await;
            if answer.status != StatusCode::NOT_FOUND {
                break answer;
            }
            refusals += 1;
        };
        assert_eq!(refusals, 100, "{email}");
        assert_eq!(
            throttled.status_and_body(),
            (429, r#"{"message":"Too many attempts. Please try again later."}"#)
        );
        let wait: u64 = throttled.header("retry-after").unwrap().parse().unwrap();
        assert!((80_000..=24 * 60 * 60).contains(&wait), "{wait}");
    }
    let answer = server.register("Bob", "bob@example.com").await;
    assert_eq!(server.guard("guard", &answer.token).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_login_renews_a_hash_that_was_made_at_another_cost() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    let id = member.id.parse().unwrap();
    let before = server.doorward.store().user_by_id(id).await.unwrap().unwrap();
    assert!(before.password_hash().unwrap().as_phc().contains("m=64,t=1"));

    let stronger =
        |s: doorward::Settings| s.with_cheap_passwords(Cost { memory_kib: 128, passes: 2 });
    let server = TestServer::reopen(server.close(), stronger).await;
    for _ in 0..2 {
        assert_eq!(server.login("ada@example.com", "correct horse").await.status, StatusCode::OK);
        let after = server.doorward.store().user_by_id(id).await.unwrap().unwrap();
        assert!(after.password_hash().unwrap().as_phc().contains("m=128,t=2"));
    }
}
