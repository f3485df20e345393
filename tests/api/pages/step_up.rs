//! Proving once more who one is: for the own account, and for an app.

use std::time::Duration;

use super::{
    Browser, PASSWORD,
    apps::{App, GUARDS, location, page_path, sealed},
    assert_goes_to, assert_shows, factors, has_script, hidden,
    mail::fields,
    options, server, server_with,
};
use crate::{factors::Authenticator, support::TestServer};

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
    let challenge = hidden(&page, "challenge");
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
async fn a_challenge_is_answered_in_the_browser_whose_session_it_is_for() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = factors::set_up(&mut browser).await;
    let mut other = Browser::of(&server, "Eve", "eve@example.com").await;
    let_pass_minutes(&server, 11);
    let page = browser.get(SECURITY).await;
    let page = browser.post(STEP_UP, &fields(&page, STEP_UP, &[("password", PASSWORD)])).await;
    let code = app.code(&server);
    for path in [STEP_UP, "/sign-in/factor"] {
        let answered = other.post(path, &fields(&page, STEP_UP, &[("code", &code)])).await;
        assert_eq!(answered.status, 303, "{path}: {}", answered.body);
        let account = other.get("/account").await;
        assert_shows(&account, 200, &["eve@example.com"]);
    }
    let answered = browser.post(STEP_UP, &fields(&page, STEP_UP, &[("code", &code)])).await;
    assert_goes_to(&answered, "/account/security?done=confirmed");
}

#[tokio::test]
async fn changes_of_the_account_need_a_proof_that_is_not_long_ago() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    factors::set_up(&mut browser).await;
    let_pass_minutes(&server, 11);
    assert_goes_to(&browser.post("/account/export", &[]).await, "/step-up?next=%2Faccount");
    let account = browser.get("/account").await;
    for (path, typed, form, why) in [
        (
            "/account/email",
            vec![("email", "augusta@example.com"), ("password", PASSWORD)],
            "email",
            "Before you change your e-mail address",
        ),
        (
            "/account/password",
            vec![("current", PASSWORD), ("new", "battery staple")],
            "password",
            "Before you change your password",
        ),
        (
            "/account/delete",
            vec![("password", PASSWORD)],
            "delete",
            "Before you delete your account",
        ),
    ] {
        let way = format!("/step-up?next=%2Faccount%3Fopen%3D{form}");
        assert_goes_to(&browser.post(path, &typed).await, &way);
        // Nobody has to type anything before they learn that.
        assert_shows(&account, 200, &[&format!("href=\"{way}\"")]);
        assert!(!account.body.contains(&format!("action=\"{path}\"")), "{path}");
        let follows = "After it, you are asked for a code from your authenticator app.";
        assert_shows(&browser.get(&way).await, 200, &[why, follows]);
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
    // Somebody who is not signed in does that, and goes on to the app.
    let (mut anonymous, sign_in) = (Browser::new(&server), format!("/sign-in?for={target}"));
    assert_goes_to(&anonymous.get(&path("two")).await, &sign_in);
    for page in ["/account", "/account/security", "/account/security/totp", "/sign-out"] {
        assert_goes_to(&anonymous.get(&format!("{page}?for={target}")).await, &sign_in);
    }
    for page in ["/step-up", "/verify/send"] {
        assert_goes_to(&anonymous.post(page, &[("for", &target)]).await, &sign_in);
    }
    // Whoever holds no factor sets one up.
    let way = format!("/account/security?for={target}");
    assert_goes_to(&browser.get(&path("two")).await, &way);
    assert_shows(&browser.get(&way).await, 200, &["Reports asks for a second factor."]);
    let page = browser.get(&format!("/account/security/totp?for={target}")).await;
    assert_shows(&page, 200, &[&format!("name=\"for\" value=\"{target}\"")]);

    let (app, _) = factors::set_up(&mut browser).await;
    // A passkey cannot be asked for.
    let way = format!("/account/security?ask=phr&for={target}");
    assert_goes_to(&browser.get(&path("phr")).await, &way);
    let_pass_minutes(&server, 2);
    let page = browser.get(&path("two")).await;
    let shown = [
        "Reports asks for your second factor",
        "A password alone is not enough for this app.",
        "name=\"password\"",
    ];
    assert_shows(&page, 200, &shown);
    assert!(!page.body.contains("one-time-code"), "everything is proved anew");
    assert!(!has_script(&page));
    let page = browser.post(STEP_UP, &fields(&page, STEP_UP, &[("password", PASSWORD)])).await;
    assert_shows(&page, 200, &["Reports asks for your second factor", "one-time-code"]);
    let shown = ["Reports asks you to confirm", "Your last sign-in is too long ago for this app."];
    assert_shows(&browser.get(&path("again")).await, 200, &shown);
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

/// A guard that takes nothing but passkeys and security keys, and the return target of somebody whom it refuses.
const RESISTANT: &str = r#"
    [guards.reports]
    title = "Reports"
    allow = 'session.phishingResistant'
    proxy = "caddy"
    origins = ["https://app.example.com"]
"#;

/// Signs the browser in to the app, and returns where the guard then sends it.
async fn sent_by_guard(browser: &mut Browser<'_>, site: &mut App<'_>) -> String {
    let mut answer = site.get("/numbers").await;
    if page_path(&answer).starts_with("/sign-in") {
        answer = browser.get(page_path(&answer)).await;
    }
    while location(&answer).starts_with("https://app.example.com") {
        answer = site.follow(&answer).await;
    }
    page_path(&answer).to_owned()
}

#[tokio::test]
async fn an_app_that_asks_for_a_passkey_is_offered_nothing_else() {
    let server = server_with(RESISTANT).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut site = App::new(&server);
    let way = sent_by_guard(&mut browser, &mut site).await;
    let offers_passkeys_only = |page: &crate::support::Answer| {
        assert_shows(page, 200, &["Reports asks for a passkey.", "/account/security/passkey?for="]);
        assert!(!page.body.contains("/account/security/totp"), "a code is not enough");
        assert!(!page.body.contains("second factor. Set one up"), "{}", page.body);
    };
    assert!(way.ends_with("&ask=phr"), "{way}");
    offers_passkeys_only(&browser.get(&way).await);
    // An app is no way in, and its owner is asked for the same.
    factors::set_up(&mut browser).await;
    let again = sent_by_guard(&mut browser, &mut site).await;
    assert!(again.ends_with("&ask=phr"), "{again}");
    let page = browser.get(&again).await;
    assert_shows(&page, 200, &["Reports asks for a passkey.", "/account/security/passkey?for="]);
    assert!(!page.body.contains("href=\"/account/security/totp"), "{}", page.body);
    // After they have proved who they are, it still is.
    let_pass_minutes(&server, 11);
    let page = browser.get(&again).await;
    let confirm = "/step-up?next=%2Faccount%2Fsecurity%3Fask%3Dphr&#38;for=";
    assert_shows(&page, 200, &["Reports asks for a passkey.", confirm]);
    let target = sealed(&again).strip_suffix("&ask=phr").unwrap();
    let asked = format!("/step-up?next=%2Faccount%2Fsecurity%3Fask%3Dphr&for={target}");
    let page = browser.get(&asked).await;
    assert_shows(&page, 200, &["Before you change how you sign in", "a code from your"]);
    let path = format!("/account/security/passkey?for={target}");
    let back = format!("/step-up?next=%2Faccount%2Fsecurity%2Fpasskey&for={target}");
    assert_goes_to(&browser.get(&path).await, &back);
    assert_shows(&browser.get(&back).await, 200, &["Before you add a passkey"]);
}

/// Adds a passkey or a security key at this path.
async fn add(browser: &mut Browser<'_>, path: &str, device: &mut Authenticator) {
    let page = browser.get(path).await;
    let (setup, made) = (hidden(&page, "setup"), device.create(&options(&page)).to_string());
    browser.post(path, &[("setup", &setup), ("credential", &made)]).await;
}

#[tokio::test]
async fn what_a_guard_asks_for_is_what_is_accepted() {
    let server = server_with(RESISTANT).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, codes) = factors::set_up(&mut browser).await;
    let mut phone = Authenticator::new();
    add(&mut browser, "/account/security/passkey", &mut phone).await;
    let mut site = App::new(&server);
    let target = sealed(page_path(&site.get("/numbers").await)).to_owned();
    let path = format!("/step-up?ask=phr&for={target}");
    let_pass_minutes(&server, 2);
    let page = browser.get(&path).await;
    let shown = ["Reports asks for your passkey", "A password or a code is not enough."];
    assert_shows(&page, 200, &shown);
    for other in ["one-time-code", "current-password", "Use a recovery code"] {
        assert!(!page.body.contains(other), "{other}");
    }
    let before = browser.cookies.clone();
    let challenge = hidden(&page, "challenge");
    let code = app.code(&server);
    let sent = [("ask", "phr"), ("for", &*target)];
    for more in [
        vec![("password", PASSWORD)],
        vec![("challenge", &*challenge), ("code", &*code)],
        vec![("challenge", &*challenge), ("recovery", "1"), ("code", &codes[0])],
    ] {
        let refused = browser.post(STEP_UP, &[&sent[..], &more].concat()).await;
        assert_shows(&refused, 400, &["Only a passkey or a security key is enough here."]);
        assert!(has_script(&refused), "the passkey can still answer");
        assert_eq!(browser.cookies, before, "the session has proved nothing");
    }
    // Neither code is used up.
    let other = Browser::new(&server).sign_in(EMAIL).await;
    let challenged = hidden(&other, "challenge");
    let fields = [("challenge", &*challenged), ("code", &*code)];
    assert_goes_to(&Browser::new(&server).post("/sign-in/factor", &fields).await, "/account");
    let right = phone.get(&options(&page)).to_string();
    let answer = [("challenge", &*challenge), ("credential", &right)];
    let done = browser.post(STEP_UP, &[&sent[..], &answer].concat()).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
}

#[tokio::test]
async fn a_password_only_comes_before_a_security_key() {
    let server = server_with(RESISTANT).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (app, _) = factors::set_up(&mut browser).await;
    let mut key = Authenticator::security_key();
    add(&mut browser, "/account/security/key", &mut key).await;
    let mut site = App::new(&server);
    let target = sealed(page_path(&site.get("/numbers").await)).to_owned();
    let path = format!("/step-up?ask=phr&for={target}");
    let_pass_minutes(&server, 11);
    // A sign-in with two factors, neither of which resists phishing.
    let page = browser.sign_in(EMAIL).await;
    let (challenge, code) = (hidden(&page, "challenge"), app.code(&server));
    browser.post("/sign-in/factor", &[("challenge", &challenge), ("code", &code)]).await;
    let sent = [("ask", "phr"), ("for", &*target)];
    let password = [&sent[..], &[("password", PASSWORD)]].concat();
    let page = browser.post(STEP_UP, &password).await;
    assert_shows(&page, 200, &["Use your security key"]);
    assert!(page.set_cookies().is_empty(), "the password is not the answer");
    assert!(!page.body.contains("one-time-code"));
    let_pass_minutes(&server, 11);
    let asked = browser.get(&path).await;
    assert_shows(&asked, 200, &["After it, you are asked for your security key."]);
    let wrong = [&sent[..], &[("password", "wrong")]].concat();
    let wrong = browser.post(STEP_UP, &wrong).await;
    assert_shows(&wrong, 400, &["This is not your current password."]);
    let page = browser.post(STEP_UP, &password).await;
    let (challenge, right) = (hidden(&page, "challenge"), key.get(&options(&page)).to_string());
    let answer = [("challenge", &*challenge), ("credential", &right)];
    let done = browser.post(STEP_UP, &[&sent[..], &answer].concat()).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
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
