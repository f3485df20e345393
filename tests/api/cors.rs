//! Pages of declared origins call the API from a browser and read every answer. Others cannot, and without `cors.origins` no
//! answer changes.

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::{
    Doorward,
    internals::http::routes::{Method, routes},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Answer, TestServer, UNAUTHORIZED};

const APP: &str = "https://app.example.com";
const LOCAL_APP: &str = "http://localhost:5173";
const HOST: &str = "auth.example.net";

const FILE: &str = r#"
    cors.origins = ["https://app.example.com", "http://localhost:5173"]

    [guards.open]
    allow = "true"

    [guards.behind]
    allow = "true"
    proxy = "envoy"
"#;

async fn server() -> TestServer {
    TestServer::open_with(|settings| {
        settings.with("public_url", "https://auth.example.net").with_toml(FILE)
    })
    .await
}

/// Sends a request as a browser does for a script of a page.
async fn send(
    server: &TestServer,
    (method, path): (&str, &str),
    origin: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", HOST)
        .header("origin", origin)
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "cors");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    server.send(request.body(body).unwrap()).await
}

async fn preflight(server: &TestServer, path: &str, origin: &str) -> Answer {
    let asked = [
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    send(server, ("OPTIONS", path), origin, &asked, Value::Null).await
}

fn cors_headers(answer: &Answer) -> Vec<(String, String)> {
    let headers = answer.headers.iter();
    headers
        .filter(|(name, _)| name.as_str().starts_with("access-control-"))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect()
}

fn varies_by_origin(answer: &Answer) -> bool {
    let lines = answer.headers.get_all(header::VARY).iter();
    lines.flat_map(|line| line.to_str().unwrap().split(',')).any(|name| name.trim() == "Origin")
}

/// Asserts that a page of this origin can read an answer.
fn assert_readable(answer: &Answer, origin: &str, what: &str) {
    let exposed = "X-Request-Id, X-Decision-Id, WWW-Authenticate, Retry-After";
    assert_eq!(answer.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), Some(origin), "{what}");
    assert_eq!(answer.header(header::ACCESS_CONTROL_EXPOSE_HEADERS), Some(exposed), "{what}");
    assert!(varies_by_origin(answer), "{what}");
    assert_eq!(answer.header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), None, "{what}");
}

/// The paths of the API, with guards.
fn open_paths() -> Vec<String> {
    let paths = routes().into_iter().filter(|route| !route.is_page() && !route.is_guard());
    let paths = paths.map(|route| route.path.replace("{id}", "x"));
    let mut open: Vec<_> = paths
        .filter(|path| {
            ["/api/", "/.well-known/", "/openapi.json"].iter().any(|p| path.starts_with(p))
        })
        .collect();
    open.extend(["/api/auth/guard", "/api/auth/miles", "/api/auth/open"].map(str::to_owned));
    assert!(open.len() > 25);
    open
}

#[tokio::test]
async fn a_preflight_of_a_declared_origin_is_answered_on_every_path_of_the_api() {
    let server = server().await;
    for path in open_paths() {
        for origin in [APP, LOCAL_APP] {
            let answer = preflight(&server, &path, origin).await;
            assert_eq!(answer.status_and_body(), (204, ""), "{path}");
            assert_readable(&answer, origin, &path);
            for (name, value) in [
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
                (
                    header::ACCESS_CONTROL_ALLOW_HEADERS,
                    "Authorization, Content-Type, traceparent, tracestate",
                ),
                (header::ACCESS_CONTROL_MAX_AGE, "7200"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn every_method_of_the_api_is_allowed() {
    let allowed = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    for route in routes().iter().filter(|route| !route.is_page() && !route.is_guard()) {
        assert!(allowed.contains(&route.method.as_str()), "{}", route.path);
        assert_ne!(route.method, Method::Any);
    }
}

#[tokio::test]
async fn any_other_origin_gets_the_answers_of_a_service_without_cors() {
    let server = server().await;
    let plain =
        TestServer::open_with(|settings| settings.with("public_url", "https://auth.example.net"))
            .await;
    for origin in [
        "https://evil.example",
        "https://app.example.com.evil.example",
        "https://app.example.com:8443",
        "http://app.example.com",
        "https://sub.app.example.com",
        "http://localhost:5174",
        "https://APP.example.com",
        "null",
        "*",
        "",
    ] {
        for path in ["/api/user", "/api/auth/guard", "/api/me", "/.well-known/jwks.json", "/api/x"]
        {
            for method in ["OPTIONS", "GET", "POST"] {
                let asked = [("access-control-request-method", "POST")];
                let with = send(&server, (method, path), origin, &asked, Value::Null).await;
                let without = send(&plain, (method, path), origin, &asked, Value::Null).await;
                assert_eq!(with.status, without.status, "{method} {path} {origin}");
                assert_eq!(cors_headers(&with), [], "{method} {path} {origin}");
            }
        }
    }
    let repeated = [("origin", APP)];
    let answer = send(&server, ("POST", "/api/user"), APP, &repeated, json!({})).await;
    assert_eq!((answer.status.as_u16(), cors_headers(&answer)), (403, vec![]), "a repeated header");
}

#[tokio::test]
async fn a_script_registers_refreshes_asks_a_guard_and_logs_out() {
    let server = server().await;
    let json = ("content-type", "application/json");
    let body = json!({"name": "Ada", "email": "ada@example.com", "password": "correct horse"});
    let registered = send(&server, ("POST", "/api/user"), APP, &[json], body).await;
    assert_eq!(registered.status, 201, "{}", registered.body);
    let mut bearer = format!("Bearer {}", registered.json()["token"].as_str().unwrap());
    for (method, path, status) in [
        ("GET", "/api/auth/guard", 200),
        ("GET", "/api/auth/open", 200),
        ("GET", "/api/me", 200),
        ("POST", "/api/auth/refresh", 200),
        ("POST", "/api/auth/logout", 204),
    ] {
        let headers = [("authorization", &*bearer)];
        let answer = send(&server, (method, path), APP, &headers, Value::Null).await;
        assert_eq!(answer.status, status, "{path} {}", answer.body);
        assert_readable(&answer, APP, path);
        if path == "/api/auth/refresh" {
            bearer = format!("Bearer {}", answer.json()["token"].as_str().unwrap());
        }
    }
}

#[tokio::test]
async fn a_script_can_read_every_error() {
    let server = server().await;
    let json = ("content-type", "application/json");
    let large = json!({"name": "x".repeat(70_000)});
    for ((method, path), headers, body, status) in [
        (("POST", "/api/user"), vec![json], json!({}), 400),
        (("POST", "/api/user"), vec![("content-type", "text/plain")], json!({}), 415),
        (("POST", "/api/user"), vec![json], large, 413),
        (("GET", "/api/me"), vec![], Value::Null, 401),
        (("GET", "/api/auth/guard"), vec![("authorization", "Bearer x")], Value::Null, 401),
        (("GET", "/api/user/x"), vec![], Value::Null, 404),
        (("GET", "/api/nowhere"), vec![("accept", "application/json")], Value::Null, 404),
        (("PUT", "/api/user"), vec![], Value::Null, 405),
        (("GET", "/api/me"), vec![("host", HOST)], Value::Null, 400),
    ] {
        let answer = send(&server, (method, path), APP, &headers, body).await;
        if headers.contains(&("host", HOST)) {
            // Two hosts: no browser sends that, and nothing is known of such a request.
            assert_eq!(answer.status, status);
            continue;
        }
        assert_eq!(answer.status, status, "{method} {path} {}", answer.body);
        assert_readable(&answer, APP, path);
        assert!(answer.headers.contains_key("x-request-id"), "{path}");
    }
    let login = json!({"email": "nobody@example.com", "password": "wrong horse"});
    let forwarded = [json, ("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")];
    let throttled = loop {
        let at = ("POST", "/api/auth/login");
        let answer = send(&server, at, APP, &forwarded, login.clone()).await;
        assert_readable(&answer, APP, "login");
        if answer.status != 404 {
            break answer;
        }
    };
    assert_eq!(throttled.status, 429);
    assert!(throttled.headers.contains_key(header::RETRY_AFTER));
}

#[tokio::test]
async fn a_cookie_never_counts() {
    let server = server().await;
    let form = Request::post("/sign-up")
        .header("host", HOST)
        .header("origin", "https://auth.example.net")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("name=Ada&email=ada%40example.com&password=correct+horse"));
    let signed_up = server.send(form.unwrap()).await;
    let cookie = signed_up.set_cookies()[0].split(';').next().unwrap().to_owned();
    for path in ["/api/me", "/api/auth/guard", "/api/sessions"] {
        let answer = send(&server, ("GET", path), APP, &[("cookie", &cookie)], Value::Null).await;
        assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED), "{path}");
        assert_readable(&answer, APP, path);
    }
}

#[tokio::test]
async fn pages_introspection_and_health_stay_closed() {
    let server = server().await;
    for path in [
        "/sign-in",
        "/account",
        "/docs",
        "/",
        "/nowhere",
        "/oauth/introspect",
        "/oauth/revoke",
        "/livez",
        "/.well-known/change-password",
    ] {
        for method in ["GET", "OPTIONS", "POST"] {
            let asked = [("access-control-request-method", "POST")];
            let answer = send(&server, (method, path), APP, &asked, Value::Null).await;
            assert_eq!(cors_headers(&answer), [], "{method} {path}");
            assert_ne!(answer.status, 204, "{method} {path}");
            if method == "POST" && path.starts_with("/oauth/") {
                assert_eq!(answer.status, 403, "{path}");
            }
        }
    }
}

/// A preflight of an app, about which its proxy asks a guard.
#[tokio::test]
async fn no_guard_admits_the_preflight_of_an_app_because_its_origin_is_declared() {
    let server = server().await;
    for path in [
        "/api/auth/guard/",
        "/api/auth/guard/reports",
        "/api/auth/open/",
        "/api/auth/open/a/b",
        "/api/auth/behind/",
        "/api/auth/behind/reports",
    ] {
        assert_eq!(preflight(&server, path, APP).await.status, 401, "{path}");
    }
    for name in ["x-forwarded-method", "x-forwarded-uri", "x-original-method", "x-original-uri"] {
        let asked = [("access-control-request-method", "POST"), (name, "OPTIONS")];
        for path in ["/api/auth/guard", "/api/auth/open"] {
            for method in ["OPTIONS", "GET"] {
                let answer = send(&server, (method, path), APP, &asked, Value::Null).await;
                assert_eq!(answer.status, 401, "{method} {path} {name}");
            }
        }
    }
}

#[tokio::test]
async fn caches_keep_the_answers_for_each_origin_apart() {
    let server = server().await;
    let request = Request::get("/.well-known/jwks.json").header("host", HOST).body(Body::empty());
    let answer = server.send(request.unwrap()).await;
    assert!(varies_by_origin(&answer) && cors_headers(&answer).is_empty());
    let same = send(&server, ("GET", "/.well-known/jwks.json"), APP, &[], Value::Null).await;
    assert_readable(&same, APP, "the key set");
}

#[tokio::test]
async fn without_declared_origins_no_answer_changes() {
    let server = TestServer::open().await;
    for path in open_paths() {
        for method in ["OPTIONS", "GET"] {
            let asked = [("access-control-request-method", "POST")];
            let answer = send(&server, (method, &path), APP, &asked, Value::Null).await;
            assert_eq!(cors_headers(&answer), [], "{method} {path}");
            assert!(!varies_by_origin(&answer), "{method} {path}");
            assert_ne!(answer.status, 204, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn an_app_that_embeds_the_service_answers_alike() {
    let server = server().await;
    let doorward: Doorward = server.doorward.clone();
    let app = doorward.routes().merge(doorward.pages());
    for path in open_paths().iter().filter(|path| *path != "/openapi.json") {
        let request = Request::options(path)
            .header("host", HOST)
            .header("origin", APP)
            .header("access-control-request-method", "POST");
        let answer = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 204, "{path}");
        assert_eq!(answer.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], APP, "{path}");
    }
}
