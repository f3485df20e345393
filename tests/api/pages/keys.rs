//! `/account/keys`: making a key after a fresh sign-in, using it, and revoking it.

use std::time::Duration;

use axum::http::Method;

use super::{Browser, PASSWORD, assert_goes_to, assert_shows, server, server_with};
use crate::support::REFUSED;

const GUARDS: &str = r#"
    [guards.calendar]
    allow = 'true'
    title = "Calendar"
    keys = true

    [guards.wiki]
    allow = 'true'
    title = "Wiki"
    keys = true

    [guards.photos]
    allow = 'true'
    title = "Photos"
"#;

/// The key on a page.
fn key_in(page: &str) -> String {
    let (_, rest) = page.split_once("<code>dw_pat_").expect("a new key");
    format!("dw_pat_{}", rest.split('<').next().unwrap())
}

#[tokio::test]
async fn a_person_makes_a_key_sees_it_once_and_revokes_it() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let security = browser.get("/account/security").await;
    assert_shows(&security, 200, &["API keys", "href=\"/account/keys\""]);
    let page = browser.get("/account/keys").await;
    assert_shows(&page, 200, &["Calendar", "Wiki", "You have no keys.", "90 days"]);
    assert!(!page.body.contains("Photos"), "takes no keys");

    let fields = [("name", "Phone & <co>"), ("guard", "calendar"), ("days", "30")];
    let page = browser.post("/account/keys", &fields).await;
    assert_shows(&page, 200, &["It is not shown again.", "Phone &#38; &#60;co&#62;", "Calendar"]);
    let key = key_in(&page.body);
    assert!(!browser.get("/account/keys").await.body.contains("dw_pat_"), "shown once");

    let pass = async |guard: &str| {
        let path = format!("/api/auth/{guard}");
        server.request(Method::GET, &path, &[&format!("Bearer {key}")]).await
    };
    assert_eq!(pass("calendar").await.status, 200);
    assert_eq!(pass("wiki").await.status_and_body(), REFUSED);

    let page = browser.get("/account/keys").await;
    assert_shows(&page, 200, &["used just now", "Revoke: Phone"]);
    let (_, rest) = page.body.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    let revoked = browser.post("/account/keys/revoke", &[("id", &id)]).await;
    assert_goes_to(&revoked, "/account/keys?done=revoked");
    let page = browser.get("/account/keys?done=revoked").await;
    assert_shows(&page, 200, &["The key is revoked.", "Revoked "]);
    assert!(!page.body.contains("Revoke: "), "there is nothing to revoke");
    assert_eq!(pass("calendar").await.status_and_body(), REFUSED);
    let again = browser.post("/account/keys/revoke", &[("id", &id)]).await;
    assert_goes_to(&again, "/account/keys?done=revoked");
}

#[tokio::test]
async fn whoever_has_signed_in_long_ago_confirms_first_and_returns() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    server.let_pass(Duration::from_secs(10 * 60));
    let page = browser.get("/account/keys").await;
    assert_shows(&page, 200, &["href=\"/step-up?next=%2Faccount%2Fkeys\""]);
    assert!(!page.body.contains("action=\"/account/keys\""));
    let fields = [("name", "Phone"), ("days", "90")];
    let answer = browser.post("/account/keys", &fields).await;
    assert_goes_to(&answer, "/step-up?next=%2Faccount%2Fkeys");
    let fields_of_step_up = [("password", PASSWORD), ("next", "/account/keys")];
    let answer = browser.post("/step-up", &fields_of_step_up).await;
    assert_goes_to(&answer, "/account/keys?done=confirmed");
    let page = browser.post("/account/keys", &fields).await;
    assert_shows(&page, 200, &["It is not shown again.", "Every app that takes keys"]);
}

#[tokio::test]
async fn a_refused_form_keeps_what_was_typed() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let page = browser.post("/account/keys", &[("name", "x"), ("days", "365")]).await;
    let texts = ["Use at least 2 characters.", "value=\"x\"", "value=\"365\" checked"];
    assert_shows(&page, 400, &texts);
    browser.language = "de";
    let page = browser.post("/account/keys", &[("days", "7")]).await;
    assert_shows(&page, 400, &["Füllen Sie dieses Feld aus.", "value=\"90\" checked"]);
}

#[tokio::test]
async fn where_no_app_takes_keys_nobody_is_led_to_the_page() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    assert!(!browser.get("/account/security").await.body.contains("/account/keys"));
    assert_shows(&browser.get("/account/keys").await, 200, &["No app here takes keys."]);
}
