//! A guard that wants a verified address: people confirm it on the way to the app. The return target is carried through every
//! page and mail.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::{
    Internals,
    mail::Message,
    token::{cookie::ReturnTarget, one_time::Purpose},
};
use serde_json::{Value, json};

use super::{
    Browser, PASSWORD, PUBLIC,
    apps::{App, location, page_path, sealed},
    assert_goes_to, assert_shows, cookie_header,
    mail::{fields, mailed},
};
use crate::{
    outbox::messages,
    support::{Answer, TestServer, UNAUTHORIZED, with_mail},
};

const ADA: &str = "ada@example.com";
const APP: &str = "https://app.example.com";
const LINK: &str = "/reports/q3?a=1&b=%20+%C3%A4&c=?/";
const GUARDS: &str = r#"
    [guards.reports]
    title = "Reports"
    allow = 'user.emailVerified && !("banned" in user.roles)'
    proxy = "caddy"
    origins = ["https://app.example.com"]

    [guards.nginx]
    allow = 'user.emailVerified'
    proxy = "nginx"
    origins = ["https://app.example.com"]

    [guards.open]
    title = "Open"
    allow = 'true'
    proxy = "caddy"
    origins = ["https://open.example.com"]
"#;

async fn server() -> TestServer {
    server_with("").await
}

/// A service that sends mail, with more settings. Nothing takes mails out of the outbox, because no upkeep runs.
async fn server_with(more: &str) -> TestServer {
    let file = format!("{more}\n{GUARDS}");
    TestServer::open_with(|settings| {
        let settings = with_mail(settings).with("public_url", PUBLIC);
        settings.with("sign_in.mail_code", "true").with_toml(&file)
    })
    .await
}

/// The path of the page that a guard sends a browser to.
#[track_caller]
fn verify_path(answer: &Answer) -> String {
    let path = page_path(answer);
    assert!(path.starts_with("/verify?for="), "{path}");
    path.to_owned()
}

/// Goes to the app with a browser that is signed in to Doorward, up to the answer to the request for the link.
async fn enter(app: &mut App<'_>, browser: &mut Browser<'_>) -> Answer {
    let code = browser.get(page_path(&app.get(LINK).await)).await;
    let back = app.follow(&code).await;
    assert_eq!(location(&back), format!("{APP}{LINK}"));
    app.follow(&back).await
}

/// A browser in which Ada has signed up on the way to the app, and the path of the page on which she confirms her address.
async fn signed_up(server: &TestServer) -> (App<'_>, Browser<'_>, String) {
    let (mut app, mut browser) = (App::new(server), Browser::new(server));
    let path = page_path(&app.get(LINK).await).to_owned();
    let form = [("name", "Ada"), ("email", ADA), ("password", PASSWORD), ("for", sealed(&path))];
    let code = browser.post("/sign-up", &form).await;
    let back = app.follow(&code).await;
    let path = verify_path(&app.follow(&back).await);
    (app, browser, path)
}

/// The path of the link in the latest mail for a purpose, with the return target in it.
async fn mailed_path(server: &TestServer, purpose: Purpose) -> String {
    let path = mailed(server, ADA, purpose).await.path;
    let target = messages(server, ADA).await.into_iter().rev().find_map(|message| match message {
        Message::VerifyEmail { target, .. } if purpose == Purpose::VerifyEmail => target,
        Message::ResetPassword { target, .. } if purpose == Purpose::ResetPassword => target,
        Message::SignIn { target, .. } if purpose == Purpose::SignIn => target,
        _ => None,
    });
    format!("{path}&for={}", target.expect("the mail leads back to an app").as_str())
}

async fn mail_count(server: &TestServer) -> usize {
    messages(server, ADA).await.len()
}

/// Asserts that the browser is sent back to the app with a code, and is admitted at the very link.
async fn assert_arrives(app: &mut App<'_>, answer: &Answer) {
    assert!(location(answer).starts_with(&format!("{APP}/.doorward/in?code=")));
    let back = app.follow(answer).await;
    assert_eq!(location(&back), format!("{APP}{LINK}"));
    assert_eq!(app.follow(&back).await.status, 200);
}

#[tokio::test]
async fn a_new_person_types_the_code_and_is_at_the_very_link() {
    let server = server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    let page = browser.get(&path).await;
    let texts = [
        "Confirm your address to go on to Reports",
        "We mailed a code to ada@example.com.",
        "inputmode=\"numeric\"",
        "Send it again",
        "/sign-out?for=",
        "href=\"/account\"",
    ];
    assert_shows(&page, 200, &texts);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains("; form-action 'self' https://app.example.com; "), "{policy}");

    let wrong = browser.post("/verify", &fields(&page, "/verify", &[("code", "0000 0000")])).await;
    assert_shows(&wrong, 400, &["code-fault", "go on to Reports", "value=\"0000 0000\""]);
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let right = browser.post("/verify", &fields(&wrong, "/verify", &[("code", &code)])).await;
    assert_arrives(&mut app, &right).await;
    assert_eq!(mail_count(&server).await, 1);

    // The form once more, from the history.
    let again = browser.post("/verify", &fields(&wrong, "/verify", &[("code", &code)])).await;
    assert_arrives(&mut app, &again).await;
}

#[tokio::test]
async fn a_link_on_another_device_lets_the_first_one_go_on() {
    let server = server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    browser.get(&path).await;
    let link = mailed_path(&server, Purpose::VerifyEmail).await;
    let mut phone = Browser::new(&server);
    let page = phone.get(&link).await;
    assert_shows(&page, 200, &["Confirm that ada@example.com is your address."]);
    let answer = phone.post("/verify", &fields(&page, "/verify", &[])).await;
    let page = phone.get(location(&answer)).await;
    let href = format!("href=\"{APP}{}\"", LINK.replace('&', "&#38;"));
    assert_shows(&page, 200, &["Your e-mail address is confirmed", "Continue to Reports", &href]);
    // The link once more.
    let page = phone.get(&link).await;
    assert_shows(&page, 410, &["Continue to Reports", &href]);
    // There, the guard asks to sign in, in an attempt of its own.
    let mut app_on_phone = App::new(&server);
    let sign_in = page_path(&app_on_phone.get(LINK).await).to_owned();
    let form = [("email", ADA), ("password", PASSWORD), ("for", sealed(&sign_in))];
    let answer = phone.post("/sign-in", &form).await;
    assert_arrives(&mut app_on_phone, &answer).await;

    let answer = browser.get(&path).await;
    assert_arrives(&mut app, &answer).await;
}

#[tokio::test]
async fn a_link_in_the_same_browser_leads_to_the_very_link() {
    let server = server().await;
    let (mut app, mut browser, _) = signed_up(&server).await;
    let page = browser.get(&mailed_path(&server, Purpose::VerifyEmail).await).await;
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains(" https://app.example.com; "), "{policy}");
    let answer = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_eq!(location(&answer), format!("{APP}{LINK}"));
    assert_eq!(app.follow(&answer).await.status, 200);
}

#[tokio::test]
async fn a_page_sends_no_mail_while_a_code_can_be_typed() {
    let server = server().await;
    let (mut app, mut browser) = (App::new(&server), Browser::of(&server, "Ada", ADA).await);
    let path = verify_path(&enter(&mut app, &mut browser).await);
    for _ in 0..3 {
        browser.get(&path).await;
    }
    assert_eq!(mail_count(&server).await, 1, "that of the sign-up");

    let page = browser.get(&path).await;
    let answer = browser.post("/verify/send", &fields(&page, "/verify/send", &[])).await;
    assert_shows(&browser.get(location(&answer)).await, 200, &["notice", "go on to Reports"]);
    assert_eq!(mail_count(&server).await, 2);
    mailed_path(&server, Purpose::VerifyEmail).await;
}

#[tokio::test]
async fn a_code_that_can_no_longer_be_typed_is_replaced_once() {
    // It has expired.
    let server = server().await;
    let (_, mut browser, path) = signed_up(&server).await;
    server.let_pass(Duration::from_secs(4 * 24 * 60 * 60));
    browser.sign_in(ADA).await;
    for _ in 0..3 {
        assert_shows(&browser.get(&path).await, 200, &["go on to Reports"]);
    }
    assert_eq!(mail_count(&server).await, 2);

    // It was guessed at too often.
    let server = self::server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    let page = browser.get(&path).await;
    for _ in 0..10 {
        let wrong = fields(&page, "/verify", &[("code", "0000 0000")]);
        assert_shows(&browser.post("/verify", &wrong).await, 400, &["code-fault"]);
    }
    // The new code is the one that expires last.
    server.let_pass(Duration::from_secs(1));
    for _ in 0..3 {
        assert_shows(&browser.get(&path).await, 200, &["go on to Reports"]);
    }
    assert_eq!(mail_count(&server).await, 2);
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[("code", &code)])).await;
    assert_arrives(&mut app, &answer).await;
}

#[tokio::test]
async fn an_address_that_gets_too_much_mail_says_so_on_the_page() {
    let server = server().await;
    let (_, mut browser, path) = signed_up(&server).await;
    let page = browser.get(&path).await;
    let mut answer = browser.post("/verify/send", &fields(&page, "/verify/send", &[])).await;
    for _ in 0..5 {
        if answer.status != 303 {
            break;
        }
        answer = browser.post("/verify/send", &fields(&page, "/verify/send", &[])).await;
    }
    assert_shows(&answer, 429, &["too many attempts", "name=\"code\"", "go on to Reports"]);
    assert!(answer.header(header::RETRY_AFTER).is_some());
    // The latest code works.
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let right = browser.post("/verify", &fields(&answer, "/verify", &[("code", &code)])).await;
    assert!(location(&right).starts_with(APP));
}

#[tokio::test]
async fn nobody_goes_round_in_circles() {
    let server = server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    let target = sealed(&path).to_owned();
    // Without a session of Doorward: sign in, with the same target.
    let mut other = Browser::new(&server);
    assert_goes_to(&other.get(&path).await, &format!("/sign-in?for={target}"));
    let page = browser.get(&path).await;
    let resend = fields(&page, "/verify/send", &[]);
    let answer = other.post("/verify/send", &resend).await;
    assert_goes_to(&answer, &format!("/sign-in?for={target}"));

    // Somebody else is signed in to Doorward than to the app: they are asked, and go on as themselves.
    let mut bob = Browser::of(&server, "Bob", "bob@example.com").await;
    assert_shows(&bob.get(&path).await, 200, &["bob@example.com"]);
    server.order("PATCH", "bob@example.com", "", json!({"emailVerified": true})).await;
    let mut shared = App { cookies: app.cookies.clone(), ..App::new(&server) };
    assert_arrives(&mut shared, &bob.get(&path).await).await;

    // What is still false afterwards is a refusal.
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[("code", &code)])).await;
    server.order("PUT", ADA, "/roles/banned", Value::Null).await;
    let back = app.follow(&answer).await;
    let refused = app.follow(&back).await;
    assert_shows(&refused, 403, &["You have no access to Reports"]);
    let back = app.follow(&browser.get(&path).await).await;
    assert_eq!(app.follow(&back).await.status, 403);
}

#[tokio::test]
async fn only_what_a_person_can_reach_is_asked_for() {
    // Without mail.
    let server = super::server_with(GUARDS).await;
    let (mut app, mut browser) = (App::new(&server), Browser::of(&server, "Ada", ADA).await);
    let refused = enter(&mut app, &mut browser).await;
    assert_shows(&refused, 403, &["You have no access to Reports"]);
    let decision = refused.header("x-decision-id").unwrap();
    assert_eq!(server.doorward.refusal(decision).unwrap().missing, None);
    // With mail, but a verified address would not do.
    let server = self::server().await;
    let (mut app, mut browser) = (App::new(&server), Browser::of(&server, "Ada", ADA).await);
    server.order("PUT", ADA, "/roles/banned", Value::Null).await;
    assert_eq!(enter(&mut app, &mut browser).await.status, 403);
}

#[tokio::test]
async fn a_page_is_sent_to_confirm_and_everything_else_is_told() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await;
    let session = server.doorward.caller(&ada.token).await.unwrap().session;
    let cookie = server.doorward.cookies().app_cookie(&session, APP);
    let cookie = format!("__Host-doorward-app={cookie}");
    let ask = async |guard: &str, method: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("/api/auth/{guard}"))
            .header("x-forwarded-method", method)
            .header("x-original-method", method)
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "app.example.com")
            .header("x-forwarded-uri", LINK)
            .header("x-original-uri", LINK);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Body::empty()).unwrap()).await
    };
    let cookie = ("cookie", &*cookie);
    let page = [cookie, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];

    for guard in ["reports", "nginx?answer=full"] {
        let answer = ask(guard, "GET", &page).await;
        let path = verify_path(&answer);
        let target = server.doorward.cookies().open_target(sealed(&path)).unwrap();
        assert_eq!(target.url, format!("{APP}{LINK}"));
        assert!(answer.set_cookies()[0].starts_with("__Host-doorward-try-"));
        let decision = answer.header("x-decision-id").unwrap();
        let missing = server.doorward.refusal(decision).unwrap().missing.unwrap();
        assert_eq!(missing.sentence(), "would be admitted with a verified address");
    }
    // nginx asks for the answer when it has seen the status.
    let first = ask("nginx", "GET", &page).await;
    assert_eq!((first.status.as_u16(), first.header(header::LOCATION)), (403, None));
    // A form leads back to its page.
    let form = [
        &page[..],
        &[("sec-fetch-site", "same-origin"), ("referer", "https://app.example.com/editor")],
    ];
    let answer = ask("reports", "POST", &form.concat()).await;
    let path = verify_path(&answer);
    let target = server.doorward.cookies().open_target(sealed(&path)).unwrap();
    assert_eq!(target.url, format!("{APP}/editor"));

    let script = ask("reports", "GET", &[cookie, ("sec-fetch-mode", "cors")]).await;
    let body = r#"{"message":"The requested action is not allowed. You would be admitted with a verified address."}"#;
    assert_eq!(script.status_and_body(), (403, body));
    let token = server.guard("reports", &ada.token).await;
    assert_eq!(token.status_and_body(), (401, UNAUTHORIZED));
    assert_eq!(
        token.header(header::WWW_AUTHENTICATE),
        Some(
            r#"Bearer realm="doorward", error_description="would be admitted with a verified address", error="insufficient_scope""#
        )
    );
    // The page about the decision says so to the person and to operators, and to nobody else.
    let decision = script.header("x-decision-id").unwrap();
    let (page, sentence) = (format!("/refused/{decision}"), "with a confirmed e-mail address");
    let mut own = Browser::new(&server);
    own.sign_in(ADA).await;
    assert_shows(&own.get(&page).await, 200, &[sentence]);
    let mut bob = Browser::of(&server, "Bob", "bob@example.com").await;
    assert!(!bob.get(&page).await.body.contains(sentence));
    server.order("PUT", "bob@example.com", "/roles/admin", Value::Null).await;
    assert_shows(&bob.get(&page).await, 200, &[sentence, "user.emailVerified"]);

    // `guard check` says the same, and nothing of one who is admitted.
    let check = async |guard: &str| {
        let path = format!("/api/admin/guards/{guard}/check");
        let decision = server.ordered("POST", &path, json!({"user": ADA})).await;
        (decision["admitted"].as_bool().unwrap(), decision.get("missing").is_some())
    };
    assert_eq!(check("reports").await, (false, true));
    assert_eq!(check("open").await, (true, false));
}

#[tokio::test]
async fn an_unsealed_target_is_ignored_everywhere() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", ADA).await;
    let seal = |guard: &str, url: &str| {
        let target = ReturnTarget { guard: guard.into(), url: url.into(), attempt: None };
        server.doorward.cookies().seal_target(&target)
    };
    let bad = [
        "https://app.example.com/".to_owned(),
        "//evil.example".to_owned(),
        seal("reports", "https://evil.example/"),
        seal("gone", "https://app.example.com/"),
        seal("open", "https://app.example.com/"),
    ];
    for bad in &bad {
        for path in ["/verify", "/verify?done=verified", "/forgot", "/reset", "/sign-out"] {
            let mark = if path.contains('?') { '&' } else { '?' };
            let page = browser.get(&format!("{path}{mark}for={bad}")).await;
            assert_shows(&page, 200, &[]);
            for absent in ["evil.example", "name=\"for\"", "?for=", "Continue to"] {
                assert!(!page.body.contains(absent), "{path}: {absent}");
            }
            let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
            assert!(policy.contains("form-action 'self';"), "{policy}");
        }
    }
    let answer = browser.post(&format!("/sign-out?for={}", bad[2]), &[]).await;
    assert_goes_to(&answer, "/sign-in?signed-out=1");
    // One of the app is followed, without a code.
    let good = seal("reports", "https://app.example.com/x");
    let form = [("email", ADA), ("password", PASSWORD), ("for", &*good)];
    let answer = browser.post("/sign-in", &form).await;
    assert_eq!(location(&answer), "https://app.example.com/x");
}

#[tokio::test]
async fn signing_out_on_the_way_to_an_app_returns_to_it() {
    let server = server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    let sign_out = path.replace("/verify", "/sign-out");
    let page = browser.get(&sign_out).await;
    assert_shows(&page, 200, &[&format!("action=\"{sign_out}\"")]);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains(" https://app.example.com; "), "{policy}");
    let answer = browser.post(&sign_out, &[]).await;
    assert_eq!(location(&answer), format!("{APP}{LINK}"));
    assert!(!browser.is_signed_in().await);
    let asked = app.follow(&answer).await;
    assert!(page_path(&asked).starts_with("/sign-in?for="));
    // Nobody is signed in any more.
    let target = sealed(&path);
    assert_goes_to(&browser.get(&sign_out).await, &format!("/sign-in?for={target}"));
}

/// It has no guard, and its paths are below that of `public_url`.
#[tokio::test]
async fn a_page_of_the_embedding_app_is_returned_to() {
    let server = TestServer::open_with(|settings| {
        with_mail(settings).with("public_url", "https://auth.example.net/auth")
    })
    .await;
    let target = ReturnTarget { guard: String::new(), url: "/plans?a=1".into(), attempt: None };
    let sealed = server.doorward.cookies().seal_target(&target);
    let mut browser = Browser::new(&server);
    let answer = browser.post(&format!("/sign-out?for={sealed}"), &[]).await;
    assert_goes_to(&answer, "/auth/plans?a=1");
    let page = browser.get(&format!("/verify?done=verified&for={sealed}")).await;
    assert_shows(&page, 200, &["href=\"/auth/plans?a=1\""]);
}

#[tokio::test]
async fn a_new_password_leads_back_to_the_app() {
    let server = server().await;
    Browser::of(&server, "Ada", ADA).await;
    for by_link in [false, true] {
        let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
        let sign_in = page_path(&app.get(LINK).await).to_owned();
        let forgot = sign_in.replace("/sign-in", "/forgot");
        assert_shows(&browser.get(&sign_in).await, 200, &[&forgot]);
        let page = browser.get(&forgot).await;
        let page = browser.post("/forgot", &fields(&page, "/forgot", &[("email", ADA)])).await;
        assert_shows(&page, 200, &[&forgot, &sign_in]);
        let new = ("password", "battery staple horse");
        let answer = if by_link {
            // On another device.
            browser = Browser::new(&server);
            app = App::new(&server);
            let page = browser.get(&mailed_path(&server, Purpose::ResetPassword).await).await;
            browser.post("/reset", &fields(&page, "/reset", &[new])).await
        } else {
            let code = mailed(&server, ADA, Purpose::ResetPassword).await.code;
            browser.post("/reset", &fields(&page, "/reset", &[("code", &code), new])).await
        };
        assert!(location(&answer).starts_with("/sign-in?done=reset&for="), "{by_link}");
        let page = browser.get(location(&answer)).await;
        assert_shows(&page, 200, &["Sign in to Reports"]);
        let typed = [("email", ADA), new];
        let answer = browser.post("/sign-in", &fields(&page, "/sign-in", &typed)).await;
        if by_link {
            assert_eq!(location(&answer), format!("{APP}{LINK}"));
            assert_eq!(enter(&mut app, &mut browser).await.status, 200);
        } else {
            assert_arrives(&mut app, &answer).await;
        }
        server.let_pass(Duration::from_secs(60 * 60));
    }
}

#[tokio::test]
async fn a_mailed_link_that_signs_in_leads_back_to_the_app() {
    let server = server().await;
    server.register_with(serde_json::json!({"name": "Ada", "email": ADA})).await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let sign_in = page_path(&app.get(LINK).await).to_owned();
    let page = browser.get(&sign_in.replace("/sign-in", "/sign-in/code")).await;
    let typed = [("email", ADA)];
    browser.post("/sign-in/code", &fields(&page, "/sign-in/code", &typed)).await;

    let (mut app_on_phone, mut phone) = (App::new(&server), Browser::new(&server));
    let page = phone.get(&mailed_path(&server, Purpose::SignIn).await).await;
    assert_shows(&page, 200, &["Sign in to Reports", "You sign in as ada@example.com."]);
    let form = fields(&page, "/sign-in/code/use", &[]);
    let answer = phone.post("/sign-in/code/use", &form).await;
    assert_eq!(location(&answer), format!("{APP}{LINK}"));
    assert_eq!(enter(&mut app_on_phone, &mut phone).await.status, 200, "the code has verified it");
}

#[tokio::test]
async fn a_silent_sign_up_leads_back_to_the_app() {
    let server = server_with("registration_conflict = \"silent\"").await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let sign_in = page_path(&app.get(LINK).await).to_owned();
    let form = [("name", "Ada"), ("email", ADA), ("password", PASSWORD), ("for", sealed(&sign_in))];
    let answer = browser.post("/sign-up", &form).await;
    let page = browser.get(location(&answer)).await;
    assert_shows(&page, 200, &["Look into your mail", &sign_in]);
    let page = browser.get(&mailed_path(&server, Purpose::VerifyEmail).await).await;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[])).await;
    assert_shows(&browser.get(location(&answer)).await, 200, &["Continue to Reports"]);
    // In the browser that began, the first target still works.
    let page = browser.get(&sign_in).await;
    let typed = [("email", ADA), ("password", PASSWORD)];
    let answer = browser.post("/sign-in", &fields(&page, "/sign-in", &typed)).await;
    assert_arrives(&mut app, &answer).await;
}

#[tokio::test]
async fn an_invited_person_confirms_the_address_on_the_way_to_the_app() {
    let server = server_with("registration = \"invited\"").await;
    let invite = json!({"email": ADA, "mail": false});
    let ticket = server.operator("POST", "/api/admin/invitations", invite).await.json();
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let sign_in = page_path(&app.get(LINK).await).to_owned();
    let page = browser.get(&sign_in.replace("/sign-in", "/sign-up")).await;
    let path = format!("/sign-up?invitation=&#38;for={}", sealed(&sign_in));
    assert_shows(&page, 200, &["You need an invitation", &path]);
    let page = browser.get(&path.replace("&#38;", "&")).await;
    let code = ticket["code"].as_str().unwrap().to_owned();
    let typed = [("name", "Ada"), ("email", ADA), ("password", PASSWORD), ("invitation", &*code)];
    let answer = browser.post("/sign-up", &fields(&page, "/sign-up", &typed)).await;
    let back = app.follow(&answer).await;
    let path = verify_path(&app.follow(&back).await);
    let page = browser.get(&path).await;
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[("code", &code)])).await;
    assert_arrives(&mut app, &answer).await;
}

#[tokio::test]
async fn a_new_address_that_waits_is_the_one_that_is_asked_for() {
    let server = server().await;
    let (mut app, mut browser, path) = signed_up(&server).await;
    let new = "lovelace@example.org";
    let form = [("email", new), ("password", PASSWORD)];
    assert_goes_to(&browser.post("/account/email", &form).await, "/account?done=email-sent");
    let before = mail_count(&server).await;
    let page = browser.get(&path).await;
    assert_shows(&page, 200, &["We mailed a code to lovelace@example.org."]);
    assert!(!page.body.contains("/verify/send"), "the account sends it");
    assert_eq!(mail_count(&server).await, before);
    let code = mailed(&server, new, Purpose::ChangeEmail).await.code;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[("code", &code)])).await;
    assert_arrives(&mut app, &answer).await;
}

#[tokio::test]
async fn a_long_link_is_mailed_as_the_start_page_and_typed_as_itself() {
    let server = server().await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let link = format!("/long?q={}", "x".repeat(1500));
    let sign_in = page_path(&app.get(&link).await).to_owned();
    let form = [("name", "Ada"), ("email", ADA), ("password", PASSWORD), ("for", sealed(&sign_in))];
    let code = browser.post("/sign-up", &form).await;
    let back = app.follow(&code).await;
    let path = verify_path(&app.follow(&back).await);
    let mail = mailed_path(&server, Purpose::VerifyEmail).await;
    let target = server.doorward.cookies().open_target(sealed(&mail)).unwrap();
    assert_eq!((target.url, target.attempt), (format!("{APP}/"), None));
    let page = browser.get(&path).await;
    let code = mailed(&server, ADA, Purpose::VerifyEmail).await.code;
    let answer = browser.post("/verify", &fields(&page, "/verify", &[("code", &code)])).await;
    assert_eq!(location(&app.follow(&answer).await), format!("{APP}{link}"));
}

/// A frame or a script of an app, with the session cookie of the person.
#[tokio::test]
async fn a_frame_gets_no_code_and_sends_no_mail() {
    let server = server().await;
    let (_, mut browser, path) = signed_up(&server).await;
    server.let_pass(Duration::from_secs(4 * 24 * 60 * 60));
    browser.sign_in(ADA).await;
    let ask = async || {
        let request = Request::get(&*path)
            .header(header::HOST, super::HOST)
            .header(header::COOKIE, cookie_header(&browser.cookies))
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "iframe");
        server.send(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask().await.status, 200);
    assert_eq!(mail_count(&server).await, 1, "that of the sign-up");
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    assert_eq!(ask().await.status, 403);
}
