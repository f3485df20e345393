//! Errors are pages for browsers and JSON for programs.

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::http::routes::routes;

use super::{Browser, HOST, PUBLIC, assert_goes_to, assert_shows, server};
use crate::support::{NOT_FOUND, TestServer};

#[tokio::test]
async fn an_unknown_path_is_a_page_for_browsers_and_json_for_programs() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    for path in ["/nowhere", "/sign-in/", "/account/x", "/api/nowhere", "/.doorward/in?code=x"] {
        let answer = browser.get(path).await;
        assert_shows(&answer, 404, &["There is no such page"]);
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(server.get(path).await.status_and_body(), (404, NOT_FOUND), "{path}");
        let script = browser.request("GET", path).header("x-requested-with", "XMLHttpRequest");
        let mut script = script.body(Body::empty()).unwrap();
        script.headers_mut().insert("sec-fetch-mode", "cors".parse().unwrap());
        assert_eq!(server.send(script).await.status_and_body(), (404, NOT_FOUND), "{path}");
    }
}

#[tokio::test]
async fn the_start_page_is_nothing_for_programs() {
    let server = server().await;
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
        let request = Request::builder().method(method).uri("/").body(Body::empty()).unwrap();
        let answer = server.send(request).await;
        assert_eq!(answer.status, 404, "{method}");
        assert_eq!(answer.header(header::ALLOW), None, "{method}");
    }
    assert_goes_to(&Browser::new(&server).get("/").await, "/sign-in");
}

#[tokio::test]
async fn endpoints_of_the_api_answer_browsers_with_json() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    for (path, status) in [("/api/me", 401), ("/api/user", 405), ("/api/user/x", 404)] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_gets_405_with_the_allowed_ones() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    for (method, path, allowed) in [
        ("PUT", "/sign-in", "GET,HEAD,POST"),
        ("GET", "/account/name", "POST"),
        ("POST", "/account", "GET,HEAD"),
        ("DELETE", "/refused/x", "GET,HEAD"),
    ] {
        let request = browser.request(method, path).body(Body::empty()).unwrap();
        let answer = browser.send(request).await;
        assert_shows(&answer, 405, &["This cannot be done here"]);
        assert_eq!(answer.header(header::ALLOW), Some(allowed), "{method} {path}");
        let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
        let answer = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 405);
        assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/json"), "{path}");
        assert_eq!(answer.header(header::ALLOW), Some(allowed), "{method} {path}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_form_gets_a_page() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    let mut send = async |content_type: &str, body: Vec<u8>| {
        let request = browser
            .request("POST", "/sign-in")
            .header("sec-fetch-site", "same-origin")
            .header(header::CONTENT_TYPE, content_type);
        browser.send(request.body(Body::from(body)).unwrap()).await
    };
    let form = "application/x-www-form-urlencoded";
    for other in ["application/json", "text/plain", "multipart/form-data; boundary=x"] {
        let answer = send(other, b"{}".to_vec()).await;
        assert_shows(&answer, 415, &["This request is not a form"]);
    }
    let large = send(form, vec![b'a'; 70_000]).await;
    assert_shows(&large, 413, &["This is too much text"]);
    assert_eq!(large.header(header::CONNECTION), Some("close"));
    for bad in ["email=%ff&password=x", "email=a&email=b"] {
        let answer = send(form, bad.into()).await;
        assert_shows(&answer, 400, &["This request is not valid"]);
    }
    assert_shows(&send("Application/X-WWW-Form-URLencoded; charset=UTF-8", vec![]).await, 400, &[]);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let server = server().await;
    let browser = Browser::new(&server);
    for (path, status) in [("/sign-in", 200), ("/account", 303), ("/nowhere", 404), ("/", 303)] {
        let send = async |method: &str| {
            let request = browser.request(method, path).body(Body::empty()).unwrap();
            server.send(request).await
        };
        let (head, get) = (send("HEAD").await, send("GET").await);
        assert_eq!((head.status.as_u16(), &*head.body), (status, ""), "{path}");
        assert_eq!(get.status.as_u16(), status, "{path}");
        assert_eq!(
            head.header(header::CONTENT_LENGTH),
            get.header(header::CONTENT_LENGTH),
            "{path}"
        );
        assert_eq!(get.header(header::CONTENT_LENGTH), Some(&*get.body.len().to_string()));
    }
}

#[tokio::test]
async fn without_pages_nothing_of_them_exists() {
    let server =
        TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with("pages", "off"))
            .await;
    let mut browser = Browser::new(&server);
    for route in routes() {
        if route.is_page() {
            let path = route.path.replace("{decision}", "x");
            assert_eq!(browser.get(&path).await.status_and_body(), (404, NOT_FOUND), "{path}");
            let answer = browser.post(&path, &[("email", "x")]).await;
            assert_eq!(answer.status_and_body(), (404, NOT_FOUND), "{path}");
        }
    }
    assert_eq!(browser.get("/nowhere").await.status_and_body(), (404, NOT_FOUND));
}
