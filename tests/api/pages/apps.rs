//! Signing in to an app: from its guard to the sign-in page and back, and the list of a person's apps.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::{
    Internals,
    token::cookie::{AttemptDigest, ReturnTarget},
};
use serde_json::Value;

use super::{
    Browser, Cookies, PASSWORD, assert_goes_to, assert_shows, cookie_header, keep_cookies,
    server_with,
};
use crate::support::{Answer, TestServer};

pub(super) const GUARDS: &str = r#"
    [guards.reports]
    title = "Reports"
    allow = '!("banned" in user.roles)'
    proxy = "caddy"
    origins = ["https://app.example.com", "https://app.example.org:8443"]

    [guards.wiki]
    allow = 'user.name == "Ada"'
    proxy = "caddy"
    origins = ["https://wiki.example.com"]

    [guards.api]
    allow = "true"
"#;
const APP: &str = "https://app.example.com";

/// The browser on the host of an app, behind Caddy.
pub(super) struct App<'s> {
    pub(super) server: &'s TestServer,
    pub(super) host: &'static str,
    pub(super) guard: &'static str,
    pub(super) cookies: Cookies,
    /// What the browser says that it asks for.
    pub(super) purpose: Option<&'static str>,
}

impl<'s> App<'s> {
    pub(super) fn new(server: &'s TestServer) -> Self {
        Self {
            server,
            host: "app.example.com",
            guard: "reports",
            cookies: Cookies::new(),
            purpose: None,
        }
    }

    pub(super) async fn get(&mut self, target: &str) -> Answer {
        let request = Request::get(format!("/api/auth/{}", self.guard))
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", self.host)
            .header("x-forwarded-uri", target)
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .header("sec-fetch-site", "none")
            .header(header::COOKIE, cookie_header(&self.cookies));
        let request = match self.purpose {
            Some(purpose) => request.header("sec-purpose", purpose),
            None => request,
        };
        let answer = self.server.send(request.body(Body::empty()).unwrap()).await;
        keep_cookies(&mut self.cookies, &answer);
        answer
    }

    /// Follows a redirect to this app.
    pub(super) async fn follow(&mut self, answer: &Answer) -> Answer {
        let origin = format!("https://{}", self.host);
        let location = location(answer).strip_prefix(&*origin).expect("on this host");
        self.get(location).await
    }
}

#[track_caller]
pub(super) fn location(answer: &Answer) -> &str {
    assert_eq!(answer.status, 303, "{}", answer.body);
    answer.header(header::LOCATION).unwrap()
}

/// The path of a redirect to a page.
#[track_caller]
pub(super) fn page_path(answer: &Answer) -> &str {
    location(answer).strip_prefix(super::PUBLIC).expect("on the host of Doorward")
}

/// The sealed target in a path.
pub(super) fn sealed(path: &str) -> &str {
    path.split_once("for=").unwrap().1
}

#[tokio::test]
async fn a_person_signs_up_for_an_app_and_returns_to_the_very_link() {
    let server = server_with(GUARDS).await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let link = "/reports?a=1&b=%20+%C3%A4&c=?/#no";
    let sent = app.get(link).await;
    let path = page_path(&sent).to_owned();
    let page = browser.get(&path).await;
    assert_shows(&page, 200, &["Sign in to Reports", sealed(&path)]);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains("; form-action 'self' https://app.example.com; "), "{policy}");
    let sign_up = path.replace("/sign-in", "/sign-up");
    assert!(page.body.contains(&sign_up), "{sign_up}");
    assert_shows(&browser.get(&sign_up).await, 200, &["Create an account to use Reports"]);

    // A fault keeps the target.
    let target = sealed(&path);
    let mut fields =
        vec![("name", "Ada"), ("email", "ada"), ("password", PASSWORD), ("for", target)];
    let answer = browser.post("/sign-up", &fields).await;
    assert_shows(&answer, 400, &[target, "email-fault"]);
    let policy = answer.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.contains(" https://app.example.com; "), "{policy}");
    fields[1].1 = "ada@example.com";
    let answer = browser.post("/sign-up", &fields).await;
    assert!(location(&answer).starts_with("https://app.example.com/.doorward/in?code="));
    let answer = app.follow(&answer).await;
    assert_eq!(location(&answer), format!("{APP}{link}"));
    assert_eq!(app.follow(&answer).await.status, 200);

    // The second app needs no form.
    let mut other = App { host: "app.example.org:8443", ..App::new(&server) };
    let sent = other.get("/").await;
    let answer = browser.get(page_path(&sent)).await;
    let answer = other.follow(&answer).await;
    assert_eq!(location(&answer), "https://app.example.org:8443/");
    assert_eq!(other.follow(&answer).await.status, 200);

    // Signing out reaches both.
    browser.post("/sign-out", &[]).await;
    assert_eq!(app.get("/").await.status, 303);
    assert_eq!(other.get("/").await.status, 303);
}

/// An app's own page, or one of a sibling, causes as many of them as it likes.
#[tokio::test]
async fn prefetching_gets_no_codes_and_costs_none() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut app = App::new(&server);
    let sent = app.get("/reports").await;
    let path = page_path(&sent).to_owned();
    // More than the 120 codes that a person gets.
    for _ in 0..150 {
        for site in ["same-site", "cross-site"] {
            let request = browser.request("GET", &path).header("sec-fetch-site", site);
            let request = request.header("sec-purpose", "prefetch");
            let answer = browser.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 403);
            assert_eq!(answer.header(header::LOCATION), None);
        }
    }
    let code = browser.get(&path).await;
    assert!(location(&code).starts_with("https://app.example.com/.doorward/in?code="));
    // A prefetched link does not use the code up.
    let target = location(&code).strip_prefix(APP).unwrap().to_owned();
    app.purpose = Some("prefetch;prerender");
    let prefetched = app.get(&target).await;
    assert_eq!((prefetched.status.as_u16(), prefetched.set_cookies().len()), (403, 0));
    // A page of the app that needs a sign-in leads nowhere, and keeps nothing in the browser.
    let prefetched = app.get("/other").await;
    assert_eq!((prefetched.status.as_u16(), prefetched.set_cookies().len()), (401, 0));
    assert_eq!(prefetched.header(header::LOCATION), None);
    app.purpose = None;
    let answer = app.get(&target).await;
    assert_eq!(location(&answer), format!("{APP}/reports"));
    assert_eq!(app.follow(&answer).await.status, 200);
    // Whom the app knows may prefetch its pages.
    app.purpose = Some("prefetch");
    assert_eq!(app.get("/other").await.status, 200);
}

#[tokio::test]
async fn a_form_that_was_open_for_a_day_still_works() {
    let server = server_with(GUARDS).await;
    server.register("Ada", "ada@example.com").await;
    let (mut app, mut browser) = (App::new(&server), Browser::new(&server));
    let path = page_path(&app.get("/deep").await).to_owned();
    browser.get(&path).await;
    server.let_pass(Duration::from_secs(24 * 60 * 60));
    let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("for", sealed(&path))];
    let answer = browser.post("/sign-in", &fields).await;
    assert_eq!(location(&app.follow(&answer).await), "https://app.example.com/deep");
}

#[tokio::test]
async fn a_code_is_used_once_in_its_browser_on_its_origin_within_a_minute() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut app = App::new(&server);
    let path = page_path(&app.get("/").await).to_owned();
    const USED: &str = "https://app.example.com/.doorward/in?used";

    let code = browser.get(&path).await;
    let refused = App::new(&server).follow(&code).await;
    assert_eq!(location(&refused), "https://app.example.com/.doorward/in?no-cookie");
    assert_eq!(location(&app.follow(&code).await), USED, "another browser has presented it");

    let code = browser.get(&path).await;
    let mut other_browser = App::new(&server);
    other_browser.get("/").await;
    assert_eq!(location(&other_browser.follow(&code).await), USED);

    let code = browser.get(&path).await;
    let mut other_origin =
        App { host: "app.example.org:8443", cookies: app.cookies.clone(), ..App::new(&server) };
    let elsewhere = location(&code).strip_prefix(APP).unwrap();
    let refused = other_origin.get(elsewhere).await;
    assert_eq!(location(&refused), "https://app.example.org:8443/.doorward/in?used");

    let mut copy = App { cookies: app.cookies.clone(), ..App::new(&server) };
    assert_eq!(location(&app.follow(&code).await), "https://app.example.com/");
    assert_eq!(location(&copy.follow(&code).await), USED);

    let late = browser.get(&path).await;
    server.let_pass(Duration::from_secs(61));
    assert_eq!(location(&copy.follow(&late).await), USED, "expired");
    let in_time = browser.get(&path).await;
    server.let_pass(Duration::from_secs(59));
    assert_eq!(location(&copy.follow(&in_time).await), "https://app.example.com/");
}

#[tokio::test]
async fn a_target_that_is_not_ours_or_no_longer_allowed_is_ignored() {
    let server = server_with(GUARDS).await;
    let seal = |guard: &str, url: &str| {
        let target = ReturnTarget {
            guard: guard.into(),
            url: url.into(),
            attempt: Some(AttemptDigest::of("x")),
        };
        server.doorward.cookies().seal_target(&target)
    };
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let good = seal("reports", "https://app.example.com/x");
    assert!(location(&browser.get(&format!("/sign-in?for={good}")).await).starts_with(APP));
    let other = if good.starts_with('A') { 'B' } else { 'A' };
    let changed = format!("{other}{}", &good[1..]);
    for bad in [
        "https://app.example.com/",
        "//evil.example",
        "",
        "nonsense",
        &changed,
        &seal("reports", "https://evil.example/"),
        &seal("reports", "https://app.example.com.evil.example/"),
        &seal("reports", "https://app.example.com"),
        &seal("reports", "https://app.example.com@evil.example/"),
        &seal("reports", "http://app.example.com/"),
        &seal("reports", "javascript:alert(1)"),
        &seal("gone", "https://app.example.com/"),
        &seal("api", "https://app.example.com/"),
        &seal("wiki", "https://app.example.com/"),
    ] {
        assert_goes_to(&browser.get(&format!("/sign-in?for={bad}")).await, "/account");
        let page = browser.get(&format!("/sign-in?other=1&for={bad}")).await;
        assert_shows(&page, 200, &[]);
        assert!(!page.body.contains("name=\"for\""), "{bad}");
        let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.contains("form-action 'self';"), "{policy}");
        let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("for", bad)];
        assert_goes_to(&browser.post("/sign-in", &fields).await, "/account");
    }
}

/// A script of an app, where the session cookie of the person comes along.
#[tokio::test]
async fn only_a_window_gets_a_code() {
    let server = server_with(GUARDS).await;
    let browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let path = page_path(&App::new(&server).get("/").await).to_owned();
    let ask = async |headers: &[(&str, &str)]| {
        let mut request = Request::get(&*path)
            .header(header::HOST, super::HOST)
            .header(header::COOKIE, cookie_header(&browser.cookies));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Body::empty()).unwrap()).await
    };
    let code = "https://app.example.com/.doorward/in?code=";
    let (mode, dest) = ("sec-fetch-mode", "sec-fetch-dest");
    for site in ["same-site", "cross-site", "same-origin", "none"] {
        let site = ("sec-fetch-site", site);
        for headers in [
            &[site][..],
            &[site, (mode, "navigate"), (dest, "document")],
            &[site, (dest, "document")],
        ] {
            assert!(location(&ask(headers).await).starts_with(code), "{headers:?}");
        }
        for (of_mode, of_dest) in [
            ("cors", "empty"),
            ("no-cors", "empty"),
            ("no-cors", "image"),
            ("navigate", "iframe"),
            ("navigate", "frame"),
            ("navigate", "object"),
            ("navigate", "embed"),
            ("navigate", ""),
            ("", "document"),
        ] {
            let answer = ask(&[site, (mode, of_mode), (dest, of_dest)]).await;
            let body = r#"{"message":"The requested action is not allowed."}"#;
            assert_eq!(answer.status_and_body(), (403, body), "{of_mode} {of_dest}");
            assert_eq!(answer.header(header::LOCATION), None);
        }
    }
}

#[tokio::test]
async fn the_codes_of_a_person_are_limited() {
    let server = server_with(GUARDS).await;
    server.register("Eve", "eve@example.com").await;
    let mut ada = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut eve = Browser::new(&server);
    eve.sign_in("eve@example.com").await;
    let path = page_path(&App::new(&server).get("/").await).to_owned();
    // Every session of the person counts.
    let mut second = Browser::new(&server);
    second.sign_in("ada@example.com").await;
    for number in 0..120 {
        let browser = if number % 2 == 0 { &mut ada } else { &mut second };
        assert_eq!(browser.get(&path).await.status, 303, "{number}");
    }
    let answer = ada.get(&path).await;
    assert_shows(&answer, 429, &["Too many attempts"]);
    let seconds: u64 = answer.header(header::RETRY_AFTER).unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    assert_eq!(second.get(&path).await.status, 429);
    assert_eq!(eve.get(&path).await.status, 303, "others are not affected");

    // Signing in still works, and the page says why it does not lead to the app.
    let mut third = Browser::new(&server);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("for", sealed(&path))];
    assert_shows(&third.post("/sign-in", &fields).await, 429, &["Too many attempts"]);
    assert!(third.is_signed_in().await);
}

#[tokio::test]
async fn a_person_signs_in_to_an_app_as_somebody_else() {
    let server = server_with(GUARDS).await;
    server.register("Eve", "eve@example.com").await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let mut app = App::new(&server);
    let path = page_path(&app.get("/").await).to_owned();
    let page = browser.get(&format!("{path}&other=1")).await;
    assert_shows(&page, 200, &["Sign in to Reports"]);
    let fields = [("email", "eve@example.com"), ("password", PASSWORD), ("for", sealed(&path))];
    let answer = browser.post("/sign-in", &fields).await;
    let answer = app.follow(&answer).await;
    let admitted = app.follow(&answer).await;
    let eve = server.doorward.user_by_email("eve@example.com").await.unwrap().unwrap();
    assert_eq!(admitted.header("x-auth-user-id"), Some(&*eve.id.to_string()));
}

#[tokio::test]
async fn the_account_lists_the_apps_that_admit_the_person() {
    let conditions = r#"
        [guards.a-everybody]
        title = "Everybody's <b>app</b>"
        allow = "true"
        proxy = "caddy"
        origins = ["https://everybody.example.com", "https://second.example.com"]

        [guards.b-staff]
        allow = '"staff" in user.roles'
        proxy = "caddy"
        origins = ["https://staff.example.com"]

        [guards.c-start-page]
        allow = 'request.method == "GET" && request.host == "here.example.com" && request.path == "/" && request.scheme == "https"'
        proxy = "caddy"
        origins = ["https://here.example.com:8443"]

        [guards.d-admin-path]
        allow = 'request.path.startsWith("/admin")'
        proxy = "caddy"
        origins = ["https://admin.example.com"]

        [guards.e-reported]
        allow = "false"
        mode = "report"
        proxy = "caddy"
        origins = ["https://reported.example.com"]

        [guards.f-api]
        allow = "true"

        [guards.g-loopback]
        allow = 'request.address == "127.0.0.1"'
        proxy = "caddy"
        origins = ["https://local.example.com"]
    "#;
    let server = server_with(conditions).await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let page = browser.get("/account").await;
    assert_shows(
        &page,
        200,
        &[
            "href=\"https://everybody.example.com\"",
            "Everybody&#39;s &#60;b&#62;app&#60;/b&#62;",
            "href=\"https://here.example.com:8443\"",
            "href=\"https://reported.example.com\"",
            "href=\"https://local.example.com\"",
        ],
    );
    for absent in ["second.example.com", "staff.example.com", "admin.example.com", "f-api"] {
        assert!(!page.body.contains(absent), "{absent}");
    }
    server.order("PUT", "ada@example.com", "/roles/staff", Value::Null).await;
    assert_shows(&browser.get("/account").await, 200, &["href=\"https://staff.example.com\""]);
    assert_shows(
        &Browser::of(&super::server().await, "Ada", "ada@example.com").await.get("/account").await,
        200,
        &["There are no apps for you yet."],
    );
}
