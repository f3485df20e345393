//! Creating an account with a passkey in place of a password: every rule of registration holds for this door, too.

use axum::http::header;
use doorward::{NewInvitation, Settings};
use serde_json::json;

use super::{
    Browser, PUBLIC,
    apps::{App, location, page_path, sealed},
    assert_goes_to, assert_shows, has_script, hidden,
    mail::fields,
    options,
};
use crate::{
    factors::Authenticator,
    support::{Answer, TestServer, with_mail},
};

const ADA: &str = "ada@example.com";
const SIGN_UP: &str = "/sign-up";
const PASSKEY: &str = "/sign-up/passkey";
const BUTTON: &str = "formaction=\"/sign-up/passkey\" formnovalidate data-passkey=\"{}\" hidden>";
const MAY_NOT: &str = "You cannot create an account with these details.";

async fn server(change: impl FnOnce(Settings) -> Settings) -> TestServer {
    TestServer::open_with(|settings| change(settings.with("public_url", PUBLIC))).await
}

/// The secret in the link of an invitation.
async fn invite(server: &TestServer, invitation: NewInvitation) -> String {
    let invited = server.doorward.invite(invitation.by_hand()).await.unwrap();
    invited.ticket.unwrap().secret().to_owned()
}

async fn exists(server: &TestServer, email: &str) -> bool {
    server.doorward.user_by_email(email).await.unwrap().is_some()
}

/// Sends the form of the sign-up page with its other button.
async fn begin(browser: &mut Browser<'_>, email: &str, more: &[(&str, &str)]) -> Answer {
    let typed = [("name", "Ada"), ("email", email)];
    browser.post(PASSKEY, &[&typed[..], more].concat()).await
}

/// Answers the page that asks for a passkey.
async fn answer(browser: &mut Browser<'_>, page: &Answer, device: &mut Authenticator) -> Answer {
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(has_script(page));
    let made = device.create(&options(page)).to_string();
    let mut sent = fields(page, PASSKEY, &[]);
    sent.retain(|(name, _)| *name != "credential");
    sent.push(("credential", &made));
    browser.post(PASSKEY, &sent).await
}

/// Signs up with a passkey.
async fn sign_up(
    browser: &mut Browser<'_>,
    email: &str,
    more: &[(&str, &str)],
    device: &mut Authenticator,
) -> Answer {
    let page = begin(browser, email, more).await;
    match page.status.as_u16() {
        200 => answer(browser, &page, device).await,
        _ => page,
    }
}

/// Signs in with a passkey and nothing else.
async fn sign_in(server: &TestServer, device: &mut Authenticator) -> Answer {
    let mut browser = Browser::new(server);
    let page = browser.get("/sign-in").await;
    let (challenge, right) = (hidden(&page, "challenge"), device.get(&options(&page)).to_string());
    let fields = [("challenge", &*challenge), ("credential", &right)];
    browser.post("/sign-in/passkey", &fields).await
}

#[tokio::test]
async fn a_passkey_stands_in_for_the_password() {
    let server = server(|settings| settings).await;
    let (mut browser, mut phone) = (Browser::new(&server), Authenticator::new());
    let page = browser.get(SIGN_UP).await;
    assert_shows(&page, 200, &[BUTTON, "Use a passkey, not a password"]);
    assert!(has_script(&page));
    let page = begin(&mut browser, ADA, &[("stay", "1")]).await;
    assert_shows(&page, 200, &["Create your passkey", "you sign in as ada@example.com"]);
    let asked = options(&page);
    assert_eq!(
        (&asked["user"]["name"], &asked["user"]["displayName"]),
        (&ADA.into(), &"Ada".into())
    );
    assert_eq!(asked["authenticatorSelection"]["userVerification"], "required");
    assert!(!exists(&server, ADA).await, "nothing is written yet");

    let done = answer(&mut browser, &page, &mut phone).await;
    assert_shows(&done, 200, &["Your recovery codes", "href=\"/account\""]);
    assert_eq!(done.body.matches("<code>").count(), 8);
    assert!(done.set_cookies()[0].ends_with("; Max-Age=2592000"), "stays signed in");
    let user = server.doorward.user_by_email(ADA).await.unwrap().unwrap();
    assert!(!user.has_password());
    assert_eq!(user.factors.to_text(), "passkey");
    let page = browser.get("/account/security").await;
    assert_shows(&page, 200, &["8 of 8 codes are left.", "Passkey, on one device only"]);
    // Two factors, just now: nothing else is asked for.
    assert_shows(&page, 200, &["href=\"/account/security/totp\""]);
    assert_goes_to(&sign_in(&server, &mut phone).await, "/account");
    assert_eq!(server.login(ADA, "correct horse").await.status, 404);
    let trail = server.operator("GET", "/api/admin/audit", ().into()).await.body;
    for kind in ["registered", "factor_added"] {
        assert_eq!(trail.matches(&format!("\"{kind}\"")).count(), 1, "{kind}: {trail}");
    }
}

#[tokio::test]
async fn faults_are_shown_in_the_form_and_nothing_typed_is_lost() {
    let server = server(|settings| settings).await;
    let mut browser = Browser::new(&server);
    let page = browser.post(PASSKEY, &[("name", "x"), ("email", "ada"), ("stay", "1")]).await;
    let shown = ["name-fault", "email-fault", "value=\"x\"", "value=\"ada\"", "checked", BUTTON];
    assert_shows(&page, 400, &shown);
    assert!(!page.body.contains("password-fault"), "no password is needed");
    let page = begin(&mut browser, ADA, &[("password", "typed before")]).await;
    assert_shows(&page, 200, &["Create your passkey"]);
    assert!(!page.body.contains("typed before"));
}

#[tokio::test]
async fn it_leads_to_the_app_that_asks_for_a_passkey() {
    let guard = r#"
        [guards.reports]
        title = "Reports"
        allow = 'session.phishingResistant && session.strength == 2'
        proxy = "caddy"
        origins = ["https://app.example.com"]
    "#;
    let server = server(|settings| settings.with_toml(guard)).await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let path = page_path(&app.get("/numbers").await).to_owned();
    let target = [("for", sealed(&path))];
    let page = begin(&mut browser, ADA, &target).await;
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains("; form-action 'self' https://app.example.com; "), "{policy}");
    let done = answer(&mut browser, &page, &mut Authenticator::new()).await;
    assert_shows(&done, 200, &["Your recovery codes", &path]);
    let done = app.follow(&browser.get(&path).await).await;
    assert_eq!(location(&done), "https://app.example.com/numbers");
    assert_eq!(app.follow(&done).await.status, 200, "the session counts as strong");
}

#[tokio::test]
async fn closed_registration_stays_closed() {
    let server = server(|settings| settings.with("registration", "closed")).await;
    let mut browser = Browser::new(&server);
    assert!(!browser.get(SIGN_UP).await.body.contains("/sign-up/passkey"));
    let refused = sign_up(&mut browser, ADA, &[], &mut Authenticator::new()).await;
    assert_shows(&refused, 403, &[MAY_NOT]);
    assert!(!exists(&server, ADA).await);
}

#[tokio::test]
async fn a_condition_decides_about_both_steps() {
    let policy = r#"user.domain == "example.com""#;
    let server = server(|settings| settings.with("registration", policy)).await;
    let (mut browser, mut phone) = (Browser::new(&server), Authenticator::new());
    let refused = begin(&mut browser, "eve@example.org", &[]).await;
    assert_shows(&refused, 403, &[MAY_NOT]);
    // The second step decides for itself.
    let page = begin(&mut browser, ADA, &[]).await;
    let made = phone.create(&options(&page)).to_string();
    let setup = hidden(&page, "setup");
    let forged =
        [("name", "Eve"), ("email", "eve@example.org"), ("setup", &setup), ("credential", &made)];
    let refused = browser.post(PASSKEY, &forged).await;
    assert_shows(&refused, 403, &[MAY_NOT, "signalUnknownCredential"]);
    assert!(!exists(&server, "eve@example.org").await);
    assert!(!browser.is_signed_in().await);
    let mut sent = fields(&page, PASSKEY, &[]);
    sent.retain(|(name, _)| *name != "credential");
    sent.push(("credential", &made));
    assert_shows(&browser.post(PASSKEY, &sent).await, 200, &["Your recovery codes"]);
}

#[tokio::test]
async fn whoever_is_invited_signs_up_with_a_passkey_once() {
    let server = server(|settings| settings.with("registration", "invited")).await;
    let mut browser = Browser::new(&server);
    let refused = sign_up(&mut browser, ADA, &[], &mut Authenticator::new()).await;
    assert_shows(&refused, 403, &[MAY_NOT]);
    // The link, for its address only.
    let secret = &invite(&server, NewInvitation::new(ADA).role("staff")).await;
    let path = format!("/sign-up?invitation={secret}");
    assert_shows(&browser.get(&path).await, 200, &[BUTTON, "readonly"]);
    let link = [("invitation", &**secret), ("link", "1")];
    let other = begin(&mut browser, "eve@example.com", &link).await;
    assert_shows(&other, 410, &["This invitation is no longer valid"]);
    let page = begin(&mut browser, ADA, &link).await;
    assert_shows(&page, 200, &[&format!("href=\"{path}\"")]);
    let done = answer(&mut browser, &page, &mut Authenticator::new()).await;
    assert_shows(&done, 200, &["Your recovery codes"]);
    let user = server.doorward.user_by_email(ADA).await.unwrap().unwrap();
    assert_eq!(user.roles.to_text(), "staff");
    let again = begin(&mut Browser::new(&server), ADA, &link).await;
    assert_shows(&again, 410, &["This invitation is no longer valid"]);
}

#[tokio::test]
async fn the_code_of_an_invitation_is_typed() {
    let server = server(|settings| settings.with("registration", "invited")).await;
    let mut browser = Browser::new(&server);
    let invited = server.doorward.invite(NewInvitation::new(ADA)).await.unwrap();
    let code = invited.ticket.unwrap().code();
    let wrong = begin(&mut browser, ADA, &[("invitation", "00000000"), ("typed", "1")]).await;
    assert_shows(&wrong, 403, &["invitation-fault", "This code is wrong"]);
    let right = [("invitation", &*code), ("typed", "1")];
    // Whoever starts over keeps their code.
    for _ in 0..15 {
        assert_eq!(begin(&mut browser, ADA, &right).await.status, 200);
    }
    let done = sign_up(&mut browser, ADA, &right, &mut Authenticator::new()).await;
    assert_shows(&done, 200, &["Your recovery codes"]);
    // A right code for a taken address answers like a wrong one.
    let invited = server.doorward.invite(NewInvitation::new("bob@example.com")).await.unwrap();
    let code = invited.ticket.unwrap().code();
    let bob = json!({"name": "Bob", "email": "bob@example.com"});
    server.ordered("POST", "/api/admin/users", bob).await;
    let right = [("invitation", &*code), ("typed", "1")];
    let taken = begin(&mut browser, "bob@example.com", &right).await;
    assert_shows(&taken, 403, &["This code is wrong"]);
}

#[tokio::test]
async fn a_network_has_one_budget_for_both_ways_to_sign_up() {
    let server = server(|settings| settings.with("throttle.network_sign_ups", 4)).await;
    let mut browser = Browser::new(&server);
    let mut last = None;
    for number in 0..9 {
        let email = format!("ada{number}@example.com");
        let answer = sign_up(&mut browser, &email, &[], &mut Authenticator::new()).await;
        if answer.status != 200 {
            last = Some((number, answer));
            break;
        }
    }
    let (made, last) = last.expect("a refusal");
    assert_eq!(made, 4, "both steps of a sign-up count as one");
    assert_shows(&last, 429, &["There were too many attempts."]);
    assert!(last.header(header::RETRY_AFTER).is_some());
    let typed = [("name", "Eve"), ("email", "eve@example.com"), ("password", "correct horse")];
    assert_eq!(Browser::new(&server).post(SIGN_UP, &typed).await.status, 429);
}

#[tokio::test]
async fn a_taken_address_is_told_before_a_passkey_is_made_and_in_the_write() {
    let server = server(|settings| settings).await;
    let (mut browser, mut phone) = (Browser::new(&server), Authenticator::new());
    let page = begin(&mut browser, ADA, &[]).await;
    server.register("Eve", "ADA@example.com").await;
    let taken = answer(&mut browser, &page, &mut phone).await;
    let shown = ["This address already has an account.", "signalUnknownCredential"];
    assert_shows(&taken, 409, &shown);
    assert!(!browser.is_signed_in().await);
    let known = sign_in(&server, &mut phone).await;
    assert_shows(&known, 400, &["This passkey is not known here."]);
    let taken = begin(&mut browser, ADA, &[]).await;
    assert_shows(&taken, 409, &["This address already has an account.", "sign-in-with"]);
    assert!(!taken.body.contains("data-signal"));
}

#[tokio::test]
async fn where_sign_up_does_not_tell_only_the_invited_use_a_passkey() {
    let server =
        server(|settings| with_mail(settings).with("registration_conflict", "silent")).await;
    let eve = json!({"name": "Eve", "email": "eve@example.com", "password": "correct horse"});
    assert_eq!(server.post("/api/user", &eve).await.status, 202);
    let mut browser = Browser::new(&server);
    let page = browser.get(SIGN_UP).await;
    assert!(!page.body.contains("/sign-up/passkey") && !has_script(&page));
    // Free and taken addresses get the same answer.
    for email in [ADA, "eve@example.com"] {
        assert_goes_to(&begin(&mut browser, email, &[]).await, SIGN_UP);
    }
    // The setup of somebody who is invited registers nobody else.
    let secret = invite(&server, NewInvitation::new(ADA)).await;
    let link = [("invitation", &*secret), ("link", "1")];
    let page = begin(&mut browser, ADA, &link).await;
    let (setup, mut phone) = (hidden(&page, "setup"), Authenticator::new());
    let made = phone.create(&options(&page)).to_string();
    for email in ["bob@example.com", "eve@example.com"] {
        let forged = [("name", "Bob"), ("email", email), ("setup", &*setup), ("credential", &made)];
        assert_shows(&browser.post(PASSKEY, &forged).await, 403, &[MAY_NOT]);
    }
    assert!(!exists(&server, "bob@example.com").await);
    let done = answer(&mut browser, &page, &mut phone).await;
    assert_shows(&done, 200, &["Your recovery codes"]);
}

#[tokio::test]
async fn only_a_passkey_of_this_setup_that_verifies_its_user_registers() {
    let server = server(|settings| settings).await;
    let (mut browser, mut phone) = (Browser::new(&server), Authenticator::new());
    let page = begin(&mut browser, ADA, &[]).await;
    let refused = answer(&mut browser, &page, &mut Authenticator::security_key()).await;
    assert_shows(&refused, 400, &["This passkey was not accepted.", "Create your passkey"]);
    let made = phone.create(&options(&page)).to_string();
    let other = hidden(&begin(&mut browser, ADA, &[]).await, "setup");
    // A setup of an account that exists is none for a new one.
    let mut eve = Browser::of(&server, "Eve", "eve@example.com").await;
    let added = eve.get("/account/security/passkey").await;
    let of_eve = phone.create(&options(&added)).to_string();
    let setup = hidden(&page, "setup");
    for (setup, credential) in [
        (&*other, &*made),
        ("x", &made),
        (&setup, "{}"),
        (&setup, ""),
        (&hidden(&added, "setup"), &of_eve),
    ] {
        let sent = [("name", "Ada"), ("email", ADA), ("setup", setup), ("credential", credential)];
        let again = browser.post(PASSKEY, &sent).await;
        assert_shows(&again, 400, &["This passkey was not accepted.", "Create your passkey"]);
        assert_ne!(hidden(&again, "setup"), setup, "a new setup");
        assert!(has_script(&again));
        assert!(!exists(&server, ADA).await && !browser.is_signed_in().await);
    }
    // Nor is this one for an account that exists.
    let sent = [("setup", &*setup), ("credential", &made)];
    let refused = eve.post("/account/security/passkey", &sent).await;
    assert_goes_to(&refused, "/account/security/passkey");

    let sent = [("name", "Ada"), ("email", ADA), ("setup", &*setup), ("credential", &made)];
    assert_shows(&browser.post(PASSKEY, &sent).await, 200, &["Your recovery codes"]);
    // Once: neither the form, nor the setup, nor the passkey registers anybody else.
    let mut stranger = Browser::new(&server);
    let twice = stranger.post(PASSKEY, &sent).await;
    assert_shows(&twice, 409, &["This address already has an account."]);
    assert!(!twice.body.contains("data-signal"), "the passkey is the right one");
    let another = Authenticator::new().create(&options(&page)).to_string();
    let page = begin(&mut stranger, "bob@example.com", &[]).await;
    for (setup, credential) in [
        (&*setup, &*another),
        (&hidden(&page, "setup"), &phone.create(&options(&page)).to_string()),
    ] {
        let sent = [
            ("name", "Bob"),
            ("email", "bob@example.com"),
            ("setup", setup),
            ("credential", credential),
        ];
        assert_shows(&stranger.post(PASSKEY, &sent).await, 409, &["This is set up already."]);
        assert!(!exists(&server, "bob@example.com").await && !stranger.is_signed_in().await);
    }
}

#[tokio::test]
async fn without_a_domain_no_passkey_is_offered() {
    const BY_ADDRESS: &str = "http://127.0.0.1:3000";
    let server = TestServer::open_with(|settings| settings.with("public_url", BY_ADDRESS)).await;
    let mut browser = Browser { host: "127.0.0.1:3000", ..Browser::new(&server) };
    let page = browser.get(SIGN_UP).await;
    assert!(!page.body.contains("/sign-up/passkey") && !has_script(&page));
    let request = axum::http::Request::post(PASSKEY)
        .header("host", "127.0.0.1:3000")
        .header("origin", "http://127.0.0.1:3000")
        .header("content-type", "application/x-www-form-urlencoded");
    let body = super::encoded(&[("name", "Ada"), ("email", ADA)]);
    let answer = browser.send(request.body(axum::body::Body::from(body)).unwrap()).await;
    assert_goes_to(&answer, SIGN_UP);
    assert!(!exists(&server, ADA).await);
}
