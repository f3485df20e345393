//! Guards with origins, as proxies call them for people with a browser.

use std::time::Duration;

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, header},
};
use doorward::internals::{
    Internals,
    store::Effects,
    token::cookie::{AttemptDigest, CodeId, ReturnTarget, SignInCode},
};

use crate::support::{Answer, Member, NOW, TestServer, UNAUTHORIZED};

const APP: &str = "https://app.example.com";
const WIKI: &str = "https://wiki.example.org:8443";
const PUBLIC: &str = "https://auth.example.net";
const FORBIDDEN: &str = r#"{"message":"The requested action is not allowed."}"#;
const STYLES: [&str; 5] = ["nginx", "traefik", "caddy", "haproxy", "envoy"];

async fn server() -> TestServer {
    let guards: String = STYLES
        .iter()
        .map(|style| {
            format!(
                r#"
                [guards.{style}]
                allow = '!("banned" in user.roles)'
                proxy = "{style}"
                origins = ["{APP}", "{WIKI}"]
                "#
            )
        })
        .collect();
    let open = r#"
        [guards.open]
        allow = "true"
        proxy = "caddy"
        origins = ["https://app.example.com"]
        cross_site = true

        [guards.watched]
        allow = "false"
        proxy = "caddy"
        mode = "report"
        origins = ["https://app.example.com"]
    "#;
    let file = format!("{guards}{open}");
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(&file)).await
}

/// A request of a browser, as a proxy of a style describes it.
#[derive(Clone)]
struct Visit<'a> {
    style: &'a str,
    guard: &'a str,
    method: &'a str,
    origin: &'a str,
    target: &'a str,
    headers: Vec<(&'a str, String)>,
    /// Whether nginx asks for the answer, and not only for its status.
    is_second: bool,
    peer: [u8; 4],
}

impl<'a> Visit<'a> {
    fn to(style: &'a str, target: &'a str) -> Self {
        Self {
            style,
            guard: style,
            method: "GET",
            origin: APP,
            target,
            headers: Vec::new(),
            is_second: true,
            peer: [127, 0, 0, 1],
        }
    }

    fn navigation(style: &'a str, target: &'a str) -> Self {
        Self::to(style, target)
            .with("sec-fetch-mode", "navigate")
            .with("sec-fetch-dest", "document")
            .with("sec-fetch-site", "none")
    }

    fn with(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    async fn send(self, server: &TestServer) -> Answer {
        let Self { style, guard, method, origin, target, headers, is_second, peer } = self;
        let (scheme, host) = origin.split_once("://").unwrap();
        let (line, described) = match style {
            "nginx" => {
                let query = if is_second { "?answer=full" } else { "" };
                let line = ("GET", format!("/api/auth/{guard}{query}"));
                let names = ["x-original-method", "x-original-uri", "x-forwarded-host"];
                (line, names.map(Some))
            }
            "envoy" => ((method, format!("/api/auth/{guard}{target}")), [None, None, Some("host")]),
            _ => {
                let names = ["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"];
                (("GET", format!("/api/auth/{guard}")), names.map(Some))
            }
        };
        let mut request = Request::builder()
            .method(line.0)
            .uri(line.1)
            .header("x-forwarded-proto", scheme)
            .extension(ConnectInfo(std::net::SocketAddr::from((peer, 9))));
        for (name, value) in described.into_iter().zip([method, target, host]) {
            if let Some(name) = name {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        server.send(request.body(Body::empty()).unwrap()).await
    }
}

/// The app cookie of a member's session on an origin.
async fn cookie(server: &TestServer, member: &Member, origin: &str) -> String {
    let session = server.doorward.caller(&member.token).await.unwrap().session;
    let value = server.doorward.cookies().app_cookie(&session, origin);
    format!("theme=dark; __Host-doorward-app={value}; b=c")
}

/// The return target of a redirect to the sign-in page.
fn target_of(server: &TestServer, answer: &Answer) -> ReturnTarget {
    assert_eq!(answer.status, 303, "{}", answer.body);
    let location = answer.header(header::LOCATION).unwrap();
    let sealed = location.strip_prefix("https://auth.example.net/sign-in?for=").expect(location);
    server.doorward.cookies().open_target(sealed).unwrap()
}

#[tokio::test]
async fn a_browser_without_a_cookie_is_sent_to_sign_in_and_keeps_its_url() {
    let server = server().await;
    let target = "/reports/a%2Fb?q=1&r=a+b%20%C3%A4&s=%";
    for style in STYLES {
        let answer = Visit::navigation(style, target).send(&server).await;
        let read = target_of(&server, &answer);
        assert_eq!((read.guard.as_str(), read.url), (style, format!("{APP}{target}")), "{style}");
        let [set] = answer.set_cookies()[..] else { panic!("one cookie: {:?}", answer.headers) };
        let (pair, attributes) = set.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        assert!(name.starts_with("__Host-doorward-try-"), "{set}");
        assert_eq!(read.attempt, Some(AttemptDigest::of(value)));
        for attribute in ["Path=/", "HttpOnly", "Secure", "SameSite=Lax"] {
            assert!(attributes.contains(attribute), "{set}");
        }
        assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
        assert!(answer.header(header::VARY).unwrap().contains("Cookie"));
        assert_eq!(answer.body, "");

        // Another tab reuses the attempt.
        let again = Visit::navigation(style, "/b").with("cookie", pair).send(&server).await;
        assert_eq!(target_of(&server, &again).attempt, read.attempt);
        assert!(again.set_cookies()[0].starts_with(pair), "its time is extended");
    }
}

#[tokio::test]
async fn the_link_to_sign_out_leads_back_to_the_start_page_of_the_app() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    for style in STYLES {
        for cookie in ["a=b", &*app] {
            let visit = Visit::navigation(style, "/.doorward/out").with("cookie", cookie);
            let answer = visit.clone().send(&server).await;
            assert_eq!(answer.status, 303, "{style}");
            let location = answer.header(header::LOCATION).unwrap();
            let sealed = location.strip_prefix("https://auth.example.net/sign-out?for=").unwrap();
            let target = server.doorward.cookies().open_target(sealed).unwrap();
            assert_eq!((&*target.guard, target.url), (style, format!("{APP}/")));
            if style == "nginx" {
                let first = Visit { is_second: false, ..visit }.send(&server).await;
                assert_eq!((first.status.as_u16(), first.set_cookies().len()), (403, 0));
            }
        }
        // A script does not sign anybody out, and is admitted as to any other path.
        let script = Visit { is_second: false, ..Visit::to(style, "/.doorward/out") };
        let answer = script.with("cookie", app.clone()).send(&server).await;
        assert_eq!(answer.status, 200, "{style}");
    }
}

#[tokio::test]
async fn a_script_gets_401_and_no_redirect() {
    let server = server().await;
    for style in STYLES {
        let requests = [
            Visit::to(style, "/"),
            Visit::to(style, "/").with("sec-fetch-mode", "cors").with("sec-fetch-dest", "empty"),
            Visit::to(style, "/").with("accept", "application/json"),
            Visit::to(style, "/").with("accept", "text/html").with("x-requested-with", "x"),
            Visit::to(style, "/").with("accept", "text/html").with("upgrade", "websocket"),
            Visit { method: "OPTIONS", ..Visit::to(style, "/") }.with("accept", "text/html"),
            Visit { method: "POST", ..Visit::to(style, "/") }.with("accept", "text/html"),
            Visit::to(style, "/")
                .with("sec-fetch-mode", "navigate")
                .with("sec-fetch-dest", "iframe")
                .with("accept", "text/html"),
        ];
        for (number, request) in requests.into_iter().enumerate() {
            let answer = request.send(&server).await;
            let got = (answer.status.as_u16(), &*answer.body);
            assert_eq!(got, (401, UNAUTHORIZED), "{style} {number}");
            assert_eq!(answer.header(header::LOCATION), None);
            assert_eq!(answer.set_cookies(), [""; 0]);
            let challenge = answer.header(header::WWW_AUTHENTICATE);
            assert_eq!(challenge, Some("Bearer realm=\"doorward\""));
        }
    }
}

#[tokio::test]
async fn an_app_cookie_admits_on_its_origin_until_its_session_ends() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let wiki = cookie(&server, &ada, WIKI).await;
    for style in STYLES {
        let with = |cookie: &str| {
            let visit = Visit { is_second: false, ..Visit::to(style, "/") };
            visit.with("cookie", cookie.to_owned())
        };
        let answer = with(&app).send(&server).await;
        assert_eq!(answer.status, 200, "{style}");
        assert_eq!(answer.header("x-auth-user-id"), Some(&*ada.id));
        let on_wiki = Visit { origin: WIKI, ..with(&wiki) };
        assert_eq!(on_wiki.send(&server).await.status, 200, "{style}");
        let stolen = Visit { origin: WIKI, ..with(&app) };
        assert_eq!(stolen.send(&server).await.status, 401, "on another origin");
        assert_eq!(with(&wiki).send(&server).await.status, 401, "on another origin");
        let doubled = with(&format!("{app}; {app}"));
        assert_eq!(doubled.send(&server).await.status, 401, "ambiguous");
        // `Authorization` alone counts where it is present.
        let bearer = format!("Bearer {}", ada.token);
        let both = with(&app).with("authorization", "Bearer x");
        assert_eq!(both.send(&server).await.status, 401);
        let both = with("__Host-doorward-app=x").with("authorization", bearer);
        assert_eq!(both.send(&server).await.status, 200);
    }
    // As a bearer token, and as a cookie of the pages.
    let value = app.split("app=").nth(1).unwrap().split(';').next().unwrap();
    assert_eq!(server.guard("guard", value).await.status, 401);
    assert_eq!(server.guard("caddy", value).await.status, 401);

    let answer = server.request_as(&ada.token, "POST", "/api/auth/logout", ().into()).await;
    assert_eq!(answer.status, 204);
    for style in STYLES {
        let request = Visit::to(style, "/").with("cookie", app.clone());
        assert_eq!(request.send(&server).await.status, 401, "{style}");
        let request = Visit::navigation(style, "/x").with("cookie", app.clone());
        assert_eq!(target_of(&server, &request.send(&server).await).url, format!("{APP}/x"));
    }
}

#[tokio::test]
async fn a_person_whom_the_condition_refuses_gets_403() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let role = doorward::internals::user::Role::parse("banned").unwrap();
    let id = ada.id.parse().unwrap();
    assert!(server.doorward.store().grant_role(id, &role, NOW, &Effects::NONE).await.unwrap());
    for style in STYLES {
        let script = Visit::to(style, "/").with("cookie", app.clone()).send(&server).await;
        assert_eq!(script.status_and_body(), (403, FORBIDDEN), "{style}");
        let decision = script.header("x-decision-id").unwrap();
        let refused = server.doorward.refusal(decision).unwrap().user;
        assert_eq!(refused, Some(ada.id.parse().unwrap()));
        assert_eq!(script.header(header::WWW_AUTHENTICATE), None);

        let page = Visit::navigation(style, "/").with("cookie", app.clone()).send(&server).await;
        assert_eq!(page.status, 403, "{style}");
        assert!(page.header(header::CONTENT_TYPE).unwrap().starts_with("text/html"));
        let decision = page.header("x-decision-id").unwrap();
        assert!(page.body.contains(decision), "{}", page.body);
        assert!(!page.body.contains("banned"), "the condition is not shown");
        // A bearer token gets the answer of a guard without origins.
        let bearer = format!("Bearer {}", ada.token);
        let bearer = Visit::navigation(style, "/").with("authorization", bearer);
        assert_eq!(bearer.send(&server).await.status_and_body(), (401, UNAUTHORIZED));
    }
}

#[tokio::test]
async fn a_request_that_changes_something_needs_the_origin_of_the_app() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let sites = [None, Some("same-origin"), Some("none"), Some("same-site"), Some("cross-site")];
    let origins = [None, Some(APP), Some(WIKI), Some("null"), Some("https://evil.example")];
    for style in STYLES {
        for method in ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "websocket"] {
            for (site, origin) in
                sites.iter().flat_map(|site| origins.map(|origin| (*site, origin)))
            {
                let mut request = Visit::to(style, "/").with("cookie", app.clone());
                match method {
                    // Traefik does not pass `Upgrade` on.
                    "websocket" if style == "traefik" => {
                        request = request.with("sec-websocket-version", "13");
                    }
                    "websocket" => request = request.with("upgrade", "websocket"),
                    _ => request.method = method,
                }
                if let Some(site) = site {
                    request = request.with("sec-fetch-site", site);
                }
                if let Some(origin) = origin {
                    request = request.with("origin", origin);
                }
                let own = match site {
                    Some(site) => ["same-origin", "none"].contains(&site),
                    None => origin == Some(APP),
                };
                let admitted = own || ["GET", "HEAD", "OPTIONS"].contains(&method);
                // The second request of nginx never admits.
                let expected = match (admitted, style) {
                    (true, "nginx") => 401,
                    (true, _) => 200,
                    (false, _) => 403,
                };
                let answer = request.send(&server).await;
                assert_eq!(answer.status, expected, "{style} {method} {site:?} {origin:?}");
            }
        }
    }
    let lenient = Visit { guard: "open", method: "POST", ..Visit::to("caddy", "/") }
        .with("cookie", app)
        .with("origin", "https://evil.example");
    assert_eq!(lenient.send(&server).await.status, 200, "cross_site = true");
}

#[tokio::test]
async fn the_first_request_of_nginx_changes_nothing_and_the_second_never_admits() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let first = |visit: Visit<'static>| Visit { is_second: false, ..visit };
    let answer = first(Visit::navigation("nginx", "/")).send(&server).await;
    assert_eq!((answer.status.as_u16(), answer.header(header::WWW_AUTHENTICATE)), (403, None));
    assert_eq!((answer.header(header::LOCATION), answer.set_cookies().len()), (None, 0));
    assert_eq!(answer.header("x-decision-id"), None, "recorded when it asks again");
    let answer = first(Visit::to("nginx", "/").with("cookie", app.clone())).send(&server).await;
    assert_eq!(answer.status, 200);
    let code = "/.doorward/in?code=x";
    assert_eq!(first(Visit::navigation("nginx", code)).send(&server).await.status, 403);

    // Admitted since: the browser repeats the request, a script fails.
    let answer = Visit::navigation("nginx", "/a?b").with("cookie", app.clone()).send(&server).await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header(header::LOCATION), Some("https://app.example.com/a?b"));
    let answer = Visit::to("nginx", "/").with("cookie", app.clone()).send(&server).await;
    assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED));
    // A form that the app has not got is neither a success nor a request without its fields.
    let form = Visit { method: "POST", ..Visit::navigation("nginx", "/orders") }
        .with("cookie", app)
        .with("origin", "https://app.example.com")
        .with("referer", "https://app.example.com/orders/new");
    let answer = form.send(&server).await;
    assert_eq!((answer.status.as_u16(), answer.header(header::LOCATION)), (409, None));
    let page = &answer.body;
    assert!(page.contains("Your form was not sent"), "{page}");
    assert!(page.contains("https://app.example.com/orders/new"), "{page}");
    for guard in ["guard", "open"] {
        let path = format!("/api/auth/{guard}?answer=full");
        let answer = server.request_as(&ada.token, "GET", &path, ().into()).await;
        assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED), "{guard}");
        let path = format!("/api/auth/{guard}/tail?answer=full");
        let answer = server.request_as(&ada.token, "GET", &path, ().into()).await;
        assert_eq!(answer.status, 200, "{guard}: the query of a client");
    }
}

#[tokio::test]
async fn only_a_trusted_proxy_and_a_declared_origin_begin_a_sign_in() {
    let server = server().await;
    let untrusted = Visit { peer: [192, 0, 2, 1], ..Visit::navigation("caddy", "/") };
    let answer = untrusted.send(&server).await;
    assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED));
    assert_eq!(answer.header(header::WWW_AUTHENTICATE), Some("Bearer realm=\"doorward\""));
    let reason = server.doorward.refusal(answer.header("x-decision-id").unwrap()).unwrap().token;
    assert!(reason.contains("one of the guard's origins"), "{reason}");
    for origin in [
        "http://app.example.com",
        "https://app.example.com.evil.com",
        "https://evil.com",
        "https://app.example.com:444",
        "https://app.example.com%2eevil.com",
    ] {
        for style in STYLES {
            let other = Visit { origin, ..Visit::navigation(style, "/") };
            assert_eq!(other.send(&server).await.status, 401, "{style} {origin}");
        }
    }
}

#[tokio::test]
async fn a_malformed_host_is_not_the_origin_of_an_app() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let cookie = cookie(&server, &ada, APP).await;
    for style in STYLES {
        for origin in [
            "https://app.example.com:+443",
            "https://app.example.com:0443x",
            "https://user@app.example.com",
            "https://app.example.com/x",
        ] {
            let visit = Visit::navigation(style, "/").with("cookie", &cookie);
            let visit = Visit { origin, ..visit };
            let first = Visit { is_second: false, ..visit.clone() }.send(&server).await;
            // nginx knows no other status.
            let expected = if style == "nginx" { 401 } else { 400 };
            assert_eq!(first.status, expected, "{style} {origin}");
            let answer = visit.send(&server).await;
            assert_eq!(answer.status, 400, "{style} {origin}: {}", answer.body);
            assert_eq!(answer.header(header::LOCATION), None);
        }
    }
}

#[tokio::test]
async fn origins_that_differ_only_in_port_are_told_apart() {
    let file = r#"
        [guards.caddy]
        allow = "true"
        proxy = "caddy"
        origins = ["https://app.example.com:8443", "https://app.example.com"]
    "#;
    let server =
        TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(file)).await;
    for origin in ["https://app.example.com:8443", "https://app.example.com"] {
        let answer = Visit { origin, ..Visit::navigation("caddy", "/x") }.send(&server).await;
        assert_eq!(target_of(&server, &answer).url, format!("{origin}/x"));
    }
}

#[tokio::test]
async fn a_return_target_is_always_on_the_origin_and_short() {
    let server = server().await;
    let long = format!("/{}?{}", "p".repeat(100), "q".repeat(2000));
    let too_long = format!("/{}", "p".repeat(2100));
    for (target, url) in [
        ("//evil.com/", "https://app.example.com//evil.com/"),
        ("/\\evil.com", "https://app.example.com/\\evil.com"),
        ("https://evil.com/", "https://app.example.com/"),
        ("@evil.com", "https://app.example.com/"),
        (".evil.com/", "https://app.example.com/"),
        (":443@evil.com/", "https://app.example.com/"),
        ("/a b", "https://app.example.com/"),
        ("/a\tb", "https://app.example.com/"),
        (long.as_str(), &format!("https://app.example.com/{}", "p".repeat(100))),
        (too_long.as_str(), "https://app.example.com/"),
    ] {
        let answer = Visit::navigation("caddy", target).send(&server).await;
        assert_eq!(target_of(&server, &answer).url, url, "{target}");
    }
    // A form is not sent again: the person returns to its page.
    for (referrer, url) in [
        ("https://app.example.com/form?x", "https://app.example.com/form?x"),
        ("https://evil.com/", "https://app.example.com/"),
        ("https://app.example.com.evil.com/", "https://app.example.com/"),
    ] {
        let post = Visit { method: "POST", ..Visit::navigation("caddy", "/send") };
        let answer = post.with("referer", referrer).send(&server).await;
        assert_eq!(target_of(&server, &answer).url, url);
    }
}

#[tokio::test]
async fn a_code_signs_in_once_in_its_browser_on_its_origin_within_a_minute() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let session = server.doorward.caller(&ada.token).await.unwrap().session;
    let code = |origin: &str| {
        let code = SignInCode {
            id: CodeId::random(),
            user_id: session.user_id,
            session_id: session.id,
            expires_at: NOW + Duration::from_secs(60),
            attempt: AttemptDigest::of("attempt-of-the-browser"),
            url: format!("{origin}/deep?a=%20&b"),
        };
        format!("/.doorward/in?code={}", server.doorward.cookies().seal_code(&code, origin))
    };
    const TRY: &str = "__Host-doorward-try-attempt=attempt-of-the-browser";
    for style in STYLES {
        for (cookies, why, reason) in [
            ("a=b", "no try cookie", "/.doorward/in?no-cookie"),
            (
                "__Host-doorward-try-x=attempt-of-another-one",
                "another browser",
                "/.doorward/in?used",
            ),
            (
                "doorward-try-attempt=attempt-of-the-browser",
                "not on HTTPS",
                "/.doorward/in?no-cookie",
            ),
        ] {
            let path = code(APP);
            let with = |cookies: &str| {
                Visit::navigation(style, &path).with("cookie", cookies.to_owned()).send(&server)
            };
            assert_refused(&with(cookies).await, APP, reason, why);
            assert_refused(&with(TRY).await, APP, "/.doorward/in?used", "its code is void");
            let page = Visit::navigation(style, reason).with("cookie", cookies).send(&server).await;
            assert_eq!(
                (page.status.as_u16(), page.set_cookies().len()),
                (403, 0),
                "{style}: {why}"
            );
            assert!(page.header(header::CONTENT_TYPE).unwrap().starts_with("text/html"));
            assert!(!page.body.contains("code="), "{}", page.body);
        }
        let path = code(APP);
        let with =
            |cookies: &str| Visit::navigation(style, &path).with("cookie", cookies.to_owned());
        let elsewhere = Visit { origin: WIKI, ..with(TRY) };
        assert_refused(
            &elsewhere.send(&server).await,
            WIKI,
            "/.doorward/in?used",
            "another origin",
        );

        let answer = with(&format!("__Host-doorward-try-y=z; {TRY}")).send(&server).await;
        assert_eq!(answer.status, 303, "{style}");
        assert_eq!(answer.header(header::LOCATION), Some("https://app.example.com/deep?a=%20&b"));
        let [app] = answer.set_cookies()[..] else { panic!("{:?}", answer.headers) };
        assert!(
            app.starts_with("__Host-doorward-app=") && app.contains("Max-Age=2592000"),
            "{app}"
        );

        assert_refused(&with(TRY).send(&server).await, APP, "/.doorward/in?used", "used twice");
        let app = app.split(';').next().unwrap();
        let back = with(&format!("{TRY}; {app}")).send(&server).await;
        assert_eq!(back.status, 303, "{style}: the back button");
        assert_eq!(back.header(header::LOCATION), Some("https://app.example.com/deep?a=%20&b"));
        let page = Visit::to(style, "/").with("cookie", app.to_owned());
        let page = Visit { is_second: false, ..page }.send(&server).await;
        assert_eq!(page.status, 200);
    }
    let (late, ended) = (code(APP), code(APP));
    server.let_pass(Duration::from_secs(60));
    let answer = Visit::navigation("caddy", &late).with("cookie", TRY).send(&server).await;
    assert_refused(&answer, APP, "/.doorward/in?used", "expired");
    let logout = server.request_as(&ada.token, "POST", "/api/auth/logout", ().into()).await;
    assert_eq!(logout.status, 204);
    let answer = Visit::navigation("caddy", &ended).with("cookie", TRY).send(&server).await;
    assert_refused(&answer, APP, "/.doorward/in?used", "its session has ended");
}

/// A refused code leads to its reason, under a URL without the code.
fn assert_refused(answer: &Answer, origin: &str, path: &str, why: &str) {
    assert_eq!(answer.status, 303, "{why}");
    let location = answer.header(header::LOCATION).unwrap();
    assert_eq!((location, answer.set_cookies().len()), (&*format!("{origin}{path}"), 0), "{why}");
}

#[tokio::test]
async fn a_form_of_another_site_cannot_fill_a_browser_with_cookies() {
    let server = server().await;
    for style in STYLES {
        let form = Visit { method: "POST", ..Visit::to(style, "/send") }
            .with("sec-fetch-mode", "navigate")
            .with("sec-fetch-dest", "document")
            .with("sec-fetch-site", "cross-site")
            .with("origin", "https://evil.example");
        let answer = form.clone().send(&server).await;
        assert_eq!((answer.status.as_u16(), answer.set_cookies().len()), (303, 0), "{style}");
        assert_eq!(answer.header(header::LOCATION), Some("https://app.example.com/"));
        let with_attempt =
            form.with("cookie", "__Host-doorward-try-a=attempt-of-another-one").send(&server).await;
        assert_eq!(target_of(&server, &with_attempt).url, "https://app.example.com/");
    }
}

#[tokio::test]
async fn traefik_gets_the_cookies_of_the_app_back() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let bearer =
        || Visit::to("traefik", "/").with("authorization", format!("Bearer {}", ada.token));
    for (visit, returned) in [
        (Visit::to("traefik", "/").with("cookie", app.clone()), Some("theme=dark; b=c")),
        (bearer().with("cookie", "a=1; __Host-doorward-try-x=y"), Some("a=1")),
        (bearer().with("cookie", "__Host-doorward-app=x"), None),
        (bearer(), None),
    ] {
        let answer = visit.send(&server).await;
        assert_eq!((answer.status.as_u16(), answer.header(header::COOKIE)), (200, returned));
    }
    let refused = Visit::to("traefik", "/").with("cookie", "a=1").send(&server).await;
    assert_eq!((refused.status.as_u16(), refused.header(header::COOKIE)), (401, None));
    let other = Visit::to("caddy", "/").with("cookie", app).send(&server).await;
    assert_eq!((other.status.as_u16(), other.header(header::COOKIE)), (200, None));
}

#[tokio::test]
async fn a_guard_that_only_reports_admits_everybody() {
    let server = server().await;
    let watched = Visit { guard: "watched", ..Visit::navigation("caddy", "/") };
    assert_eq!(watched.send(&server).await.status, 200);
}

#[tokio::test]
async fn a_cookie_costs_no_look_up_once_it_is_cached() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let app = cookie(&server, &ada, APP).await;
    let visit = || Visit::to("caddy", "/").with("cookie", app.clone());
    assert_eq!(visit().send(&server).await.status, 200);
    let before = server.doorward.work_done();
    for _ in 0..10 {
        assert_eq!(visit().send(&server).await.status, 200);
    }
    assert_eq!(server.doorward.work_done(), before);
}

#[tokio::test]
async fn origins_are_checked_with_their_place() {
    let guard = |lines: &str| {
        let file = format!("[guards.a]\nallow = \"true\"\n{lines}\n");
        TestServer::settings_from(&file).map(drop).unwrap_err()
    };
    for (lines, error) in [
        (
            "origins = [\"https://a.example\"]",
            "doorward.toml:3:11: guards.a: origins needs proxy: the guard reads the URL of a request from the headers \
             of that kind of proxy",
        ),
        (
            "proxy = \"caddy\"\norigins = [\"a.example\"]",
            "doorward.toml:4:12: guards.a.origins: \"a.example\" is not https:// and a host, such as \
             https://app.example.com",
        ),
        (
            "proxy = \"caddy\"\norigins = [\"http://a.example\"]",
            "doorward.toml:4:12: guards.a.origins: \"http://a.example\" is plain HTTP: cookies need https://, except \
             on localhost",
        ),
        (
            "proxy = \"caddy\"\norigins = [\"https://a.example/b\"]",
            "doorward.toml:4:12: guards.a.origins: \"https://a.example/b\" is more than an origin: remove everything \
             after the host and port",
        ),
        (
            "orgins = []",
            "doorward.toml:3:1: guards.a.orgins: unknown setting: did you mean origins?",
        ),
        (
            "title = \"\"",
            "doorward.toml:3:9: guards.a.title: not a text of 1 to 60 printable characters",
        ),
    ] {
        assert_eq!(guard(lines), error);
    }
}
