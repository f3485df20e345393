//! Requests that another site has caused change nothing.

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::http::routes::{Method, routes};

use super::{Browser, HOST, PASSWORD, PUBLIC, assert_shows, encoded, server};
use crate::support::TestServer;

const SITES: [Option<&str>; 7] = [
    None,
    Some("same-origin"),
    Some("none"),
    Some("same-site"),
    Some("cross-site"),
    Some(""),
    Some("Same-Origin"),
];
const ORIGINS: [Option<&str>; 9] = [
    None,
    Some(PUBLIC),
    Some("null"),
    Some("https://evil.example.net"),
    Some("https://auth.example.net.evil.com"),
    Some("http://auth.example.net"),
    Some("https://auth.example.net:444"),
    Some("https://auth.example.net/"),
    Some(""),
];

/// A path without parameters that no form knows.
pub(super) fn path_of(path: &str) -> String {
    path.replace("{guard}", "staff").replace("{decision}", "0")
}

/// What providers of logins send, or have a browser send. The first only leads on to the same path with GET, and the others count by what
/// the provider has signed (`tests/logins`).
const OF_PROVIDERS: [&str; 3] = [
    "/sign-in/with/{login}/back",
    "/sign-in/with/{login}/logout",
    "/sign-in/with/{login}/notifications",
];

/// The paths of all forms.
fn forms() -> Vec<&'static str> {
    let forms: Vec<_> = routes()
        .iter()
        .filter(|route| route.is_page() && route.method == Method::Post)
        .map(|route| route.path)
        .filter(|path| !OF_PROVIDERS.contains(path))
        .collect();
    assert!(forms.len() >= 10);
    forms
}

fn fields() -> String {
    encoded(&[
        ("name", "Mallory"),
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("current", PASSWORD),
        ("new", "battery staple"),
        ("code", "x"),
    ])
}

fn is_own(site: Option<&str>, origin: Option<&str>) -> bool {
    match site {
        Some(site) => site == "same-origin" || site == "none",
        None => origin == Some(PUBLIC),
    }
}

#[tokio::test]
async fn only_forms_of_this_site_are_accepted() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    for path in forms() {
        for site in SITES {
            for origin in ORIGINS {
                if is_own(site, origin) {
                    continue;
                }
                let mut request = browser
                    .request("POST", path)
                    .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
                if let Some(site) = site {
                    request = request.header("sec-fetch-site", site);
                }
                if let Some(origin) = origin {
                    request = request.header(header::ORIGIN, origin);
                }
                let answer = browser.send(request.body(Body::from(fields())).unwrap()).await;
                let texts = ["This came from another site"];
                assert_shows(&answer, 403, &texts);
                assert!(answer.headers.get(header::SET_COOKIE).is_none());
            }
        }
    }
    let page = browser.get("/account").await;
    assert_shows(&page, 200, &["Ada", "ada@example.com"]);
    assert!(!page.body.contains("Mallory"));
    assert_eq!(server.login("ada@example.com", PASSWORD).await.status, 200);
}

/// The paths of all pages that are opened.
fn pages() -> Vec<String> {
    let pages =
        routes().into_iter().filter(|route| route.is_page() && route.method != Method::Post);
    let pages: Vec<_> = pages.map(|route| path_of(route.path)).collect();
    assert!(pages.len() >= 30);
    pages
}

/// A browser of an administrator.
async fn admin_browser(server: &TestServer) -> Browser<'_> {
    let browser = Browser::of(server, "Ada", "ada@example.com").await;
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    server.doorward.grant_role(ada.id, "admin").await.unwrap();
    browser
}

/// What another site loads without opening it, with the headers of the browser.
const LOADED: [(&str, &str); 6] = [
    ("navigate", "iframe"),
    ("navigate", "object"),
    ("navigate", "embed"),
    ("no-cors", "image"),
    ("no-cors", "empty"),
    ("cors", "empty"),
];

#[tokio::test]
async fn another_site_that_loads_a_page_cannot_tell_who_its_visitor_is() {
    let server = server().await;
    let admin = admin_browser(&server).await;
    let anonymous = Browser::new(&server);
    let public = ["/", "/docs"];
    for path in pages().iter().filter(|path| !public.contains(&path.as_str())) {
        for site in ["same-site", "cross-site"] {
            for (mode, dest) in LOADED {
                let mut answers = Vec::new();
                for browser in [&admin, &anonymous] {
                    let mut request = browser.request("GET", path);
                    let headers = request.headers_mut().unwrap();
                    headers.insert("sec-fetch-site", site.parse().unwrap());
                    headers.insert("sec-fetch-mode", mode.parse().unwrap());
                    headers.insert("sec-fetch-dest", dest.parse().unwrap());
                    answers.push(server.send(request.body(Body::empty()).unwrap()).await);
                }
                let [signed_in, signed_out] = &mut answers[..] else { unreachable!() };
                assert_eq!(signed_in.status, 403, "{path} {site} {mode} {dest}");
                for answer in [&mut *signed_in, &mut *signed_out] {
                    answer.headers.remove("x-request-id");
                }
                assert_eq!(signed_in.headers, signed_out.headers, "{path} {site} {mode} {dest}");
                assert_eq!(signed_in.body, signed_out.body, "{path} {site} {mode} {dest}");
            }
        }
    }
}

#[tokio::test]
async fn a_link_of_another_site_downloads_nothing() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let paths = [
        "/account/export",
        "/admin/audit/export",
        "/admin/audit/checkpoint",
        "/admin/audit/proof",
        "/admin/users/x/export",
    ];
    for path in paths {
        for site in ["same-site", "cross-site", "same-origin", "none"] {
            for (number, browser) in
                [&mut admin, &mut Browser::new(&server)].into_iter().enumerate()
            {
                let request = browser.request("GET", path).header("sec-fetch-site", site);
                let answer = browser.send(request.body(Body::empty()).unwrap()).await;
                assert_shows(&answer, 405, &[]);
                assert_eq!(answer.header(header::ALLOW), Some("POST"), "{path} {number}");
                assert_eq!(answer.header(header::CONTENT_DISPOSITION), None, "{path} {number}");
            }
        }
    }
    // No page that is opened is a download, which would leave the other site's page in its window.
    for path in pages() {
        let request = admin.request("GET", &path).header("sec-fetch-site", "cross-site");
        let answer = admin.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.header(header::CONTENT_DISPOSITION), None, "{path}");
        assert_ne!(answer.status, 204, "{path}");
    }
}

const PURPOSES: [(&str, &str); 4] = [
    ("sec-purpose", "prefetch"),
    ("sec-purpose", "prefetch;prerender"),
    ("purpose", "prefetch"),
    ("x-moz", "prefetch"),
];

#[tokio::test]
async fn a_prefetched_page_is_refused_whoever_has_caused_it() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    for path in pages().iter().filter(|path| *path != "/docs") {
        for (name, value) in PURPOSES {
            for site in ["same-origin", "same-site", "cross-site", "none"] {
                let request = admin.request("GET", path).header("sec-fetch-site", site);
                let request = request.header(name, value);
                let answer = admin.send(request.body(Body::empty()).unwrap()).await;
                let expected = if path == "/" { 404 } else { 403 };
                assert_eq!(answer.status, expected, "{path} {name}: {value} {site}");
                assert_eq!(answer.set_cookies(), [""; 0], "{path}");
                assert_eq!(answer.header(header::LOCATION), None, "{path}");
                assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn forms_of_this_site_are_accepted_with_fetch_metadata_or_an_origin() {
    let server = server().await;
    for (number, (site, origin)) in
        SITES.iter().flat_map(|site| ORIGINS.map(|origin| (*site, origin))).enumerate()
    {
        if !is_own(site, origin) {
            continue;
        }
        let mut request = Request::post("/sign-up")
            .header(header::HOST, HOST)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in [("sec-fetch-site", site), ("origin", origin)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let email = format!("ada{number}@example.com");
        let form = encoded(&[("name", "Ada"), ("email", &email), ("password", PASSWORD)]);
        let answer = server.send(request.body(Body::from(form)).unwrap()).await;
        assert_eq!(answer.status, 303, "{site:?} {origin:?}");
    }
}

#[tokio::test]
async fn other_methods_change_nothing_either() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    server.doorward.grant_role(ada.id, "admin").await.unwrap();
    for path in forms() {
        for method in ["PUT", "PATCH", "DELETE", "OTHER"] {
            let request = browser.request(method, path).header("sec-fetch-site", "cross-site");
            let answer = browser.send(request.body(Body::from(fields())).unwrap()).await;
            assert_eq!(answer.status, 405, "{method} {path}");
        }
        // A link to a form, or an image with its address.
        let request = browser.request("GET", path).header("sec-fetch-site", "cross-site");
        let answer = browser.send(request.body(Body::empty()).unwrap()).await;
        assert!([200, 303, 405].contains(&answer.status.as_u16()), "{path}");
    }
    assert!(browser.is_signed_in().await);
}

#[tokio::test]
async fn on_plain_http_the_host_that_was_asked_for_is_the_origin() {
    let server = TestServer::open().await;
    let send = async |host: &str, origin: &str, number: usize| {
        let email = format!("ada{number}@example.com");
        let form = encoded(&[("name", "Ada"), ("email", &email), ("password", PASSWORD)]);
        let request = Request::post("/sign-up")
            .header(header::HOST, host)
            .header(header::ORIGIN, origin)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        server.send(request.body(Body::from(form)).unwrap()).await.status.as_u16()
    };
    assert_eq!(send("localhost:3000", "http://localhost:3000", 0).await, 303);
    assert_eq!(send("127.0.0.1:3000", "http://127.0.0.1:3000", 1).await, 303);
    for origin in ["http://localhost:3001", "http://127.0.0.1:3000", "https://localhost:3000"] {
        assert_eq!(send("localhost:3000", origin, 2).await, 403, "{origin}");
    }
    // A name that an attacker lets lead to this machine.
    assert_eq!(send("rebind.example.com", "http://rebind.example.com", 3).await, 421);
}

#[tokio::test]
async fn a_program_gets_json() {
    let server = server().await;
    let request = Request::post("/sign-in").header(header::HOST, HOST);
    let answer = server.send(request.body(Body::from(fields())).unwrap()).await;
    let body = r#"{"message":"The requested action is not allowed."}"#;
    assert_eq!(answer.status_and_body(), (403, body));
}
