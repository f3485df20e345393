//! Errors: unknown paths, wrong methods, oversized bodies, a damaged database.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use doorward::internals::config::DatabaseUrl;
use serde_json::Value;

use crate::support::{NOT_FOUND, TestServer, malformed};

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let server = TestServer::open().await;
    for path in [
        "/",
        "/api",
        "/api/",
        "/api/users",
        "/api/user/",
        "/api/auth",
        "/api/auth/",
        "/API/user",
        "/api/auth/Guard",
        "/api//auth/guard",
        "/api/./auth/guard",
        "/api/auth/%67uard/x",
        "/api/auth/login/",
        "/api/auth/unheard-of",
        "/api/user/a/b",
    ] {
        assert_eq!(server.get(path).await.status_and_body(), (404, NOT_FOUND), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_gets_405_with_the_allowed_ones() {
    let server = TestServer::open().await;
    let id = "/api/user/00000000-0000-4000-8000-000000000000";
    for (method, path, allowed) in [
        (Method::GET, "/api/user", "POST"),
        (Method::OPTIONS, "/api/user", "POST"),
        (Method::DELETE, id, "GET,HEAD"),
        (Method::GET, "/api/auth/login", "POST"),
        (Method::TRACE, "/api/auth/login", "POST"),
    ] {
        let answer = server.request(method.clone(), path, &[]).await;
        assert_eq!(
            answer.status_and_body(),
            (405, r#"{"message":"The requested resource does not support this method."}"#),
            "{method} {path}"
        );
        assert_eq!(answer.header(header::ALLOW), Some(allowed), "{method} {path}");
    }
}

/// Fields named `f0`, `f1` and so on, each made by `field` and joined by `separator`.
fn fields(count: usize, separator: &str, field: fn(usize) -> String) -> String {
    (0..count).map(field).collect::<Vec<_>>().join(separator)
}

#[tokio::test]
async fn a_body_with_too_many_fields_is_refused() {
    let server = TestServer::open().await;
    let too_many = malformed(r#"{"body":"Must contain at most 100 fields"}"#);
    let register = async |extra: &str| {
        let known = r#""name":"Ada, \"the\\ first\"","email":"ada@example.com""#;
        let request = Request::post("/api/user").header(header::CONTENT_TYPE, "application/json");
        let body = format!("{{{known}{extra}}}");
        server.send(request.body(Body::from(body)).unwrap()).await
    };
    let member = |number| format!(r#","f{number}":{number}"#);
    let element = |number| format!(r#"{{"f":{number}}}"#);
    for extra in [
        fields(99, "", member),
        fields(4000, "", member),
        format!(r#","nested":[{}]"#, fields(4000, ",", element)),
        format!(r#","nested":{{"a":0{}}}"#, fields(4000, "", member)),
    ] {
        assert_eq!(register(&extra).await.status_and_body(), (400, too_many.as_str()));
    }
    // Commas in texts count for nothing.
    let text = ",".repeat(1000);
    assert_eq!(
        register(&format!(r#","text":"\"{text}"{}"#, fields(97, "", member))).await.status,
        201
    );
}

#[tokio::test]
async fn a_form_with_too_many_fields_is_refused() {
    let server = TestServer::open().await;
    let sign_in = async |count| {
        let request = Request::post("/sign-in")
            .header(header::HOST, "127.0.0.1:3000")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        let extra = fields(count, "", |number| format!("&f{number}={number}"));
        let body = format!("email=ada%40example.com&password=wrong{extra}");
        server.send(request.body(Body::from(body)).unwrap()).await
    };
    let (most, more, far_more) = (sign_in(98).await, sign_in(99).await, sign_in(6000).await);
    assert!(most.body.contains("ada@example.com"), "{}", most.body);
    for refused in [more, far_more] {
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(!refused.body.contains("ada@example.com"), "{}", refused.body);
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_refused_and_one_without_a_type_is_read() {
    let server = TestServer::open().await;
    let send = async |content_type: Option<&str>, body: &'static str| {
        let mut request = Request::post("/api/user");
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        server.send(request.body(Body::from(body)).unwrap()).await.status.as_u16()
    };
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
        "json",
        "\u{e4}",
        "application/problem+json",
    ] {
        assert_eq!(send(Some(content_type), "{}").await, 415, "{content_type}");
    }
    for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
        assert_eq!(send(Some(content_type), "{}").await, 400, "{content_type}");
    }
    assert_eq!(send(None, "{}").await, 400);
    assert_eq!(send(Some("text/plain"), "").await, 400, "an empty body has no type to check");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let server = TestServer::open_with(|settings| settings.with("limits.body", 1024)).await;
    let padded = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
    assert_eq!(server.post_text("/api/user", padded(1024)).await.status, StatusCode::BAD_REQUEST);
    let answer = server.post_text("/api/user", padded(1025)).await;
    assert_eq!(answer.status_and_body(), (413, r#"{"message":"The request body is too large."}"#));
    assert_eq!(answer.header(header::CONNECTION), Some("close"));
    let declared = Request::post("/api/auth/login").header(header::CONTENT_LENGTH, 1_u64 << 40);
    let answer = server.send(declared.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn every_answer_has_a_unique_request_id() {
    let server = TestServer::open().await;
    let mut seen = std::collections::HashSet::new();
    for path in ["/", "/api/user", "/api/auth/guard", "/api/user/x"] {
        for _ in 0..100 {
            let answer = server.get(path).await;
            let id = answer.header("x-request-id").expect("a request id").to_owned();
            assert!(seen.insert(id), "an id occurs twice");
        }
    }
}

#[tokio::test]
async fn every_answer_forbids_content_sniffing_and_loading_by_other_origins() {
    let server = TestServer::open().await;
    let token = server.register("Miles Davis", "miles@example.com").await.token;
    for path in [
        "/",
        "/api/user",
        "/api/user/x",
        "/api/me",
        "/livez",
        "/readyz",
        "/openapi.json",
        "/.well-known/jwks.json",
        "/.well-known/openid-configuration",
        "/.well-known/revocations",
        "/api/auth/guard",
        "/api/auth/miles",
        "/api/auth/nobody",
        "/api/auth/guard/x",
    ] {
        for (method, token) in [("GET", &*token), ("GET", "x"), ("POST", &token)] {
            let answer = server.request_as(token, method, path, Value::Null).await;
            let header = answer.headers.get_all(header::X_CONTENT_TYPE_OPTIONS);
            assert_eq!(header.iter().collect::<Vec<_>>(), ["nosniff"], "{method} {path}");
            let policy = answer.headers.get_all("cross-origin-resource-policy");
            let policy: Vec<_> = policy.iter().collect();
            // A proxy keeps an admission to itself.
            match answer.header("x-auth-user-id") {
                None => assert_eq!(policy, ["same-origin"], "{method} {path}"),
                Some(_) => assert!(policy.is_empty(), "{method} {path}"),
            }
        }
    }
    let logout = server.request_as(&token, "POST", "/api/auth/logout", Value::Null).await;
    assert_eq!(logout.status, StatusCode::NO_CONTENT);
    assert_eq!(logout.header(header::X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
    assert_eq!(logout.header("cross-origin-resource-policy"), Some("same-origin"));
}

#[tokio::test]
async fn a_request_that_names_two_hosts_is_malformed() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let send = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path).header("Authorization", format!("Bearer {token}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Body::empty()).unwrap()).await
    };
    for path in ["/api/auth/guard", "/api/auth/guard/x", "/api/me", "/livez", "/nowhere"] {
        for other in ["two.example", "one.example"] {
            let answer = send(path, &[("Host", "one.example"), ("Host", other)]).await;
            let body = r#"{"message":"The requested action could not be exercised due to malformed syntax."}"#;
            assert_eq!(answer.status_and_body(), (400, body), "{path}");
            assert_eq!(answer.header(header::CONNECTION), Some("close"));
            assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"));
            assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
            assert!(answer.header("x-request-id").is_some());
        }
    }
    let answer = send("/api/auth/guard", &[("Host", "one.example"), ("X", "1"), ("X", "2")]).await;
    assert_eq!(answer.status, StatusCode::OK, "other fields may be repeated");
}

#[tokio::test]
async fn a_host_that_is_no_host_and_port_is_malformed() {
    let server = TestServer::open().await;
    for path in ["/api/user", "/api/me", "/livez", "/sign-in", "/nowhere", "/oauth/revoke"] {
        for host in ["app:+443", "app:x", "app:99999", "user@app", "app/x", "app:443:443", "[::1"] {
            for method in ["GET", "POST"] {
                let request = Request::builder().method(method).uri(path).header("Host", host);
                let answer = server.send(request.body(Body::empty()).unwrap()).await;
                let body = r#"{"message":"The requested action could not be exercised due to malformed syntax."}"#;
                assert_eq!(answer.status_and_body(), (400, body), "{method} {path} {host}");
                assert_eq!(answer.header(header::CONNECTION), Some("close"));
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_database_returns_503_and_never_a_refusal() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let DatabaseUrl::Sqlite(file) = server.doorward.settings().database() else { panic!() };
    rusqlite::Connection::open(file).unwrap().execute_batch("DROP TABLE sessions").unwrap();
    let failed = (500, r#"{"message":"Something went wrong. Please try again."}"#);
    assert_eq!(server.guard("guard", &token).await.status_and_body(), failed);
    assert_eq!(server.login("ada@example.com", "correct horse").await.status_and_body(), failed);
}
