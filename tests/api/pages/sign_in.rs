//! Signing in and out on the pages, and the session cookie.

use std::time::Duration;

use axum::{body::Body, http::header};
use doorward::{Settings, internals::Internals};
use serde_json::{Value, json};

use super::{Browser, COOKIE, PASSWORD, PUBLIC, assert_goes_to, assert_shows, server};
use crate::support::TestServer;

const MISMATCH: &str = "E-mail address and password do not match.";

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let server = server().await;
    server.register("Ada Lovelace", "ada@example.com").await;
    let mut browser = Browser::new(&server);
    assert_goes_to(&browser.get("/").await, "/sign-in");
    assert_shows(&browser.get("/sign-in").await, 200, &["<h1", "Sign in", "current-password"]);
    let answer = browser.sign_in("ADA@example.com").await;
    assert_goes_to(&answer, "/account");
    let [cookie] = answer.set_cookies()[..] else { panic!("one cookie") };
    assert!(cookie.starts_with("__Host-doorward="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    assert_goes_to(&browser.get("/").await, "/account");
    assert_goes_to(&browser.get("/sign-in").await, "/account");
    assert_shows(&browser.get("/account").await, 200, &["Ada Lovelace", "ada@example.com"]);

    // A link only asks.
    assert_shows(&browser.get("/sign-out").await, 200, &["Sign out?"]);
    assert!(browser.is_signed_in().await);
    let cookies = browser.cookies.clone();
    let answer = browser.post("/sign-out", &[]).await;
    assert_goes_to(&answer, "/sign-in?signed-out=1");
    assert!(browser.cookies.is_empty());
    assert_shows(&browser.get("/sign-in?signed-out=1").await, 200, &["You are signed out."]);
    assert_goes_to(&browser.get("/sign-out").await, "/sign-in");
    // A second click does no harm, and the session is over although a copy of the cookie exists.
    assert_goes_to(&browser.post("/sign-out", &[]).await, "/sign-in?signed-out=1");
    browser.cookies = cookies;
    assert!(!browser.is_signed_in().await);
}

#[tokio::test]
async fn every_refusal_is_the_same_but_for_the_typed_address() {
    let server = server().await;
    server.register("Ada", "ada@example.com").await;
    let disabled = server.register("Dan", "dan@example.com").await;
    server.doorward.disable_user(disabled.id.parse().unwrap()).await.unwrap();
    let unset = serde_json::json!({"name": "Nora", "email": "noa@example.com"});
    server.register_with(unset).await;
    let mut bodies = Vec::new();
    for email in ["ada@example.com", "dan@example.com", "noa@example.com", "eve@example.com"] {
        let mut browser = Browser::new(&server);
        let fields = [("email", email), ("password", "battery staple"), ("stay", "1")];
        let answer = browser.post("/sign-in", &fields).await;
        assert_shows(&answer, 400, &[MISMATCH, email, "checked"]);
        assert!(!answer.body.contains("battery"), "the password is not repeated");
        assert_eq!(answer.set_cookies(), [""; 0]);
        // Each page has a challenge of its own for passkeys.
        let (start, rest) =
            answer.body.split_once("<input type=\"hidden\" name=\"challenge\"").unwrap();
        let (_, rest) = rest.split_once(",&#34;timeout").unwrap();
        bodies.push(format!("{start}{rest}").replace(email, "…"));
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn missing_fields_are_named_and_cost_no_attempt() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    let answer = browser.post("/sign-in", &[("email", ""), ("password", "")]).await;
    assert_shows(&answer, 400, &["email-fault", "password-fault", "Fill in this field."]);
    let answer = browser.post("/sign-in", &[("email", "a@b.co")]).await;
    assert_shows(&answer, 400, &["a@b.co", "password-fault"]);
    assert!(!answer.body.contains("email-fault"));
    assert!(!answer.body.contains(MISMATCH));
}

#[tokio::test]
async fn a_throttled_person_is_told_when_to_come_back() {
    let change = |settings: Settings| {
        settings
            .with("public_url", PUBLIC)
            .with("throttle.account_failures_per_network", 3)
            .with("throttle.network_recovery", "10m")
    };
    let server = TestServer::open_with(change).await;
    server.register("Ada", "ada@example.com").await;
    let mut browser = Browser::new(&server);
    let wrong = [("email", "ada@example.com"), ("password", "wrong")];
    for _ in 0..3 {
        assert_eq!(browser.post("/sign-in", &wrong).await.status, 400);
    }
    let answer = browser.post("/sign-in", &wrong).await;
    assert_shows(&answer, 429, &["There were too many attempts. Try again in "]);
    assert!(answer.body.contains("ada@example.com"), "what was typed stays");
    let wait: u64 = answer.header(header::RETRY_AFTER).unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
}

#[tokio::test]
async fn staying_signed_in_outlives_the_browser_and_idle_times() {
    let server = server().await;
    server.register("Ada", "ada@example.com").await;
    let (mut staying, mut other) = (Browser::new(&server), Browser::new(&server));
    let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("stay", "1")];
    let answer = staying.post("/sign-in", &fields).await;
    assert!(answer.set_cookies()[0].ends_with("; Max-Age=2592000"), "{:?}", answer.set_cookies());
    assert!(!other.sign_in("ada@example.com").await.set_cookies()[0].contains("Max-Age"));
    // A browser that is used stays signed in.
    for _ in 0..3 {
        server.let_pass(Duration::from_secs(11 * 60 * 60));
        assert!(other.is_signed_in().await);
    }
    server.let_pass(Duration::from_secs(13 * 60 * 60));
    assert!(!other.is_signed_in().await);
    assert!(staying.is_signed_in().await);
    server.let_pass(Duration::from_secs(30 * 24 * 60 * 60));
    assert!(!staying.is_signed_in().await);
}

#[tokio::test]
async fn the_idle_timeout_is_a_setting() {
    let change = |settings: Settings| {
        settings.with("public_url", PUBLIC).with("session.idle_timeout", "30m")
    };
    let server = TestServer::open_with(change).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    server.let_pass(Duration::from_secs(29 * 60));
    assert!(browser.is_signed_in().await);
    server.let_pass(Duration::from_secs(60 * 60));
    assert!(!browser.is_signed_in().await);
}

#[tokio::test]
async fn a_sign_in_ends_the_session_that_the_browser_had() {
    let server = server().await;
    server.register("Eve", "eve@example.com").await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    for email in ["ada@example.com", "eve@example.com"] {
        let mut copy = Browser { cookies: browser.cookies.clone(), ..Browser::new(&server) };
        assert!(copy.is_signed_in().await);
        // Only a person who wants to be somebody else gets the form.
        assert_goes_to(&browser.get("/sign-in").await, "/account");
        assert_shows(&browser.get("/sign-in?other=1").await, 200, &["current-password"]);
        assert_goes_to(&browser.sign_in(email).await, "/account");
        assert_ne!(browser.cookies, copy.cookies, "a new session");
        assert!(!copy.is_signed_in().await, "{email}");
        assert_shows(&browser.get("/account").await, 200, &[email]);
    }
    // A failed sign-in ends nothing.
    let wrong = [("email", "ada@example.com"), ("password", "wrong")];
    assert_eq!(browser.post("/sign-in", &wrong).await.status, 400);
    assert!(browser.is_signed_in().await);
}

#[tokio::test]
async fn a_cookie_whose_session_has_ended_is_explained_and_removed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let ada = server.token_of("ada@example.com", PASSWORD).await;
    server.request_as(&ada, "POST", "/api/auth/logout-everywhere", serde_json::Value::Null).await;
    assert_goes_to(&browser.get("/account").await, "/sign-in");
    let answer = browser.get("/sign-in").await;
    assert_shows(&answer, 200, &["Your session has ended. Sign in again."]);
    let removed = "__Host-doorward=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0";
    assert_eq!(answer.set_cookies(), [removed]);
    let answer = browser.get("/sign-in").await;
    assert!(!answer.body.contains("has ended"));
    for forged in ["nonsense", "", "AAAA.BBBB", &ada] {
        browser.cookies.insert(COOKIE.into(), forged.into());
        assert!(!browser.is_signed_in().await, "{forged}");
        browser.get("/sign-in").await;
        assert!(browser.cookies.is_empty(), "{forged}");
    }
}

#[tokio::test]
async fn a_disabled_or_deleted_user_is_signed_out_at_once() {
    let server = server().await;
    let mut ada = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut eve = Browser::of(&server, "Eve", "eve@example.com").await;
    server.order("PATCH", "ada@example.com", "", json!({"disabled": true})).await;
    server.order("DELETE", "eve@example.com", "", Value::Null).await;
    assert!(!ada.is_signed_in().await);
    assert!(!eve.is_signed_in().await);
    assert_shows(&ada.sign_in("ada@example.com").await, 400, &[MISMATCH]);
}

#[tokio::test]
async fn a_session_cookie_is_no_bearer_token_and_a_token_is_no_cookie() {
    let server = server().await;
    let browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let cookie = &browser.cookies[COOKIE];
    for path in ["/api/me", "/api/auth/guard", "/api/sessions"] {
        let bearer = server.request_as(cookie, "GET", path, serde_json::Value::Null).await;
        assert_eq!(bearer.status, 401, "{path}");
        // The JSON API does not read cookies.
        let request = browser.request("GET", path).body(Body::empty()).unwrap();
        assert_eq!(server.send(request).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_repeated_cookie_counts_as_none() {
    let server = server().await;
    let browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let twice = format!("{COOKIE}={}", browser.cookies[COOKIE]);
    let mut request = browser.request("GET", "/account").body(Body::empty()).unwrap();
    request.headers_mut().append(header::COOKIE, twice.parse().unwrap());
    assert_goes_to(&server.send(request).await, "/sign-in");
}

#[tokio::test]
async fn plain_http_works_on_loopback_hosts_only() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    let form = "email=ada%40example.com&password=correct+horse";
    for host in ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "auth.localhost"] {
        let mut browser = Browser { host, ..Browser::new(&server) };
        // Without Fetch Metadata, as older browsers on plain HTTP.
        let request = axum::http::Request::post("/sign-in")
            .header(header::HOST, host)
            .header(header::ORIGIN, format!("http://{host}"))
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = browser.send(request.body(Body::from(form)).unwrap()).await;
        assert_goes_to(&answer, "/account");
        let [cookie] = answer.set_cookies()[..] else { panic!("one cookie") };
        let name = server.doorward.cookies().names(false).session.clone();
        assert!(cookie.starts_with(&format!("{name}=")), "{cookie}");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        // A browser that asks for a page under another name of this machine is sent to the one of the site.
        match ["127.0.0.1:3000", "[::1]:3000"].contains(&host) {
            true => assert_goes_to(&browser.get("/?a=b").await, "http://localhost:3000/?a=b"),
            false => assert!(browser.is_signed_in().await, "{host}"),
        }
    }
    for host in ["192.0.2.7:3000", "auth.example.com", "localhost.example.com"] {
        let mut browser = Browser { host, ..Browser::new(&server) };
        for path in ["/", "/sign-in", "/account", "/refused/x"] {
            let answer = browser.get(path).await;
            assert_shows(&answer, 421, &["HTTPS is needed", "public_url"]);
        }
        assert_eq!(browser.sign_in("ada@example.com").await.status, 421);
        assert!(browser.cookies.is_empty());
    }
}
