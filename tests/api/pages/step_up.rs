//! Proving once more who one is: for the own account, and for an app.

use std::time::Duration;

use super::{
    Browser, PASSWORD,
    apps::{App, GUARDS, location, page_path, sealed},
    assert_goes_to, assert_shows, factors, has_script,
    mail::fields,
    server, server_with,
};
use crate::support::TestServer;

const EMAIL: &str = "ada@example.com";
const STEP_UP: &str = "/step-up";
const SECURITY: &str = "/step-up?next=%2Faccount%2Fsecurity";

fn let_pass_minutes(server: &TestServer, minutes: u64) {
    server.let_pass(Duration::from_secs(60 * minutes));
}

#[tokio::test]
async fn a_password_is_enough_for_those_who_hold_no_factor() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    // A sign-in that is not long ago is proof enough.
    assert_goes_to(&browser.get(SECURITY).await, "/account/security?done=confirmed");
    let_pass_minutes(&server, 11);
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["first confirm that it is you", &SECURITY.replace('&', "&#38;")]);
    assert!(!page.body.contains("href=\"/account/security/totp\""));
    for path in ["/account/security/totp", "/account/security/passkey", "/account/security/key"] {
        let way = format!("/step-up?next={}", path.replace('/', "%2F"));
        assert_goes_to(&browser.get(path).await, &way);
    }
    let page = browser.get(SECURITY).await;
    let shown = ["Please confirm that it is you", "You are signed in as ada@example.com."];
    assert_shows(&page, 200, &shown);
    let wrong = fields(&page, STEP_UP, &[("password", "wrong")]);
    let wrong = browser.post(STEP_UP, &wrong).await;
    assert_shows(&wrong, 400, &["This is not your current password."]);
    let right = fields(&wrong, STEP_UP, &[("password", PASSWORD)]);
    let done = browser.post(STEP_UP, &right).await;
    assert_goes_to(&done, "/account/security?done=confirmed");
    factors::assert_replaces_cookie(&done);
    let page = browser.get("/account/security?done=confirmed").await;
    assert_shows(&page, 200, &["It is you.", "href=\"/account/security/totp\""]);
}

#[tokio::test]
async fn the_password_is_followed_by_the_factor() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, codes) = factors::set_up(&mut browser).await;
    let_pass_minutes(&server, 11);
    let page = browser.get(SECURITY).await;
    assert!(!page.body.contains("one-time-code"), "a code alone proves nothing");
    let password = fields(&page, STEP_UP, &[("password", PASSWORD)]);
    let page = browser.post(STEP_UP, &password).await;
    assert_shows(&page, 200, &["one-time-code", "Use a recovery code"]);
    assert!(!page.body.contains("name=\"trust\""), "trust is for sign-ins");
    let wrong = browser.post(STEP_UP, &fields(&page, STEP_UP, &[("code", "000000")])).await;
    assert_shows(&wrong, 400, &["This code is wrong."]);
    let code = app.code(&server);
    let done = browser.post(STEP_UP, &fields(&wrong, STEP_UP, &[("code", &code)])).await;
    assert_goes_to(&done, "/account/security?done=confirmed");
    assert!(browser.is_signed_in().await);

    // With a recovery code, which is replaced.
    let_pass_minutes(&server, 11);
    let page = browser.post(STEP_UP, &password).await;
    let challenge = super::hidden(&page, "challenge");
    let recovery = [
        ("challenge", &*challenge),
        ("recovery", "1"),
        ("code", &codes[0]),
        ("next", "/account/security"),
    ];
    let page = browser.post(STEP_UP, &recovery).await;
    assert_shows(&page, 200, &["Your new recovery code", "/account/security?done=confirmed"]);
    // Nobody else can answer.
    assert_goes_to(&Browser::new(&server).post(STEP_UP, &recovery).await, "/sign-in");
}

#[tokio::test]
async fn changes_of_the_account_need_a_proof_that_is_not_long_ago() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    factors::set_up(&mut browser).await;
    let_pass_minutes(&server, 11);
    let way = "/step-up?next=%2Faccount";
    assert_goes_to(&browser.get("/account/export").await, way);
    for (path, typed) in [
        ("/account/email", vec![("email", "augusta@example.com"), ("password", PASSWORD)]),
        ("/account/password", vec![("current", PASSWORD), ("new", "battery staple")]),
        ("/account/delete", vec![("password", PASSWORD)]),
    ] {
        assert_goes_to(&browser.post(path, &typed).await, way);
    }
    let way = "/step-up?next=%2Faccount%2Fsecurity";
    for path in ["/account/security/totp/remove", "/account/security/codes"] {
        assert_goes_to(&browser.post(path, &[]).await, way);
    }
    assert_shows(&browser.get("/account?done=confirmed").await, 200, &["It is you."]);
}

#[tokio::test]
async fn an_app_says_what_it_asks_for_and_gets_the_person_back() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut site = App::new(&server);
    let target = sealed(page_path(&site.get("/numbers").await)).to_owned();
    let path = |ask: &str| format!("/step-up?ask={ask}&for={target}");
    // Somebody who is not signed in does that.
    let anonymous = Browser::new(&server).get(&path("two")).await;
    assert_goes_to(&anonymous, &format!("/sign-in?for={target}"));
    // Whoever holds no factor sets one up.
    let way = format!("/account/security?for={target}");
    assert_goes_to(&browser.get(&path("two")).await, &way);
    assert_shows(&browser.get(&way).await, 200, &["Reports asks for a second factor."]);
    let page = browser.get(&format!("/account/security/totp?for={target}")).await;
    assert_shows(&page, 200, &[&format!("name=\"for\" value=\"{target}\"")]);

    let (app, _) = factors::set_up(&mut browser).await;
    // A passkey cannot be asked for.
    assert_goes_to(&browser.get(&path("phr")).await, &way);
    let_pass_minutes(&server, 2);
    let page = browser.get(&path("two")).await;
    assert_shows(&page, 200, &["Reports asks for your second factor", "one-time-code"]);
    assert!(!has_script(&page));
    assert_shows(&browser.get(&path("again")).await, 200, &["Reports asks you to confirm"]);
    let code = app.code(&server);
    let done = browser.post(STEP_UP, &fields(&page, STEP_UP, &[("code", &code)])).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
    let done = site.follow(&done).await;
    assert_eq!(location(&done), "https://app.example.com/numbers");
    assert_eq!(site.follow(&done).await.status, 200);
    // What was proved a moment ago is not asked for again.
    let again = browser.get(&path("two")).await;
    assert!(location(&again).starts_with("https://app.example.com/.doorward/in?code="));
}

#[tokio::test]
async fn only_pages_of_a_list_are_returned_to() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    for next in ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2Fsign-out", "", "account"] {
        let answer = browser.get(&format!("/step-up?next={next}")).await;
        assert_goes_to(&answer, "/account");
    }
}
