//! Creating an account on the pages.

use std::time::Duration;

use axum::http::header;
use doorward::Settings;

use super::{Browser, PUBLIC, assert_goes_to, assert_shows, server};
use crate::support::TestServer;

#[tokio::test]
async fn a_person_signs_up_and_is_signed_in() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    assert_shows(&browser.get("/sign-up").await, 200, &["Create an account", "new-password"]);
    let fields = [("name", " Ada "), ("email", "ada@example.com"), ("password", "correct horse")];
    let answer = browser.post("/sign-up", &fields).await;
    assert_goes_to(&answer, "/account");
    assert!(!answer.set_cookies()[0].contains("Max-Age"));
    assert_shows(&browser.get("/account").await, 200, &["Ada", "ada@example.com"]);
    assert_eq!(server.login("ada@example.com", "correct horse").await.status, 200);
    // The form that was sent twice, by a double click.
    let answer = browser.post("/sign-up", &fields).await;
    assert_goes_to(&answer, "/account");
    assert!(browser.is_signed_in().await);
    let other = [("name", "Eve"), ("email", "ADA@example.com"), ("password", "another one")];
    let mut browser = Browser::new(&server);
    let answer = browser.post("/sign-up", &other).await;
    let button = "<button class=\"link\" form=\"sign-in-with\">Sign in with it</button>";
    assert_shows(&answer, 409, &["This address already has an account.", button]);
    assert_eq!(answer.body.matches("already has an account").count(), 1);
    assert!(!browser.is_signed_in().await);
    let sent = [("prefill", "1"), ("email", "ADA@example.com")];
    let page = browser.post("/sign-in", &sent).await;
    assert_shows(&page, 200, &["value=\"ADA@example.com\"", "<title>Sign in"]);
}

#[tokio::test]
async fn all_faults_are_shown_at_once_and_only_the_password_is_forgotten() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    let answer = browser.post("/sign-up", &[]).await;
    assert_shows(&answer, 400, &["name-fault", "email-fault", "password-fault"]);
    let fields = [("name", "x"), ("email", "nobody"), ("password", "short"), ("stay", "1")];
    let answer = browser.post("/sign-up", &fields).await;
    let faults = [
        "Use at least 2 characters.",
        "Enter an e-mail address",
        "Use at least 8 characters.",
        "value=\"x\"",
        "value=\"nobody\"",
        "checked",
    ];
    assert_shows(&answer, 400, &faults);
    assert!(!answer.body.contains("value=\"short\""));
    assert!(answer.set_cookies().is_empty());
}

#[tokio::test]
async fn common_passwords_and_own_names_are_refused_at_the_field() {
    let change = |settings: Settings| {
        settings.with("public_url", PUBLIC).with("password.refuse_common", true)
    };
    let server = TestServer::open_with(change).await;
    let mut browser = Browser::new(&server);
    for (password, fault) in [
        ("password1", "Many people use this password."),
        ("ada@example.com", "The password must not be your name or e-mail address."),
    ] {
        let fields = [("name", "Ada"), ("email", "ada@example.com"), ("password", password)];
        assert_shows(&browser.post("/sign-up", &fields).await, 400, &[fault, "password-fault"]);
    }
}

#[tokio::test]
async fn staying_signed_in_is_possible_from_the_start() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    let fields = [
        ("name", "Ada"),
        ("email", "ada@example.com"),
        ("password", "correct horse"),
        ("stay", "1"),
    ];
    let answer = browser.post("/sign-up", &fields).await;
    assert!(answer.set_cookies()[0].ends_with("; Max-Age=2592000"));
    server.let_pass(Duration::from_secs(20 * 24 * 60 * 60));
    assert!(browser.is_signed_in().await);
}

#[tokio::test]
async fn a_network_with_too_many_sign_ups_is_told_when_to_come_back() {
    let server = TestServer::open_with(|settings| {
        settings.with("public_url", PUBLIC).with("throttle.network_sign_ups", 5)
    })
    .await;
    let mut browser = Browser::new(&server);
    let mut send = async |number: usize| {
        let email = format!("ada{number}@example.com");
        let fields = [("name", "Ada"), ("email", &*email), ("password", "correct horse")];
        browser.post("/sign-up", &fields).await
    };
    let mut answer = send(0).await;
    for number in 1.. {
        if answer.status != 303 {
            break;
        }
        answer = send(number).await;
    }
    assert_shows(&answer, 429, &["There were too many attempts.", "@example.com"]);
    assert!(answer.header(header::RETRY_AFTER).is_some());
}

#[tokio::test]
async fn a_second_account_replaces_the_session_of_the_first() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut copy = Browser { cookies: browser.cookies.clone(), ..Browser::new(&server) };
    assert_shows(&browser.get("/sign-up").await, 200, &["Create an account"]);
    let fields = [("name", "Eve"), ("email", "eve@example.com"), ("password", "correct horse")];
    assert_goes_to(&browser.post("/sign-up", &fields).await, "/account");
    assert_shows(&browser.get("/account").await, 200, &["eve@example.com"]);
    assert!(!copy.is_signed_in().await);
}
