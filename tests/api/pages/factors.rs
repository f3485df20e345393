//! Authenticator apps, recovery codes and trusted browsers on the pages.

use std::time::Duration;

use axum::http::header;
use doorward::internals::token::one_time::Purpose;
use serde_json::Value;

use super::{
    Browser, PASSWORD, PUBLIC,
    apps::{App as SiteApp, GUARDS, location, page_path, sealed},
    assert_goes_to, assert_shows, has_script, hidden,
    mail::{fields, mailed},
    server, server_with,
};
use crate::{
    factors::totp_code,
    support::{Answer, TestServer, with_mail},
};

const EMAIL: &str = "ada@example.com";
const WRONG: &str = "This code is wrong. The app shows a new one every 30 seconds.";
const USED: &str = "This code was used already. Wait for the next one.";

/// The app on a person's phone.
pub struct App {
    secret: String,
}

impl App {
    /// The code that it shows.
    pub fn code(&self, server: &TestServer) -> String {
        totp_code(&self.secret, server.now().seconds())
    }
}

/// The session has proved more, so its cookie is replaced.
#[track_caller]
pub fn assert_replaces_cookie(answer: &Answer) {
    let [cookie] = answer.set_cookies()[..] else { panic!("one cookie") };
    assert!(cookie.starts_with("__Host-doorward="), "{cookie}");
}

fn recovery_codes(page: &Answer) -> Vec<String> {
    let after = page.body.split("<code>").skip(1);
    after.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

/// Sets an app up, and returns it with the recovery codes.
pub async fn set_up(browser: &mut Browser<'_>) -> (App, Vec<String>) {
    let page = browser.get("/account/security/totp").await;
    assert_shows(&page, 200, &["<svg width=\"240\"", "href=\"otpauth://totp/"]);
    let (_, rest) = page.body.split_once("<code>").unwrap();
    let app = App { secret: rest.split('<').next().unwrap().replace(' ', "") };
    let setup = hidden(&page, "setup");
    let code = app.code(browser.server);
    let page = browser.post("/account/security/totp", &[("setup", &setup), ("code", &code)]).await;
    assert_shows(&page, 200, &["Your recovery codes", "download=\"recovery-codes.txt\""]);
    assert_replaces_cookie(&page);
    let codes = recovery_codes(&page);
    assert_eq!(codes.len(), 8);
    // The code has been used.
    browser.server.let_pass(Duration::from_secs(30));
    (app, codes)
}

/// The page that asks for the second factor.
async fn asked(browser: &mut Browser<'_>) -> Answer {
    let page = browser.sign_in(EMAIL).await;
    assert_shows(&page, 200, &["Confirm that it is you", "one-time-code"]);
    assert!(page.set_cookies().is_empty(), "not signed in yet");
    page
}

async fn answer(browser: &mut Browser<'_>, page: &Answer, code: &str) -> Answer {
    let challenge = hidden(page, "challenge");
    browser.post("/sign-in/factor", &[("challenge", &challenge), ("code", code)]).await
}

#[tokio::test]
async fn an_app_is_set_up_and_asked_for() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    assert_shows(&browser.get("/account").await, 200, &["href=\"/account/security\""]);
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["You have not set up an app.", "href=\"/account/security/totp\""]);
    let (app, _) = set_up(&mut browser).await;
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["added just now, not used yet", "8 of 8 codes are left."]);
    assert_goes_to(&browser.get("/account/security/totp").await, "/account/security");

    let mut other = Browser::new(&server);
    let page = asked(&mut other).await;
    assert!(!has_script(&page), "no passkey can answer");
    for wrong in ["000000", "", "abc", "123 456 789"] {
        let again = answer(&mut other, &page, wrong).await;
        assert_eq!(again.status, 400);
        assert_eq!(hidden(&again, "challenge"), hidden(&page, "challenge"), "the same challenge");
        let said = if wrong.is_empty() { "Fill in this field." } else { WRONG };
        assert_shows(&again, 400, &[said]);
        assert!(!other.is_signed_in().await);
    }
    let code = app.code(&server);
    assert_goes_to(&answer(&mut other, &page, &code).await, "/account");
    assert!(other.is_signed_in().await);
    // A code counts once, and so does a challenge.
    let mut third = Browser::new(&server);
    let page = asked(&mut third).await;
    assert_shows(&answer(&mut third, &page, &code).await, 400, &[USED]);
}

#[tokio::test]
async fn a_factor_that_comes_too_late_leads_back_to_the_sign_in_page() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = set_up(&mut browser).await;
    let mut other = Browser::new(&server);
    let page = asked(&mut other).await;
    server.let_pass(Duration::from_secs(11 * 60));
    let late = answer(&mut other, &page, &app.code(&server)).await;
    assert_goes_to(&late, "/sign-in?done=expired");
    let page = other.get("/sign-in?done=expired").await;
    assert_shows(&page, 200, &["That took too long. Please sign in again."]);
    for forged in ["", "x", "AAAA.BBBB"] {
        let fields = [("challenge", forged), ("code", "123456")];
        assert_goes_to(&other.post("/sign-in/factor", &fields).await, "/sign-in?done=expired");
    }
}

#[tokio::test]
async fn a_recovery_code_stands_in_once_and_is_replaced() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (_, codes) = set_up(&mut browser).await;
    let mut other = Browser::new(&server);
    let page = asked(&mut other).await;
    assert_shows(&page, 200, &["<details", "Use a recovery code"]);
    let challenge = hidden(&page, "challenge");
    let mut send = async |code: &str| {
        let fields = [("challenge", &*challenge), ("recovery", "1"), ("code", code)];
        other.post("/sign-in/factor", &fields).await
    };
    let wrong = send("00000-00000-00000-00000-00000").await;
    assert_shows(&wrong, 400, &["recovery-fault", "<details class=\"decision\" open>"]);
    let used = send(&codes[0].to_lowercase().replace('-', " ")).await;
    let shown = [
        "Your new recovery code",
        "<a class=\"button\" href=\"/account/security?done=recovered\">Replace what you lost</a>",
        "<a class=\"button quiet\" href=\"/account\">",
    ];
    assert_shows(&used, 200, &shown);
    let [new] = &recovery_codes(&used)[..] else { panic!("one code") };
    assert!(!codes.contains(new));
    assert!(other.is_signed_in().await);
    let page = other.get("/account/security?done=recovered").await;
    let shown = ["You used a recovery code.", "/account/security/totp/remove"];
    assert_shows(&page, 200, &shown);
    let mut third = Browser::new(&server);
    for (code, status) in [(&codes[0], 400), (new, 200)] {
        let page = asked(&mut third).await;
        let challenge = hidden(&page, "challenge");
        let fields = [("challenge", &*challenge), ("recovery", "1"), ("code", code)];
        assert_eq!(third.post("/sign-in/factor", &fields).await.status, status);
    }
}

#[tokio::test]
async fn new_recovery_codes_replace_all_others() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    assert_goes_to(&browser.post("/account/security/codes", &[]).await, "/account/security");
    let (_, old) = set_up(&mut browser).await;
    let page = browser.post("/account/security/codes", &[]).await;
    assert_shows(&page, 200, &["Your recovery codes", "href=\"/account/security\""]);
    let new = recovery_codes(&page);
    assert_eq!(new.len(), 8);
    let mut other = Browser::new(&server);
    for (code, status) in [(&old[3], 400), (&new[3], 200)] {
        let page = asked(&mut other).await;
        let challenge = hidden(&page, "challenge");
        let fields = [("challenge", &*challenge), ("recovery", "1"), ("code", code)];
        assert_eq!(other.post("/sign-in/factor", &fields).await.status, status);
    }
}

#[tokio::test]
async fn a_trusted_browser_needs_the_password_only_until_it_is_removed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = set_up(&mut browser).await;
    let mut other = Browser::new(&server);
    let page = asked(&mut other).await;
    let (challenge, code) = (hidden(&page, "challenge"), app.code(&server));
    let fields = [("challenge", &*challenge), ("code", &*code), ("trust", "1")];
    let done = other.post("/sign-in/factor", &fields).await;
    assert_goes_to(&done, "/account");
    let device = done.set_cookies()[1];
    assert!(device.starts_with("__Host-doorward-device="), "{device}");
    assert!(device.ends_with("; HttpOnly; SameSite=Lax; Secure; Max-Age=2592000"), "{device}");
    other.post("/sign-out", &[]).await;
    assert_goes_to(&other.sign_in(EMAIL).await, "/account");
    // It stands in for the factor at sign-in, and not where the account itself is at stake.
    let refused = other.post("/account/security/totp/remove", &[]).await;
    assert_goes_to(&refused, "/step-up?next=%2Faccount%2Fsecurity");
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["Firefox on Linux", "127.0.0.1"]);
    let (_, rest) = page.body.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap();
    let removed = browser.post("/account/security/devices/remove", &[("id", id)]).await;
    assert_goes_to(&removed, "/account/security?done=device");
    other.post("/sign-out", &[]).await;
    asked(&mut other).await;
}

#[tokio::test]
async fn staying_signed_in_is_kept_across_the_second_factor() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = set_up(&mut browser).await;
    for (stay, max_age) in [("1", true), ("", false)] {
        let mut other = Browser::new(&server);
        let fields = [("email", EMAIL), ("password", PASSWORD), ("stay", stay)];
        let page = other.post("/sign-in", &fields).await;
        let done = answer(&mut other, &page, &app.code(&server)).await;
        assert_eq!(done.set_cookies()[0].contains("Max-Age"), max_age, "{:?}", done.set_cookies());
        server.let_pass(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn a_mailed_code_is_followed_by_the_second_factor() {
    let server = TestServer::open_with(|settings| {
        with_mail(settings).with("public_url", PUBLIC).with("sign_in.mail_code", "everybody")
    })
    .await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mail = mailed(&server, EMAIL, Purpose::VerifyEmail).await;
    let page = browser.get(&mail.path).await;
    browser.post("/verify", &fields(&page, "/verify", &[])).await;
    let (app, _) = set_up(&mut browser).await;
    let (mut other, action) = (Browser::new(&server), "/sign-in/code/use");
    for types in [true, false] {
        let typing = other.post("/sign-in/code", &[("email", EMAIL)]).await;
        let mail = mailed(&server, EMAIL, Purpose::SignIn).await;
        let opened = other.get(&mail.path).await;
        let used = match types {
            true => fields(&typing, action, &[("code", &mail.code)]),
            false => fields(&opened, action, &[]),
        };
        let page = other.post(action, &used).await;
        assert_shows(&page, 200, &["Confirm that it is you"]);
        assert!(!other.is_signed_in().await);
        // The mail is used up, whether or not the factor follows.
        let again = Browser::new(&server).post(action, &used).await;
        assert_eq!(again.status, if types { 400 } else { 410 });
        assert_goes_to(&answer(&mut other, &page, &app.code(&server)).await, "/account");
        other.post("/sign-out", &[]).await;
        server.let_pass(Duration::from_secs(30));
    }
}

#[tokio::test]
async fn a_person_on_the_way_to_an_app_gives_the_factor_and_goes_on() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = set_up(&mut browser).await;
    let (mut site, mut other) = (SiteApp::new(&server), Browser::new(&server));
    let sent = site.get("/numbers?year=2026").await;
    let path = page_path(&sent).to_owned();
    let typed = [("email", EMAIL), ("password", PASSWORD), ("for", sealed(&path))];
    let page = other.post("/sign-in", &typed).await;
    assert_shows(&page, 200, &["Confirm that it is you", sealed(&path)]);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains("; form-action 'self' https://app.example.com; "), "{policy}");
    let action = "/sign-in/factor";
    let wrong = other.post(action, &fields(&page, action, &[("code", "000000")])).await;
    assert_shows(&wrong, 400, &[WRONG, sealed(&path)]);
    let code = app.code(&server);
    let done = other.post(action, &fields(&wrong, action, &[("code", &code)])).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
    let done = site.follow(&done).await;
    assert_eq!(location(&done), "https://app.example.com/numbers?year=2026");
}

#[tokio::test]
async fn a_recovery_code_on_the_way_to_an_app_leads_to_what_was_lost_and_then_to_the_app() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (_, codes) = set_up(&mut browser).await;
    let (mut site, mut other) = (SiteApp::new(&server), Browser::new(&server));
    let path = page_path(&site.get("/numbers").await).to_owned();
    let typed = [("email", EMAIL), ("password", PASSWORD), ("for", sealed(&path))];
    let page = other.post("/sign-in", &typed).await;
    let action = "/sign-in/factor";
    let recovery = fields(&page, action, &[("recovery", "1"), ("code", &codes[0])]);
    let used = other.post(action, &recovery).await;
    let security = format!("/account/security?done=recovered&for={}", sealed(&path));
    assert_shows(&used, 200, &[&security.replace('&', "&#38;"), &path]);
    let page = other.get(&security).await;
    let shown = ["You used a recovery code.", "Continue to Reports", &format!("href=\"{path}\"")];
    assert_shows(&page, 200, &shown);
    let done = other.get(&path).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
}

#[tokio::test]
async fn a_wrong_code_of_the_setup_shows_the_same_secret_again() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let page = browser.get("/account/security/totp").await;
    let setup = hidden(&page, "setup");
    let secret = |page: &Answer| {
        let (_, rest) = page.body.split_once("<code>").unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    let fields = [("setup", &*setup), ("code", "000000")];
    let again = browser.post("/account/security/totp", &fields).await;
    assert_shows(&again, 400, &[WRONG]);
    assert_eq!(secret(&again), secret(&page));
    // Nobody else can use it, and not after an hour.
    let mut eve = Browser::of(&server, "Eve", "eve@example.com").await;
    let forged = eve.post("/account/security/totp", &fields).await;
    assert_goes_to(&forged, "/account/security/totp");
}

#[tokio::test]
async fn an_app_is_removed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    set_up(&mut browser).await;
    // Without a script, a page asks first.
    let question = browser.post("/account/security/totp/remove", &[]).await;
    let shown = ["Remove “Authenticator app”?", "It is your last second factor."];
    assert_shows(&question, 200, &shown);
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["8 of 8 codes are left."]);
    let confirmed = [("confirmed", "1")];
    let removed = browser.post("/account/security/totp/remove", &confirmed).await;
    assert_goes_to(&removed, "/account/security?done=removed");
    assert_shows(&browser.get("/account/security?done=removed").await, 200, &["It is removed."]);
    // A second click does no harm.
    let removed = browser.post("/account/security/totp/remove", &[]).await;
    assert_goes_to(&removed, "/account/security?done=removed");
    assert_goes_to(&Browser::new(&server).sign_in(EMAIL).await, "/account");
}

#[tokio::test]
async fn a_link_of_the_operator_removes_all_factors() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    set_up(&mut browser).await;
    let made = server.order("POST", EMAIL, "/factor-reset", Value::Null).await.json();
    let path = made["link"].as_str().unwrap().strip_prefix(PUBLIC).unwrap().to_owned();
    let mut other = Browser::new(&server);
    let page = other.get(&path).await;
    assert_shows(&page, 200, &["Remove all second factors", EMAIL, "current-password"]);
    assert_eq!(page.header(header::REFERRER_POLICY), Some("strict-origin"));
    let action = "/factors/reset";
    for wrong in ["", "wrong"] {
        let refused = other.post(action, &fields(&page, action, &[("password", wrong)])).await;
        assert_shows(&refused, 400, &["This is not your current password."]);
    }
    let right = fields(&page, action, &[("password", PASSWORD)]);
    assert_goes_to(&other.post(action, &right).await, "/sign-in?done=factors");
    assert!(!browser.is_signed_in().await, "all sessions have ended");
    assert_shows(
        &other.get("/sign-in?done=factors").await,
        200,
        &["Your second factors are removed."],
    );
    assert_goes_to(&other.sign_in(EMAIL).await, "/account");
    // Once.
    assert_shows(&other.get(&path).await, 410, &["This link is no longer valid"]);
    assert_eq!(other.post(action, &right).await.status, 410);
    assert_goes_to(&other.get(action).await, "/sign-in");
}
