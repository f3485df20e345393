//! `/docs`: every operation of the document, for everybody, with the looks and settings of the service.

use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    body::Body,
    http::{Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use doorward::internals::http::{paths::SEGMENT, routes::routes};

use super::{Browser, PUBLIC, server};
use crate::support::TestServer;

#[tokio::test]
async fn the_documentation_shows_every_operation_once() {
    let server = server().await;
    let page = Browser::new(&server).get("/docs").await;
    assert_eq!(page.status, 200);
    for route in routes().iter().filter(|route| !route.is_page()) {
        let method = route.method.as_str();
        let path = route.path.replace(SEGMENT, "miles");
        let class = format!("method {}", method.to_lowercase());
        let heading = format!("<code class=\"{class}\">{method}</code> <code>{path}</code>");
        assert_eq!(page.body.matches(&heading).count(), 1, "{heading}");
    }
    assert!(page.body.contains("string, 8 to 128 characters"));
    assert!(page.body.contains("<code>registration_conflict = &#34;silent&#34;</code>"));
    let curl = format!("curl {PUBLIC}/api/user/0b8e5c2a-9f1d-4c37-8a64-2f5d1e7b3c90");
    assert!(page.body.contains(&curl));
    let start = page.body.find("Start here").unwrap();
    assert!(start < page.body.find("<nav aria-label=\"Groups\"").unwrap());
    let register = format!("TOKEN=$(curl -s {PUBLIC}/api/user -H ");
    assert!(page.body.contains(&register.replace('\'', "&#39;")), "{}", &page.body[start..][..900]);
    assert!(page.body.contains(&format!("curl -i {PUBLIC}/api/auth/guard -H ")));
    for banned in ["grammar", "zod", "parser"] {
        assert!(!page.body.contains(banned), "{banned}");
    }
    for banned in ["<script", " style=\"", "src=\"http", "href=\"http"] {
        assert!(!page.body.contains(banned), "{banned}");
    }
}

#[tokio::test]
async fn the_documentation_is_the_same_for_everybody_and_its_policy_allows_its_style_only() {
    let server = server().await;
    let mut browser = Browser { language: "de", ..Browser::new(&server) };
    let page = browser.get("/docs").await;
    assert_eq!(page.header(header::CONTENT_LANGUAGE), Some("en"));
    assert_eq!(page.header(header::CACHE_CONTROL), Some("public, max-age=3600"));
    assert_eq!(page.header(header::VARY), None);
    let (_, style) = page.body.split_once("<style>").unwrap();
    let (style, _) = style.split_once("</style>").unwrap();
    let hash = BASE64_STANDARD.encode(digest(&SHA256, style.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    assert_eq!(page.header(header::CONTENT_SECURITY_POLICY), Some(&*policy));
    assert_eq!(browser.get("/docs").await.body, page.body, "the second time");
    let head = server.send(Request::head("/docs").body(Body::empty()).unwrap()).await;
    assert_eq!(head.header(header::CONTENT_LENGTH), Some(&*page.body.len().to_string()));
}

#[tokio::test]
async fn the_documentation_escapes_what_the_operator_has_set() {
    let hostile = "<script>\"'&";
    let server = TestServer::open_with(|settings| {
        let settings = settings.with("branding.name", hostile).with("designated.name", hostile);
        settings.with("password.min_length", "12")
    })
    .await;
    let page = server.get("/docs").await;
    assert!(!page.body.contains("<script"));
    let escaped = "&#60;script&#62;";
    assert_eq!(page.body.matches(escaped).count(), 3, "title, header and the answer of the guard");
    assert!(page.body.contains("string, 12 to 128 characters"));
}
