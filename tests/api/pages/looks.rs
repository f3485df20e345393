//! What every page has: safe headers, a small size, the person's language, the operator's name.

use axum::http::header;
use doorward::Settings;

use super::{Browser, PUBLIC, assert_shows, has_script, server, server_with};
use crate::support::{Answer, TestServer};

const GUARD: &str = r#"
    [guards.reports]
    title = "Reports"
    allow = "false"
    proxy = "caddy"
    origins = ["https://app.example.com"]
"#;

/// Pages of every kind.
async fn pages(browser: &mut Browser<'_>) -> Vec<(&'static str, Answer)> {
    let mut pages = Vec::new();
    for path in ["/sign-in", "/sign-up", "/reset", "/nowhere", "/refused/x"] {
        pages.push((path, browser.get(path).await));
    }
    for path in ["/sign-in", "/sign-up", "/reset"] {
        pages.push((path, browser.post(path, &[]).await));
    }
    let fields = [("name", "Ada"), ("email", "ada@example.com"), ("password", "correct horse")];
    browser.post("/sign-up", &fields).await;
    for path in ["/account", "/sign-out"] {
        pages.push((path, browser.get(path).await));
    }
    for path in ["/account/name", "/account/email", "/account/password", "/account/delete"] {
        pages.push((path, browser.post(path, &[]).await));
    }
    pages
}

#[tokio::test]
async fn every_page_has_safe_headers_and_is_small() {
    let server = server_with(GUARD).await;
    for (path, page) in pages(&mut Browser::new(&server)).await {
        let header = |name: &str| page.header(name).unwrap_or_else(|| panic!("{path}: {name}"));
        assert_eq!(header("content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("content-language"), "en", "{path}");
        assert_eq!(header("strict-transport-security"), "max-age=31536000", "{path}");
        let vary = header("vary");
        assert!(vary.contains("Cookie") && vary.contains("Accept-Language"), "{path}: {vary}");
        let policy = header("content-security-policy");
        let (start, rest) = policy.split_once("'sha256-").unwrap();
        assert_eq!(start, "default-src 'none'; style-src ", "{path}");
        let (_, mut rest) = rest.split_once("'; ").unwrap();
        // The page to sign in asks for passkeys, and that to sign up offers them.
        let needs_script = ["/sign-in", "/sign-up"].contains(&path);
        assert_eq!(has_script(&page), needs_script, "{path}");
        if needs_script {
            let (others, hash) = rest.split_once("; script-src 'sha256-").unwrap();
            assert!(hash.len() == 45 && hash.ends_with("='"), "{path}: {hash}");
            rest = others;
        }
        let expected = "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
        assert_eq!(rest, expected, "{path}");
        assert_eq!(header("content-length"), page.body.len().to_string(), "{path}");
        assert!(page.body.len() <= 20_000, "{path}: {} bytes", page.body.len());
    }
}

#[tokio::test]
async fn pages_on_loopback_without_tls_do_not_ask_for_https() {
    let server = TestServer::open().await;
    let mut browser = Browser { host: "localhost:3000", ..Browser::new(&server) };
    let page = browser.get("/sign-in").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header(header::STRICT_TRANSPORT_SECURITY), None);
}

#[tokio::test]
async fn pages_speak_german() {
    let server = server().await;
    let mut browser = Browser { language: "de-AT, de;q=0.9, en;q=0.5", ..Browser::new(&server) };
    let page = browser.get("/sign-in").await;
    assert_shows(&page, 200, &["<html lang=\"de\"", "Passwort"]);
    assert_eq!(page.header(header::CONTENT_LANGUAGE), Some("de"));
    let page = browser.get("/nowhere").await;
    assert_eq!((page.status.as_u16(), page.header(header::CONTENT_LANGUAGE)), (404, Some("de")));
    assert!(page.body.contains("<html lang=\"de\""));
}

#[tokio::test]
async fn hostile_texts_are_only_texts() {
    const HOSTILE: &str = "\" onfocus=alert(1) x='y'><script>alert(1)</script>&amp;";
    let server = server().await;
    let mut browser = Browser::of(&server, HOSTILE, "ada@example.com").await;
    let mut answers = vec![browser.get("/account").await];
    for path in ["/sign-in", "/sign-up", "/reset", "/account/name", "/account/email"] {
        let fields = [
            ("email", HOSTILE),
            ("name", HOSTILE),
            ("code", HOSTILE),
            ("for", HOSTILE),
            ("password", "x"),
        ];
        answers.push(browser.post(path, &fields).await);
        answers
            .push(browser.get(&format!("{path}?for=%22%3E%3Cscript%3E&done=%3Cscript%3E")).await);
    }
    browser.user_agent = "<script>alert(1)</script>";
    browser.sign_in("ada@example.com").await;
    answers.push(browser.get("/account").await);
    for answer in answers {
        // If there is a script, it is the one that the policy names.
        has_script(&answer);
        assert!(!answer.body.contains("<script>alert"), "{}", answer.body);
        assert!(!answer.body.contains("\" onfocus="), "{}", answer.body);
    }
}

#[tokio::test]
async fn the_operator_chooses_name_logo_colour_and_links() {
    let folder = tempfile::tempdir().unwrap();
    let logo = folder.path().join("logo");
    std::fs::write(&logo, "<svg xmlns='http://www.w3.org/2000/svg'/>").unwrap();
    let change = |settings: Settings| {
        settings
            .with("public_url", "https://example.com/auth")
            .with("branding.name", "Käse & Co.")
            .with("branding.logo", logo.display())
            .with("branding.accent", "#ffd400")
            .with("branding.terms", "https://example.com/terms?a=1&b=2")
            .with("branding.privacy", "https://example.com/privacy")
    };
    let server = TestServer::open_with(change).await;
    let mut browser = Browser { host: "example.com", ..Browser::new(&server) };
    let page = browser.get("/sign-in").await;
    let shown = [
        "Käse &#38; Co.",
        "data:image/svg+xml;base64,",
        "--accent:#ffd400",
        "https://example.com/terms?a=1&#38;b=2",
        "https://example.com/privacy",
        "action=\"/auth/sign-in\"",
        "href=\"/auth/sign-up\"",
    ];
    assert_shows(&page, 200, &shown);
    assert_eq!(browser.get("/account").await.header(header::LOCATION), Some("/auth/sign-in"));
}

#[tokio::test]
async fn a_logo_that_cannot_be_shown_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let logo = folder.path().join("logo.gif");
    std::fs::write(&logo, "GIF89a").unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
        .with("public_url", PUBLIC)
        .with("branding.logo", logo.display());
    let Err(error) = doorward::Doorward::open(settings).await else { panic!("it opened") };
    let expected = format!("branding.logo: {}: is not a PNG, SVG or WebP image", logo.display());
    assert_eq!(error.to_string(), expected);
}
