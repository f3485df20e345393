//! Guards on what a session has proved and how long ago: what they ask for, and what older cookies of the session still count
//! for.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::{
    Internals,
    access::guard::Missing,
    http::api::admin::guards::GuardCheck,
    session::{Method, Methods, Session, TokenId},
    store::{AddFactor, Effects, SessionStart, SignIn, SignInWritten},
    user::StoredTotp,
};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{Answer, Member, TestServer, malformed};

const ADA: &str = "ada@example.com";
const APP: &str = "https://app.example.com";
const PUBLIC: &str = "https://auth.example.net";
const LINK: &str = "/reports/q3?a=1&b=%20+%C3%A4";
const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);
const PROXIED: &str = "proxy = \"caddy\"\norigins = [\"https://app.example.com\"]";

async fn server() -> TestServer {
    let file = format!(
        r#"
        [guards.open]
        allow = 'true'
        {PROXIED}
        [guards.fresh]
        allow = 'request.time - session.verifiedAt < duration("10m")'
        {PROXIED}
        [guards.strong]
        allow = 'session.strength >= 2'
        headers = {{ X-Factors = "session.factors", X-Strength = "session.strength" }}
        {PROXIED}
        [guards.resistant]
        allow = 'session.phishingResistant'
        {PROXIED}
        [guards.boss]
        allow = '"boss" in user.roles && session.strength >= 2'
        {PROXIED}
        [guards.nginx]
        allow = 'session.strength >= 2'
        proxy = "nginx"
        origins = ["https://app.example.com"]
        "#
    );
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(&file)).await
}

async fn session_of(server: &TestServer, member: &Member) -> Session {
    (*server.doorward.caller(&member.token).await.unwrap().session).clone()
}

/// Gives a user an authenticator app.
async fn add_totp(server: &TestServer, member: &Member) {
    let user = server.doorward.caller(&member.token).await.unwrap().user;
    let totp = StoredTotp {
        user_id: user.id,
        secret: vec![1; 48],
        last_step: 0,
        created_at: server.now(),
        last_used_at: None,
    };
    let store = server.doorward.store();
    let added = store.add_totp(&user, &totp, &[], None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
}

/// The session after it has proved a password and a code of an authenticator app.
async fn step_up(server: &TestServer, before: &Session) -> Session {
    let (_, user) = server.doorward.store().session_with_user(before.id).await.unwrap().unwrap();
    let mut session = before.clone();
    session.token_id = TokenId::random();
    session.authenticated_at = server.now();
    session.methods = Methods::at(server.now(), [Method::Password, Method::Totp]);
    let start = SessionStart::StepUp { session: session.clone(), replaces: before.token_id };
    let sign_in = SignIn { start, ..SignIn::new(&user, session.clone()) };
    let written = server.doorward.store().sign_in(sign_in, &Effects::NONE).await.unwrap();
    assert!(matches!(written, SignInWritten::Begun(_)), "{written:?}");
    session
}

fn app_cookie(server: &TestServer, session: &Session) -> String {
    format!("__Host-doorward-app={}", server.doorward.cookies().app_cookie(session, APP))
}

/// What a guard answers to the browser of an app.
async fn ask(server: &TestServer, guard: &str, cookie: &str, fetch: [(&str, &str); 2]) -> Answer {
    let mut request = Request::get(format!("/api/auth/{guard}"))
        .header("x-forwarded-method", "GET")
        .header("x-original-method", "GET")
        .header("x-forwarded-proto", "https")
        .header("x-forwarded-host", "app.example.com")
        .header("x-forwarded-uri", LINK)
        .header("x-original-uri", LINK)
        .header("cookie", cookie);
    for (name, value) in fetch {
        request = request.header(name, value);
    }
    server.send(request.body(Body::empty()).unwrap()).await
}

/// A person opens the link.
async fn visit(server: &TestServer, guard: &str, cookie: &str) -> Answer {
    let page = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    ask(server, guard, cookie, page).await
}

/// A script of the app asks for it.
async fn fetch(server: &TestServer, guard: &str, cookie: &str) -> Answer {
    ask(server, guard, cookie, [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")]).await
}

/// Asserts that a person is sent to a page that leads back to the link. `rest` follows the return target in the URL.
#[track_caller]
fn assert_sent(server: &TestServer, answer: &Answer, page: &str, rest: &str) {
    assert_eq!(answer.status, 303, "{}", answer.body);
    let location = answer.header(header::LOCATION).unwrap();
    let query = location.strip_prefix(&format!("{PUBLIC}{page}?for=")).expect(location);
    let sealed = query.strip_suffix(rest).expect(location);
    let target = server.doorward.cookies().open_target(sealed).expect(location);
    assert_eq!(target.url, format!("{APP}{LINK}"));
    assert!(target.attempt.is_some());
    assert!(answer.set_cookies()[0].starts_with("__Host-doorward-try-"));
}

/// What operators are told about a refusal.
#[track_caller]
fn sentence(server: &TestServer, answer: &Answer) -> Option<String> {
    let decision = answer.header("x-decision-id").expect("an id");
    server.doorward.refusal(decision).unwrap().missing.map(|missing| missing.sentence())
}

#[track_caller]
fn assert_challenged(answer: &Answer, wanted: &str, sentence: &str) {
    let challenge = format!(
        r#"Bearer realm="doorward", error_description="would be admitted {sentence}", {wanted}, error="insufficient_user_authentication""#
    );
    assert_eq!(answer.header(header::WWW_AUTHENTICATE), Some(&*challenge));
    let message = format!(
        "The provided credentials are either invalid or has insufficient privilege to perform the requested action. You \
         would be admitted {sentence}."
    );
    assert_eq!((answer.status.as_u16(), answer.json()["message"].as_str()), (401, Some(&*message)));
}

#[tokio::test]
async fn whoever_has_signed_in_long_ago_is_asked_to_sign_in_again() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await;
    let session = session_of(&server, &ada).await;
    let cookie = app_cookie(&server, &session);
    assert_eq!(server.guard("fresh", &ada.token).await.status, 200);
    server.let_pass(TEN_MINUTES - Duration::from_secs(1));
    assert_eq!(server.guard("fresh", &ada.token).await.status, 200);
    assert_eq!(visit(&server, "fresh", &cookie).await.status, 200);
    server.let_pass(Duration::from_secs(1));

    let again = "after signing in again";
    let program = server.guard("fresh", &ada.token).await;
    assert_challenged(&program, r#"max_age="60""#, again);
    assert_eq!(sentence(&server, &program), Some(format!("would be admitted {again}")));
    assert_challenged(&fetch(&server, "fresh", &cookie).await, r#"max_age="60""#, again);
    let page = visit(&server, "fresh", &cookie).await;
    assert_sent(&server, &page, "/step-up", "&ask=again");
    assert_eq!(sentence(&server, &page), Some(format!("would be admitted {again}")));
    assert_eq!(server.guard("open", &ada.token).await.status, 200);

    let token = server.token_of(ADA, "correct horse").await;
    assert_eq!(server.guard("fresh", &token).await.status, 200);
    // A refresh proves nothing.
    let answer = server.request_as(&ada.token, "POST", "/api/auth/refresh", ().into()).await;
    let refreshed = answer.json()["token"].as_str().unwrap().to_owned();
    assert_challenged(&server.guard("fresh", &refreshed).await, r#"max_age="60""#, again);
}

#[tokio::test]
async fn whoever_holds_no_factor_that_suffices_is_sent_to_set_one_up() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await;
    let cookie = app_cookie(&server, &session_of(&server, &ada).await);
    let none = "with a second factor (none that suffices is set up)";
    assert_challenged(&server.guard("strong", &ada.token).await, r#"acr_values="2""#, none);
    assert_sent(&server, &visit(&server, "strong", &cookie).await, "/account/security", "");
    // A code would not be enough.
    let passkey = "with a passkey (none is set up)";
    let refused = server.guard("resistant", &ada.token).await;
    assert_challenged(&refused, r#"acr_values="phr""#, passkey);
    assert_eq!(sentence(&server, &refused), Some(format!("would be admitted {passkey}")));
    let sent = visit(&server, "resistant", &cookie).await;
    assert_sent(&server, &sent, "/account/security", "&ask=phr");
    // Nothing that she can do would be enough.
    let refused = server.guard("boss", &ada.token).await;
    assert_eq!(
        refused.header(header::WWW_AUTHENTICATE),
        Some(r#"Bearer realm="doorward", error="insufficient_scope""#)
    );
    assert_eq!(sentence(&server, &refused), None);
    assert_eq!(visit(&server, "boss", &cookie).await.status, 403);
    assert_eq!(fetch(&server, "boss", &cookie).await.status, 403);

    add_totp(&server, &ada).await;
    let two = "with two factors";
    assert_challenged(&server.guard("strong", &ada.token).await, r#"acr_values="2""#, two);
    assert_challenged(&fetch(&server, "strong", &cookie).await, r#"acr_values="2""#, two);
    assert_sent(&server, &visit(&server, "strong", &cookie).await, "/step-up", "&ask=two");
    let refused = server.guard("resistant", &ada.token).await;
    assert_challenged(&refused, r#"acr_values="phr""#, passkey);
    let sent = visit(&server, "resistant", &cookie).await;
    assert_sent(&server, &sent, "/account/security", "&ask=phr");
    // nginx asks for the answer when it has seen the status.
    assert_eq!(visit(&server, "nginx", &cookie).await.status, 403);
    let full = visit(&server, "nginx?answer=full", &cookie).await;
    assert_sent(&server, &full, "/step-up", "&ask=two");
    assert_eq!(fetch(&server, "nginx", &cookie).await.status, 403);
    let full = fetch(&server, "nginx?answer=full", &cookie).await;
    assert_challenged(&full, r#"acr_values="2""#, two);
}

#[tokio::test]
async fn a_step_up_replaces_the_token_and_the_own_cookie_and_other_apps_stay_open() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await;
    add_totp(&server, &ada).await;
    let before = session_of(&server, &ada).await;
    let (own_before, app_before) =
        (server.doorward.cookies().session_cookie(&before), app_cookie(&server, &before));
    let account = async |cookie: &str| {
        let request = Request::get("/account").header("host", "auth.example.net");
        let request = request.header("cookie", format!("__Host-doorward={cookie}"));
        server.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
    };
    assert_eq!(account(&own_before).await, 200);
    assert_eq!(visit(&server, "open", &app_before).await.status, 200);
    server.let_pass(Duration::from_secs(5));
    let after = step_up(&server, &before).await;

    assert_eq!(server.guard("open", &ada.token).await.status, 401, "the token");
    assert_eq!(account(&own_before).await, 303, "the cookie of the pages");
    assert_eq!(account(&server.doorward.cookies().session_cookie(&after)).await, 200);

    // The browser of another app has not given the second factor there.
    assert_eq!(visit(&server, "open", &app_before).await.status, 200);
    for _ in 0..2 {
        let asked = visit(&server, "strong", &app_before).await;
        assert_sent(&server, &asked, "/sign-in", "");
        assert_eq!(fetch(&server, "strong", &app_before).await.status, 401);
    }
    // The sign-in page gives it a new cookie: the session has proved it already.
    let app_after = app_cookie(&server, &after);
    let admitted = visit(&server, "strong", &app_after).await;
    assert_eq!(admitted.status, 200);
    assert_eq!(admitted.header("x-factors"), Some("pwd,totp"));
    assert_eq!(admitted.header("x-strength"), Some("2"));

    // An older cookie is as old as it says.
    server.let_pass(TEN_MINUTES - Duration::from_secs(3));
    assert_eq!(visit(&server, "fresh", &app_after).await.status, 200);
    assert_sent(&server, &visit(&server, "fresh", &app_before).await, "/sign-in", "");
    assert_eq!(fetch(&server, "fresh", &app_before).await.status, 401);
}

#[tokio::test]
async fn guard_check_takes_what_a_session_has_proved() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await;
    let check = async |guard: &str, factors: Option<&str>, verified_ago: Duration| {
        let check = GuardCheck {
            user: ADA.to_owned(),
            factors: factors.map(|names| names.split(',').map(str::to_owned).collect()),
            verified_seconds_ago: Some(verified_ago.as_secs()),
            request: None,
        };
        let path = format!("/api/admin/guards/{guard}/check");
        server.operator("POST", &path, serde_json::to_value(check).unwrap()).await
    };
    let decision = async |guard: &str, factors: Option<&str>, verified_ago: Duration| {
        let answer = check(guard, factors, verified_ago).await;
        let decision: Value = serde_json::from_str(&answer.body).unwrap();
        match (decision["admitted"].as_bool(), decision.get("missing")) {
            (Some(true), None) => "admitted".to_owned(),
            (Some(false), Some(missing)) => Missing::deserialize(missing).unwrap().sentence(),
            _ => panic!("{decision}"),
        }
    };
    let (now, long_ago) = (Duration::ZERO, TEN_MINUTES);
    let none = "would be admitted with a second factor (none that suffices is set up)";
    assert_eq!(decision("fresh", None, now).await, "admitted");
    let again = "would be admitted after signing in again";
    assert_eq!(decision("fresh", None, long_ago).await, again);
    assert_eq!(decision("strong", None, now).await, none);
    assert_eq!(decision("strong", Some("pwd,totp"), now).await, "admitted");
    assert_eq!(decision("resistant", Some("passkey"), long_ago).await, "admitted");
    add_totp(&server, &ada).await;
    // As if she had just signed in.
    assert_eq!(decision("strong", None, now).await, "admitted");
    let two = "would be admitted with two factors";
    assert_eq!(decision("strong", Some("pwd"), now).await, two);
    let unknown = check("strong", Some("pwd,telepathy"), now).await;
    let reason = "telepathy is not a way to sign in: choose from pwd, otp, totp, passkey, key, recovery, device, external, external-mfa";
    let expected = malformed(&format!(r#"{{"factors":"{reason}"}}"#));
    assert_eq!(unknown.status_and_body(), (400, &*expected));
}

#[test]
fn examples_have_second_factors_and_an_age() {
    let file = |example: &str| {
        format!(
            "[guards.a]\nallow = '''\"totp\" in user.factors && session.strength >= 2 &&\n  request.time - \
             session.verifiedAt < duration(\"10m\")'''\n[[guards.a.expect]]\n{example}"
        )
    };
    for example in [
        r#"allow = true
user = { factors = ["totp"] }
session = { factors = ["pwd", "totp"] }"#,
        r#"allow = true
user = { factors = ["totp", "passkey"] }
session = { factors = ["passkey"], verifiedAgo = "9m" }"#,
        r#"allow = false
user = { factors = ["totp"] }
session = { factors = ["passkey"], verifiedAgo = "10m" }"#,
        r#"allow = false
user = { factors = ["totp"] }"#,
        r#"allow = false
session = { factors = ["pwd", "totp"] }"#,
    ] {
        let read = TestServer::settings_from(&file(example)).map(|_| ());
        assert_eq!(read, Ok(()), "{example}");
    }
    for (example, message) in [
        (
            "allow = false\nsession = { factors = [\"telepathy\"] }",
            "not a way to sign in: pwd, otp, totp, passkey, key, recovery, device",
        ),
        (
            "allow = false\nuser = { factors = [\"pwd\"] }",
            "not a kind of second factor: passkey, key, totp",
        ),
        ("allow = false\nsession = { verifiedAgo = \"soon\" }", "not a duration"),
        ("allow = true\nuser = { factors = [\"totp\"] }", "session.strength >= 2 is false"),
    ] {
        let error = TestServer::settings_from(&file(example)).map(|_| ()).unwrap_err();
        assert!(error.contains(message), "{example}: {error}");
    }
}
