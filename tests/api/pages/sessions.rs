//! The sessions of browsers are sessions like any other.

use axum::http::header;
use serde_json::Value;

use super::{Browser, PASSWORD, assert_goes_to, assert_shows, server};

#[tokio::test]
async fn the_session_of_a_browser_is_listed_and_ended_by_the_api() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let token = server.token_of("ada@example.com", PASSWORD).await;
    let sessions = server.request_as(&token, "GET", "/api/sessions", Value::Null).await.json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let of_browser = sessions.iter().find(|session| session["current"] == false).unwrap();
    assert!(of_browser["userAgent"].as_str().unwrap().contains("Firefox"));
    let path = format!("/api/sessions/{}", of_browser["id"].as_str().unwrap());
    assert_eq!(server.request_as(&token, "DELETE", &path, Value::Null).await.status, 204);
    assert!(!browser.is_signed_in().await);
}

#[tokio::test]
async fn a_person_ends_another_session_and_then_their_own() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let token = server.token_of("ada@example.com", PASSWORD).await;
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["Firefox", "Linux", "just now", "127.0.0.1", "This device"]);
    let sessions = server.request_as(&token, "GET", "/api/sessions", Value::Null).await.json();
    let id = |current: bool| {
        let mut all = sessions.as_array().unwrap().iter();
        let session = all.find(|session| session["current"] == current).unwrap();
        session["id"].as_str().unwrap().to_owned()
    };
    let (of_token, of_browser) = (id(true), id(false));
    assert!(page.body.contains(&of_token), "it can be ended");
    assert!(!page.body.contains(&of_browser), "this one is ended by signing out");
    // The second click finds it ended.
    for session in [&*of_token, &of_token, "nonsense", ""] {
        let answer = browser.post("/account/sessions/end", &[("session", session)]).await;
        assert_goes_to(&answer, "/account?done=session");
    }
    let page = browser.get("/account?done=session").await;
    assert_shows(&page, 200, &["The session has ended.", "on this device only"]);
    assert_eq!(server.request_as(&token, "GET", "/api/me", Value::Null).await.status, 401);
    let answer = browser.post("/account/sessions/end", &[("session", &of_browser)]).await;
    assert_goes_to(&answer, "/sign-in?signed-out=1");
    assert!(browser.cookies.is_empty());
}

#[tokio::test]
async fn nobody_ends_the_session_of_another_person() {
    let server = server().await;
    let mut ada = Browser::of(&server, "Ada", "ada@example.com").await;
    let eve = server.register("Eve", "eve@example.com").await;
    let sessions = server.request_as(&eve.token, "GET", "/api/sessions", Value::Null).await.json();
    let id = sessions[0]["id"].as_str().unwrap();
    ada.post("/account/sessions/end", &[("session", id)]).await;
    assert_eq!(server.request_as(&eve.token, "GET", "/api/me", Value::Null).await.status, 200);
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut other = Browser::new(&server);
    other.sign_in("ada@example.com").await;
    let token = server.token_of("ada@example.com", PASSWORD).await;
    let answer = browser.post("/account/sign-out-everywhere", &[]).await;
    assert_goes_to(&answer, "/sign-in?signed-out=everywhere");
    let page = browser.get("/sign-in?signed-out=everywhere").await;
    assert_shows(&page, 200, &["You are signed out on every device."]);
    assert!(!other.is_signed_in().await);
    assert_eq!(server.request_as(&token, "GET", "/api/me", Value::Null).await.status, 401);
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
}

#[tokio::test]
async fn a_long_list_of_sessions_shows_this_one_and_those_used_last() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    for _ in 0..30 {
        server.let_pass(std::time::Duration::from_secs(60));
        server.token_of("ada@example.com", PASSWORD).await;
    }
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["This device", "And 25 more, used longer ago."]);
    assert_eq!(page.body.matches("name=\"session\"").count(), 5);
    assert!(page.body.len() <= 20_000, "{}", page.body.len());
}
