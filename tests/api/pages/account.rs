//! The page of one's own account and its forms.

use std::time::Duration;

use axum::http::header;
use doorward::internals::{
    Internals,
    http::routes::{MayCall, Method, routes},
};
use serde_json::{Value, json};

use super::{Browser, PASSWORD, assert_goes_to, assert_shows, server};
use crate::support::TestServer;

#[tokio::test]
async fn without_a_session_every_page_of_the_account_leads_elsewhere() {
    let server = server().await;
    let (mut anonymous, mut refused) = (Browser::new(&server), 0);
    for route in routes().iter().filter(|route| route.is_page()) {
        let destination = match route.may_call {
            MayCall::Anyone => continue,
            MayCall::SignedIn => "/sign-in",
            MayCall::Inviter => "/account",
            // It tells those who are not signed in nothing, and those who return find it again.
            MayCall::Admin(_) | MayCall::Fresh(_) => continue,
            MayCall::Client | MayCall::Operator => panic!("a page for a program"),
        };
        let answer = match route.method {
            Method::Get => anonymous.get(route.path).await,
            _ => anonymous.post(route.path, &[("name", "Eve"), ("password", "x")]).await,
        };
        assert_goes_to(&answer, destination);
        refused += 1;
    }
    assert!(refused >= 12, "{refused}");
    for path in ["/sign-out", "/account/sign-out-everywhere"] {
        let location = anonymous.post(path, &[]).await.header(header::LOCATION).unwrap().to_owned();
        assert!(location.starts_with("/sign-in?signed-out="), "{path}: {location}");
    }
}

#[tokio::test]
async fn a_name_is_changed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let answer = browser.post("/account/name", &[("name", "Augusta Ada")]).await;
    assert_goes_to(&answer, "/account?done=name");
    let page = browser.get("/account?done=name").await;
    assert_shows(&page, 200, &["Your name is saved.", "Augusta Ada"]);
    let answer = browser.post("/account/name", &[("name", "x")]).await;
    assert_shows(&answer, 400, &["name-fault", "value=\"x\"", "Augusta Ada"]);
    assert_shows(&browser.post("/account/name", &[]).await, 400, &["Fill in this field."]);
}

#[tokio::test]
async fn an_address_is_changed_with_the_password() {
    let server = server().await;
    server.register("Eve", "eve@example.com").await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut send = async |email: &str, password: &str| {
        browser.post("/account/email", &[("email", email), ("password", password)]).await
    };
    let wrong = send("augusta@example.com", "wrong").await;
    assert_shows(&wrong, 400, &["This is not your current password.", "augusta@example.com"]);
    let taken = send("eve@example.com", PASSWORD).await;
    assert_shows(&taken, 409, &["This address already has an account.", "eve@example.com"]);
    assert_shows(&send("nobody", "").await, 400, &["email-fault", "email-password-fault"]);
    assert_goes_to(&send("augusta@example.com", PASSWORD).await, "/account?done=email");
    let page = browser.get("/account?done=email").await;
    assert_shows(&page, 200, &["Your e-mail address is saved.", "augusta@example.com"]);
}

#[tokio::test]
async fn a_password_is_changed_and_only_this_session_stays() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut other = Browser::new(&server);
    other.sign_in("ada@example.com").await;
    let mut send = async |current: &str, new: &str| {
        browser.post("/account/password", &[("current", current), ("new", new)]).await
    };
    let wrong = send("wrong", "battery staple").await;
    assert_shows(&wrong, 400, &["current-fault", "This is not your current password."]);
    assert!(!wrong.body.contains("battery"), "no password is repeated");
    assert_shows(&send(PASSWORD, "short").await, 400, &["new-fault"]);
    assert_shows(&send("", "").await, 400, &["current-fault", "new-fault"]);
    assert_goes_to(&send(PASSWORD, "battery staple").await, "/account?done=password");
    assert_shows(&browser.get("/account?done=password").await, 200, &["is changed"]);
    assert!(!other.is_signed_in().await);
    assert_eq!(server.login("ada@example.com", "battery staple").await.status, 200);
}

#[tokio::test]
async fn password_managers_find_the_form() {
    let server = server().await;
    let answer = Browser::new(&server).get("/.well-known/change-password").await;
    assert_goes_to(&answer, "/account#password");
    let page = Browser::of(&server, "Ada", "ada@example.com").await.get("/account").await;
    assert_shows(&page, 200, &["id=\"password\""]);
    for (path, autocomplete) in [("/sign-in", "current-password"), ("/sign-up", "new-password")] {
        let page = Browser::new(&server).get(path).await;
        let field =
            format!(r#"name="password" type="password" autocomplete="{autocomplete}" required"#);
        assert_shows(&page, 200, &[&field]);
    }
}

#[tokio::test]
async fn an_account_is_deleted_with_the_password() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let cookies = browser.cookies.clone();
    let stays = "the audit trail keeps ids, kinds and times of events for 398 days, but no name";
    assert_shows(&browser.get("/account").await, 200, &[stays]);
    let answer = browser.post("/account/delete", &[("password", "wrong")]).await;
    assert_shows(&answer, 400, &["This is not your current password."]);
    assert_shows(&browser.post("/account/delete", &[]).await, 400, &["Fill in this field."]);
    let answer = browser.post("/account/delete", &[("password", PASSWORD)]).await;
    assert_goes_to(&answer, "/account/deleted");
    assert!(browser.cookies.is_empty());
    let page = browser.get("/account/deleted").await;
    assert_shows(&page, 200, &["Your account is deleted", stays]);
    assert_eq!(server.login("ada@example.com", PASSWORD).await.status, 404);
    browser.cookies = cookies;
    assert!(!browser.is_signed_in().await);
    // Whoever has an account does not read that.
    let mut other = Browser::of(&server, "Eve", "eve@example.com").await;
    assert_goes_to(&other.get("/account/deleted").await, "/account");
    // The second click.
    let answer = browser.post("/account/delete", &[("password", PASSWORD)]).await;
    assert_goes_to(&answer, "/sign-in");
}

#[tokio::test]
async fn the_export_is_that_of_the_api_as_a_file() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let token = server.token_of("ada@example.com", PASSWORD).await;
    let of_api = server.request_as(&token, "GET", "/api/me/export", Value::Null).await.json();
    let answer = browser.post("/account/export", &[]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"));
    assert_eq!(
        answer.header(header::CONTENT_DISPOSITION),
        Some("attachment; filename=\"account.json\"")
    );
    let mut exported = answer.json();
    assert_eq!(exported["user"], of_api["user"]);
    assert_eq!(exported["knownNetworks"], of_api["knownNetworks"]);
    // Each marks its own session.
    for (session, other) in std::iter::zip(
        exported["sessions"].as_array_mut().unwrap(),
        of_api["sessions"].as_array().unwrap(),
    ) {
        session["current"] = json!(!session["current"].as_bool().unwrap());
        assert_eq!(session, other);
    }
}

#[tokio::test]
async fn a_person_without_a_password_leaves_soon_after_a_sign_in() {
    let server = TestServer::open_with(|s| s.with("public_url", super::PUBLIC)).await;
    let sign_up = async |email: &str| {
        let member = server.register_with(json!({"name": "Nora", "email": email})).await;
        let session = server.doorward.caller(&member.token).await.unwrap().session;
        let cookie = server.doorward.cookies().session_cookie(&session);
        let mut browser = Browser::new(&server);
        browser.cookies.insert(super::COOKIE.into(), cookie);
        browser
    };
    let mut browser = sign_up("nora@example.com").await;
    assert_shows(&browser.get("/account").await, 200, &["Your account has no password."]);
    server.let_pass(Duration::from_secs(11 * 60));
    let answer = browser.post("/account/delete", &[]).await;
    let way = "/step-up?next=%2Faccount%3Fopen%3Ddelete";
    assert_goes_to(&answer, way);
    // Nothing here could confirm it.
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["Your account has no password to confirm this with."]);
    // Neither a password nor a passkey: they sign in once more.
    let answer = browser.get(way).await;
    let shown = ["Your last sign-in is too long ago", r#"href="/sign-in?other=1""#];
    assert_shows(&answer, 200, &shown);

    let mut browser = sign_up("nora@example.org").await;
    let answer = browser.post("/account/delete", &[]).await;
    assert_goes_to(&answer, "/account/deleted");
    assert_eq!(answer.set_cookies().len(), 1);
}
