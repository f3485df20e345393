//! Passkeys and security keys on the pages: adding, signing in, renaming and removing.

use std::time::Duration;

use serde_json::json;

use super::{
    Browser, PASSWORD,
    apps::{App, GUARDS, location, page_path, sealed},
    assert_goes_to, assert_shows, factors, has_script, hidden,
    mail::fields,
    options, server, server_with,
};
use crate::{
    factors::Authenticator,
    support::{Answer, TestServer},
};

const EMAIL: &str = "ada@example.com";
const ADD: &str = "/account/security/passkey";
const ADD_KEY: &str = "/account/security/key";
const SIGN_IN: &str = "/sign-in/passkey";
const FACTOR: &str = "/sign-in/factor";

/// Adds a passkey or a security key on the page at this path.
async fn add(browser: &mut Browser<'_>, path: &str, device: &mut Authenticator) -> Answer {
    let page = browser.get(path).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(has_script(&page));
    let (setup, credential) = (hidden(&page, "setup"), device.create(&options(&page)).to_string());
    browser.post(path, &[("setup", &setup), ("credential", &credential)]).await
}

/// Signs in with a passkey and nothing else.
async fn sign_in(browser: &mut Browser<'_>, device: &mut Authenticator, stay: &str) -> Answer {
    let page = browser.get("/sign-in").await;
    let (challenge, credential) =
        (hidden(&page, "challenge"), device.get(&options(&page)).to_string());
    let fields = [("challenge", &*challenge), ("credential", &credential), ("stay", stay)];
    browser.post(SIGN_IN, &fields).await
}

#[tokio::test]
async fn a_passkey_is_added_and_signs_in() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut phone = Authenticator::new();
    let page = add(&mut browser, ADD, &mut phone).await;
    assert_shows(&page, 200, &["Your recovery codes", "/account/security?done=passkey"]);
    factors::assert_replaces_cookie(&page);
    let page = browser.get("/account/security?done=passkey").await;
    let shown = ["The passkey is added.", "Firefox on Linux", "Passkey, on one device only"];
    assert_shows(&page, 200, &shown);
    // Password managers are told which passkeys there are.
    assert_shows(&page, 200, &["data-signal=\"signalAllAcceptedCredentials\""]);
    assert!(has_script(&page));
    // The second one brings no recovery codes.
    let added = add(&mut browser, ADD, &mut Authenticator::new()).await;
    assert_goes_to(&added, "/account/security?done=passkey");

    let page = Browser::new(&server).get("/sign-in").await;
    let shown = ["autocomplete=\"username webauthn\"", "data-auto=\"conditional\" hidden>"];
    assert_shows(&page, 200, &shown);
    assert!(has_script(&page));
    assert_eq!(options(&page)["userVerification"], "required");
    for (stay, has_max_age) in [("1", true), ("", false)] {
        let mut other = Browser::new(&server);
        let done = sign_in(&mut other, &mut phone, stay).await;
        assert_goes_to(&done, "/account");
        assert_eq!(done.set_cookies()[0].contains("Max-Age="), has_max_age, "stays signed in");
        assert!(other.is_signed_in().await);
    }
}

#[tokio::test]
async fn a_passkey_leads_to_the_app() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut phone = Authenticator::new();
    add(&mut browser, ADD, &mut phone).await;
    let (mut app, mut other) = (App::new(&server), Browser::new(&server));
    let sent = app.get("/numbers").await;
    let page = other.get(page_path(&sent)).await;
    let credential = phone.get(&options(&page)).to_string();
    let mut fields = fields(&page, "/sign-in", &[]);
    fields.retain(|(name, _)| *name != "credential");
    fields.push(("credential", &credential));
    let done = other.post(SIGN_IN, &fields).await;
    assert!(location(&done).starts_with("https://app.example.com/.doorward/in?code="));
    let done = app.follow(&done).await;
    assert_eq!(location(&done), "https://app.example.com/numbers");
    assert!(sealed(page_path(&sent)).len() > 10);
}

#[tokio::test]
async fn every_wrong_answer_shows_the_page_again() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut phone = Authenticator::new();
    add(&mut browser, ADD, &mut phone).await;
    let mut other = Browser::new(&server);
    let page = other.get("/sign-in").await;
    let right = phone.get(&options(&page)).to_string();
    let (challenge, credential) = (hidden(&page, "challenge"), hidden(&page, "credential"));
    assert_eq!(credential, "");
    let another = other.get("/sign-in").await;
    for wrong in ["", "{}", "x", &right.replace("\"signature\":\"", "\"signature\":\"AA")] {
        let fields = [("challenge", &*challenge), ("credential", wrong), ("stay", "1")];
        let again = other.post(SIGN_IN, &fields).await;
        assert_shows(&again, 400, &["This passkey was not accepted.", "checked"]);
        assert!(!again.body.contains("data-signal"), "the passkey exists");
        assert_ne!(hidden(&again, "challenge"), challenge, "a new challenge");
    }
    // An answer is for its challenge, and counts once.
    let other_challenge = hidden(&another, "challenge");
    let fields = [("challenge", &*other_challenge), ("credential", &right)];
    assert_eq!(other.post(SIGN_IN, &fields).await.status, 400);
    let fields = [("challenge", &*challenge), ("credential", &right)];
    assert_goes_to(&other.post(SIGN_IN, &fields).await, "/account");
    assert_goes_to(&Browser::new(&server).post(SIGN_IN, &fields).await, "/sign-in?done=expired");
    // A page may stay open for a day.
    let mut late = Browser::new(&server);
    let page = late.get("/sign-in").await;
    server.let_pass(Duration::from_secs(25 * 60 * 60));
    let (challenge, credential) =
        (hidden(&page, "challenge"), phone.get(&options(&page)).to_string());
    let fields = [("challenge", &*challenge), ("credential", &credential)];
    assert_goes_to(&late.post(SIGN_IN, &fields).await, "/sign-in?done=expired");
}

#[tokio::test]
async fn password_managers_forget_a_passkey_that_is_not_known_but_not_that_of_a_disabled_user() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (mut phone, mut stranger) = (Authenticator::new(), Authenticator::new());
    add(&mut browser, ADD, &mut phone).await;
    let page = sign_in(&mut Browser::new(&server), &mut stranger, "").await;
    let shown = ["This passkey is not known here.", "data-signal=\"signalUnknownCredential\""];
    assert_shows(&page, 400, &shown);
    server.order("PATCH", EMAIL, "", json!({"disabled": true})).await;
    let page = sign_in(&mut Browser::new(&server), &mut phone, "").await;
    assert_shows(&page, 400, &["This passkey was not accepted."]);
    assert!(!page.body.contains("data-signal"));
}

#[tokio::test]
async fn a_security_key_follows_the_password() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut key = Authenticator::security_key();
    add(&mut browser, ADD_KEY, &mut key).await;
    assert_shows(&browser.get("/account/security").await, 200, &["Security key, added just now"]);
    let mut other = Browser::new(&server);
    let alone = sign_in(&mut other, &mut key, "").await;
    assert_shows(&alone, 400, &["This passkey was not accepted."]);
    let page = other.sign_in(EMAIL).await;
    assert_shows(&page, 200, &["Confirm that it is you", "Use your security key", "<noscript>"]);
    assert!(has_script(&page));
    assert!(!page.body.contains("one-time-code"), "there is no app");
    let credential = key.get(&options(&page)).to_string();
    let mut answer = fields(&page, FACTOR, &[]);
    answer.retain(|(name, _)| *name != "credential");
    answer.push(("credential", &credential));
    assert_goes_to(&other.post(FACTOR, &answer).await, "/account");
}

#[tokio::test]
async fn a_passkey_or_an_app_answers_a_password() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let (_, _) = factors::set_up(&mut browser).await;
    let mut phone = Authenticator::new();
    assert_goes_to(&add(&mut browser, ADD, &mut phone).await, "/account/security?done=passkey");
    let mut other = Browser::new(&server);
    let page = other.sign_in(EMAIL).await;
    assert_shows(&page, 200, &["one-time-code", "Use a passkey", "Use a recovery code"]);
    let (challenge, stranger) =
        (hidden(&page, "challenge"), Authenticator::new().get(&options(&page)).to_string());
    let fields = [("challenge", &*challenge), ("credential", &stranger)];
    let wrong = other.post(FACTOR, &fields).await;
    assert_shows(&wrong, 400, &["This passkey is not known here."]);
    assert!(!wrong.body.contains("data-signal"), "it may be that of another account");
    let right = phone.get(&options(&page)).to_string();
    let fields = [("challenge", &*challenge), ("credential", &right), ("trust", "1")];
    let done = other.post(FACTOR, &fields).await;
    assert_goes_to(&done, "/account");
    assert_eq!(done.set_cookies().len(), 2, "the browser is trusted");
}

#[tokio::test]
async fn a_passkey_is_renamed_and_removed() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut phone = Authenticator::new();
    add(&mut browser, ADD, &mut phone).await;
    let page = browser.get("/account/security").await;
    let (_, rest) = page.body.split_once("/account/security/passkeys/").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    let path = format!("/account/security/passkeys/{id}");
    assert_shows(&browser.get(&path).await, 200, &["Firefox on Linux", "Save name"]);
    let rename = "/account/security/passkeys/rename";
    let short = browser.post(rename, &[("id", &id), ("name", "x")]).await;
    assert_shows(&short, 400, &["name-fault", "value=\"x\""]);
    let done = browser.post(rename, &[("id", &id), ("name", "My <phone>")]).await;
    assert_goes_to(&done, "/account/security?done=renamed");
    let page = browser.get("/account/security?done=renamed").await;
    assert_shows(&page, 200, &["The name is saved.", "My &#60;phone&#62;"]);

    // It is nobody else's.
    let mut eve = Browser::of(&server, "Eve", "eve@example.com").await;
    assert_eq!(eve.get(&path).await.status, 404);
    assert_goes_to(&eve.post(rename, &[("id", &id), ("name", "Eve's")]).await, "/account/security");
    let remove = "/account/security/passkeys/remove";
    eve.post(remove, &[("id", &id)]).await;
    assert_eq!(browser.get(&path).await.status, 200);

    // Without a script, a page asks first.
    let question = browser.post(remove, &[("id", &id)]).await;
    let shown = ["Remove “My &#60;phone&#62;”?", "It is your last second factor.", "Keep it"];
    assert_shows(&question, 200, &shown);
    assert!(!has_script(&question));
    assert_eq!(browser.get(&path).await.status, 200, "nothing is removed yet");
    let confirmed = fields(&question, remove, &[("confirmed", "1")]);
    eve.post(remove, &confirmed).await;
    assert_eq!(browser.get(&path).await.status, 200);
    let page = browser.post(remove, &confirmed).await;
    let shown = ["It is removed.", "You have no passkeys yet.", "signalUnknownCredential"];
    assert_shows(&page, 200, &shown);
    assert!(has_script(&page));
    let again = browser.post(remove, &[("id", &id)]).await;
    assert_goes_to(&again, "/account/security?done=removed");
    assert_eq!(sign_in(&mut Browser::new(&server), &mut phone, "").await.status, 400);
    assert_goes_to(&Browser::new(&server).sign_in(EMAIL).await, "/account");
}

#[tokio::test]
async fn the_last_way_to_sign_in_is_not_removed() {
    let server = server().await;
    let mut browser = passwordless(&server).await;
    let page = browser.get(ADD).await;
    assert_shows(&page, 200, &["Your account has no password."]);
    let mut phone = Authenticator::new();
    add(&mut browser, ADD, &mut phone).await;
    let page = browser.get("/account/security").await;
    let (_, rest) = page.body.split_once("/account/security/passkeys/").unwrap();
    let id = rest.split('"').next().unwrap();
    let confirmed = [("id", id), ("confirmed", "1")];
    let page = browser.post("/account/security/passkeys/remove", &confirmed).await;
    assert_shows(&page, 409, &["This is the last way to sign in to your account."]);
    let mut other = Browser::new(&server);
    assert_goes_to(&sign_in(&mut other, &mut phone, "").await, "/account");
}

/// A browser in which somebody without a password is signed in.
async fn passwordless(server: &TestServer) -> Browser<'_> {
    use doorward::internals::Internals;
    let member = server.register_with(json!({"name": "Ada", "email": EMAIL})).await;
    let session = server.doorward.caller(&member.token).await.unwrap().session;
    let cookie = server.doorward.cookies().session_cookie(&session);
    let mut browser = Browser::new(server);
    browser.cookies.insert(super::COOKIE.into(), cookie);
    browser
}

#[tokio::test]
async fn somebody_with_only_a_passkey_changes_the_address_and_leaves() {
    const STEP_UP: &str = "/step-up";
    let server = server().await;
    let mut browser = passwordless(&server).await;
    let mut phone = Authenticator::new();
    add(&mut browser, ADD, &mut phone).await;
    // A passkey that was just used confirms it.
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["action=\"/account/email\"", "action=\"/account/delete\""]);
    assert!(!page.body.contains("type=\"password\""), "{}", page.body);
    let mut confirm = async |browser: &mut Browser<'_>, form: &str| {
        server.let_pass(Duration::from_secs(11 * 60));
        let page = browser.get("/account").await;
        let way = format!("/step-up?next=%2Faccount%3Fopen%3D{form}");
        assert_shows(&page, 200, &[&format!("href=\"{way}\"")]);
        assert!(!page.body.contains("no password to confirm"), "{}", page.body);
        let page = browser.get(&way).await;
        assert_shows(&page, 200, &["Use a passkey", "Before you "]);
        let right = phone.get(&options(&page)).to_string();
        let mut answer = fields(&page, STEP_UP, &[]);
        answer.retain(|(name, _)| *name != "credential");
        answer.push(("credential", &right));
        let done = browser.post(STEP_UP, &answer).await;
        let back = format!("/account?open={form}&done=confirmed");
        assert_goes_to(&done, &format!("{back}#{form}"));
        browser.get(&back).await
    };
    let page = confirm(&mut browser, "email").await;
    assert_shows(&page, 200, &["It is you.", "<details class=\"item\" open>"]);
    let typed = [("email", "augusta@example.com")];
    assert_goes_to(&browser.post("/account/email", &typed).await, "/account?done=email");
    assert_shows(&browser.get("/account").await, 200, &["augusta@example.com"]);
    // The name needs no proof.
    server.let_pass(Duration::from_secs(11 * 60));
    let renamed = browser.post("/account/name", &[("name", "Augusta")]).await;
    assert_goes_to(&renamed, "/account?done=name");
    let page = confirm(&mut browser, "delete").await;
    assert_shows(&page, 200, &["<details id=\"delete\" open>", "Delete my account for good"]);
    let answer = browser.post("/account/delete", &[]).await;
    assert_goes_to(&answer, "/account/deleted");
    assert!(!browser.is_signed_in().await);
}

#[tokio::test]
async fn a_wrong_answer_to_the_setup_adds_nothing() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", EMAIL).await;
    let mut phone = Authenticator::new();
    let page = browser.get(ADD).await;
    let (setup, made) = (hidden(&page, "setup"), phone.create(&options(&page)).to_string());
    let other_setup = hidden(&browser.get(ADD).await, "setup");
    for (setup, credential, name) in [
        (&*other_setup, &*made, ""),
        (&setup, "", ""),
        (&setup, "{}", ""),
        (&setup, &made.replace("none", "some"), "x"),
    ] {
        let fields = [("setup", setup), ("credential", credential), ("name", name)];
        let again = browser.post(ADD, &fields).await;
        assert_eq!(again.status, 400, "{}", again.body);
        assert!(has_script(&again));
    }
    // It is for this person.
    let mut eve = Browser::of(&server, "Eve", "eve@example.com").await;
    let fields = [("setup", &*setup), ("credential", &made)];
    assert_goes_to(&eve.post(ADD, &fields).await, ADD);
    let fields = [("setup", &*setup), ("credential", &made), ("name", "Phone")];
    assert_eq!(browser.post(ADD, &fields).await.status, 200);
    assert_shows(&browser.post(ADD, &fields).await, 409, &["This is set up already."]);
    assert_shows(&browser.get("/account/security").await, 200, &[">Phone<"]);
}

#[tokio::test]
async fn without_https_and_a_domain_no_passkeys_are_offered() {
    const BY_ADDRESS: &str = "http://127.0.0.1:3000";
    let server = TestServer::open_with(|settings| settings.with("public_url", BY_ADDRESS)).await;
    let mut browser = Browser { host: "127.0.0.1:3000", ..Browser::new(&server) };
    let page = browser.get("/sign-in").await;
    assert!(!has_script(&page));
    assert!(!page.body.contains("passkey\""), "{}", page.body);
    let fields = [("challenge", "x"), ("credential", "{}"), ("password", PASSWORD)];
    let request = axum::http::Request::post(SIGN_IN)
        .header("host", "127.0.0.1:3000")
        .header("origin", "http://127.0.0.1:3000")
        .header("content-type", "application/x-www-form-urlencoded");
    let body = axum::body::Body::from(super::encoded(&fields));
    assert_eq!(browser.send(request.body(body).unwrap()).await.status, 400);
    // The page where people look for them says why.
    sign_in_on_loopback(&server, &mut browser).await;
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["cannot use passkeys at this address", "or on localhost"]);
    assert!(!page.body.contains("You have no passkeys yet") && !page.body.contains("security/key"));
    assert_eq!(server.get("/.well-known/webauthn").await.status, 404);
}

#[tokio::test]
async fn without_settings_passkeys_are_offered_at_localhost() {
    let server = TestServer::open().await;
    let mut browser = Browser { host: "localhost:3000", ..Browser::new(&server) };
    assert!(has_script(&browser.get("/sign-in").await));
    sign_in_on_loopback(&server, &mut browser).await;
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["You have no passkeys yet", "/account/security/passkey"]);
    let related = server.get("/.well-known/webauthn").await;
    assert_eq!(related.json(), serde_json::json!({ "origins": ["http://localhost:3000"] }));
}

/// Signs Ada in on plain HTTP.
async fn sign_in_on_loopback(server: &TestServer, browser: &mut Browser<'_>) {
    server.register("Ada", "ada@example.com").await;
    let request = axum::http::Request::post("/sign-in")
        .header("host", browser.host)
        .header("origin", format!("http://{}", browser.host))
        .header("content-type", "application/x-www-form-urlencoded");
    let form = super::encoded(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    let answer = browser.send(request.body(axum::body::Body::from(form)).unwrap()).await;
    assert_goes_to(&answer, "/account");
}
