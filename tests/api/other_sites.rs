//! Pages of other sites cannot use the API from their visitor's network, and programs notice nothing of that.

use std::net::SocketAddr;

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, header},
};
use doorward::internals::http::routes::{Method, routes};
use serde_json::json;

use crate::support::{Answer, TestServer};

const HOST: &str = "auth.example.net";
const PUBLIC: &str = "https://auth.example.net";
const FORBIDDEN: (u16, &str) = (403, r#"{"message":"The requested action is not allowed."}"#);
const OTHER_HOST: (u16, &str) =
    (421, r#"{"message":"The service does not answer under this host name."}"#);
/// A client in the network of a visitor.
const VISITOR: [u8; 4] = [203, 0, 113, 5];
const LOCAL: [u8; 4] = [127, 0, 0, 1];

const SITES: [&[&str]; 8] = [
    &[],
    &["same-origin"],
    &["none"],
    &["same-site"],
    &["cross-site"],
    &[""],
    &["Same-Origin"],
    &["same-origin", "cross-site"],
];
const ORIGINS: [&[&str]; 9] = [
    &[],
    &[PUBLIC],
    &["null"],
    &["https://evil.example.net"],
    &["https://auth.example.net.evil.com"],
    &["http://auth.example.net"],
    &["https://auth.example.net:444"],
    &[""],
    &[PUBLIC, "https://evil.example.net"],
];

async fn server() -> TestServer {
    let file = r#"
        [guards.reports]
        allow = "true"
        proxy = "caddy"
        origins = ["https://app.example.com:8443"]
    "#;
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(file)).await
}

/// The operations that change something: method and path.
fn unsafe_operations() -> Vec<(&'static str, String)> {
    let operations: Vec<_> = routes()
        .into_iter()
        .filter(|route| !route.is_page() && !route.is_guard() && route.method != Method::Get)
        .map(|route| (route.method.as_str(), route.path.replace("{id}", "x")))
        .collect();
    assert!(operations.len() >= 15);
    operations
}

/// Sends a request as it arrives from a peer, with a body that has no content type, as `fetch` without CORS sends it.
async fn send(
    server: &TestServer,
    (method, path): (&str, &str),
    peer: [u8; 4],
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .extension(ConnectInfo(SocketAddr::from((peer, 9))));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn only_own_pages_and_programs_can_change_something() {
    let server = server().await;
    for (method, path) in unsafe_operations() {
        for site in SITES {
            for origin in ORIGINS {
                let sites = site.iter().map(|site| ("sec-fetch-site", *site));
                let origins = origin.iter().map(|origin| ("origin", *origin));
                let headers: Vec<_> = sites.chain(origins).chain([("host", HOST)]).collect();
                let answer = send(&server, (method, &path), LOCAL, &headers, "{}").await;
                let counts = match *site {
                    ["same-origin" | "none"] => true,
                    ["same-site"] => *origin == [PUBLIC],
                    [] => origin.is_empty() || *origin == [PUBLIC],
                    _ => false,
                };
                let is_refused = answer.status_and_body() == FORBIDDEN;
                assert_eq!(!is_refused, counts, "{method} {path} {site:?} {origin:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_of_another_site_registers_nobody_and_locks_nobody_out() {
    let server = server().await;
    server.register("Ada", "ada@example.com").await;
    let login = r#"{"email":"ada@example.com","password":"wrong horse"}"#;
    let right = r#"{"email":"ada@example.com","password":"correct horse"}"#;
    for headers in [
        [("host", HOST), ("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        [("host", HOST), ("sec-fetch-mode", "no-cors"), ("origin", "https://evil.example")],
    ] {
        let body = r#"{"name":"Mallory","email":"mallory@example.com","password":"correct horse"}"#;
        let answer = send(&server, ("POST", "/api/user"), VISITOR, &headers, body).await;
        assert_eq!(answer.status_and_body(), FORBIDDEN);
        // More than an account and more than a network have.
        for _ in 0..700 {
            let answer = send(&server, ("POST", "/api/auth/login"), VISITOR, &headers, login).await;
            assert_eq!(answer.status_and_body(), FORBIDDEN);
        }
    }
    assert_eq!(server.login("mallory@example.com", "correct horse").await.status, 404);
    let program = [("host", HOST)];
    let answer = send(&server, ("POST", "/api/auth/login"), VISITOR, &program, right).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test]
async fn a_refused_body_is_not_read() {
    let server = server().await;
    let headers =
        [("host", HOST), ("sec-fetch-site", "cross-site"), ("content-length", "99999999")];
    let answer = send(&server, ("POST", "/api/user"), VISITOR, &headers, "").await;
    assert_eq!(answer.status_and_body(), FORBIDDEN);
}

#[tokio::test]
async fn other_sites_may_read_what_is_public() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let headers =
        [("host", HOST), ("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")];
    for path in [&*format!("/api/user/{}", ada.id), "/.well-known/jwks.json", "/livez"] {
        assert_eq!(send(&server, ("GET", path), VISITOR, &headers, "").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn without_fetch_metadata_the_origin_is_that_of_the_host_that_was_asked_for() {
    let open = TestServer::open().await;
    let published = server().await;
    let proxied = |host: &'static str, scheme: &'static str| {
        vec![("host", "doorward"), ("x-forwarded-host", host), ("x-forwarded-proto", scheme)]
    };
    for (server, peer, to, origin, counts) in [
        (&open, LOCAL, vec![("host", "localhost:3000")], "http://localhost:3000", true),
        (&open, LOCAL, vec![("host", "localhost:80")], "http://localhost", true),
        (&open, LOCAL, vec![("host", "localhost:3000")], "http://localhost:5173", false),
        (&open, LOCAL, vec![("host", "localhost:3000")], "https://localhost:3000", false),
        (&open, LOCAL, vec![("host", "localhost:3000")], "http://evil.example:3000", false),
        (&published, LOCAL, vec![("host", "10.0.0.7:3000")], PUBLIC, true),
        (&published, LOCAL, vec![("host", "10.0.0.7:3000")], "http://10.0.0.7:3000", false),
        (&published, LOCAL, vec![("host", "localhost:3000")], "http://localhost:3000", true),
        (&published, LOCAL, proxied("app.example.org", "https"), "https://app.example.org", true),
        (
            &published,
            LOCAL,
            proxied("App.example.org:443", "https"),
            "https://app.example.org",
            true,
        ),
        (&published, LOCAL, proxied("app.example.org", "https"), "http://app.example.org", false),
        (&published, LOCAL, proxied("app.example.org", "https"), "https://evil.example", false),
        // The header of a client that is no proxy.
        (&published, VISITOR, proxied("evil.example", "https"), "https://evil.example", false),
    ] {
        let headers = [to, vec![("origin", origin)]].concat();
        let answer = send(server, ("POST", "/api/user"), peer, &headers, "{}").await;
        let expected = if counts { 400 } else { 403 };
        assert_eq!(answer.status, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn the_api_answers_only_its_own_hosts_where_public_url_is_set() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let path = format!("/api/user/{}", ada.id);
    let proxied = [("x-forwarded-proto", "https")];
    for (peer, host, more, is_own) in [
        (VISITOR, "auth.example.net", &[][..], true),
        (VISITOR, "AUTH.example.net.:3000", &[], true),
        // The host of an app.
        (VISITOR, "app.example.com", &[], true),
        (VISITOR, "127.0.0.1:3000", &[], true),
        (VISITOR, "[::1]:3000", &[], true),
        (VISITOR, "localhost:3000", &[], true),
        (VISITOR, "doorward:3000", &[], true),
        (VISITOR, "doorward.auth.svc.cluster.local:3000", &[], true),
        (VISITOR, "evil.example:3000", &[], false),
        (VISITOR, "auth.example.net.evil.example", &[], false),
        (VISITOR, "localhost.evil.example", &[], false),
        (VISITOR, "127.0.0.1.evil.example", &[], false),
        // A proxy with a certificate for the name.
        (LOCAL, "app.example.org", &proxied, true),
        (VISITOR, "evil.example", &proxied, false),
        (LOCAL, "evil.example", &[("x-forwarded-proto", "http")], false),
        (LOCAL, "doorward", &[("x-forwarded-host", "evil.example")], false),
        (LOCAL, "doorward", &[("x-forwarded-host", "auth.example.net")], true),
    ] {
        let headers = [&[("host", host)], more].concat();
        for (method, path, of_own) in [
            ("GET", &*path, 200),
            ("POST", "/api/user", 400),
            ("POST", "/api/auth/login", 400),
            ("GET", "/api/me", 401),
        ] {
            let answer = send(&server, (method, path), peer, &headers, "{}").await;
            match is_own {
                true => assert_eq!(answer.status, of_own, "{method} {path} {headers:?}"),
                false => {
                    assert_eq!(answer.status_and_body(), OTHER_HOST, "{method} {path} {headers:?}")
                }
            }
        }
        // What proxies, verifiers and health checks ask for has any name.
        for (method, path, status) in [
            ("GET", "/api/auth/guard", 401),
            ("GET", "/api/auth/reports", 401),
            ("GET", "/.well-known/jwks.json", 200),
            ("POST", "/oauth/introspect", 401),
            ("GET", "/livez", 200),
        ] {
            let answer = send(&server, (method, path), peer, &headers, "").await;
            assert_eq!(answer.status, status, "{method} {path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn without_public_url_the_api_answers_every_host() {
    let server = TestServer::open().await;
    let body = json!({"name": "Ada", "email": "ada@example.com"}).to_string();
    let headers = [("host", "intranet.example.com:3000")];
    let answer = send(&server, ("POST", "/api/user"), VISITOR, &headers, &body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

#[tokio::test]
async fn an_empty_host_header_is_that_of_a_program() {
    let server = server().await;
    let request = Request::post("/api/user").header(header::HOST, "").body(Body::from("{}"));
    assert_eq!(server.send(request.unwrap()).await.status, 400);
}
