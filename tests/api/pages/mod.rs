//! The pages for people with a browser, through the router.

mod account;
mod admin;
mod apps;
mod cross_site;
mod docs;
mod errors;
mod factors;
mod invitations;
mod keys;
mod looks;
mod mail;
mod passkeys;
mod refused;
mod reset;
mod sessions;
mod sign_in;
mod sign_up;
mod sign_up_passkey;
mod step_up;
mod verify_for_app;

use std::collections::BTreeMap;

use axum::{
    body::Body,
    http::{Request, header, request},
};

use serde_json::Value;

use crate::support::{Answer, TestServer};

const HOST: &str = "auth.example.net";
const PUBLIC: &str = "https://auth.example.net";
const COOKIE: &str = "__Host-doorward";
const PASSWORD: &str = "correct horse";

/// A service with pages on HTTPS.
async fn server() -> TestServer {
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC)).await
}

/// A service on HTTPS with guards.
async fn server_with(guards: &str) -> TestServer {
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(guards)).await
}

/// The cookies that a browser keeps for one host.
type Cookies = BTreeMap<String, String>;

fn keep_cookies(cookies: &mut Cookies, answer: &Answer) {
    for line in answer.set_cookies() {
        let (pair, attributes) = line.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        match attributes.contains("Max-Age=0") {
            true => cookies.remove(name),
            false => cookies.insert(name.to_owned(), value.to_owned()),
        };
    }
}

fn cookie_header(cookies: &Cookies) -> String {
    cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}

/// A browser: it keeps cookies and sends what browsers send.
struct Browser<'s> {
    server: &'s TestServer,
    host: &'static str,
    language: &'static str,
    user_agent: &'static str,
    cookies: Cookies,
}

impl<'s> Browser<'s> {
    fn new(server: &'s TestServer) -> Self {
        let user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        Self { server, host: HOST, language: "en", user_agent, cookies: Cookies::new() }
    }

    /// A browser in which somebody has signed up.
    async fn of(server: &'s TestServer, name: &str, email: &str) -> Self {
        let mut browser = Self::new(server);
        let fields = [("name", name), ("email", email), ("password", PASSWORD)];
        assert_goes_to(&browser.post("/sign-up", &fields).await, "/account");
        browser
    }

    fn request(&self, method: &str, path: &str) -> request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.host)
            .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .header(header::ACCEPT_LANGUAGE, self.language)
            .header(header::USER_AGENT, self.user_agent)
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document");
        match self.cookies.is_empty() {
            true => request,
            false => request.header(header::COOKIE, cookie_header(&self.cookies)),
        }
    }

    async fn send(&mut self, request: Request<Body>) -> Answer {
        let answer = self.server.send(request).await;
        keep_cookies(&mut self.cookies, &answer);
        answer
    }

    /// Opens a page, as from a bookmark.
    async fn get(&mut self, path: &str) -> Answer {
        let request = self.request("GET", path).header("sec-fetch-site", "none");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a form of a page of this site.
    async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .request("POST", path)
            .header("sec-fetch-site", "same-origin")
            .header(header::ORIGIN, format!("https://{}", self.host))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(encoded(fields))).unwrap()).await
    }

    async fn sign_in(&mut self, email: &str) -> Answer {
        self.post("/sign-in", &[("email", email), ("password", PASSWORD)]).await
    }

    /// Whether the browser is signed in.
    async fn is_signed_in(&mut self) -> bool {
        let answer = self.get("/account").await;
        if answer.status != 200 {
            assert_goes_to(&answer, "/sign-in");
        }
        answer.status == 200
    }
}

/// The value of a hidden field.
#[track_caller]
fn hidden(page: &Answer, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.body.split_once(&start).unwrap_or_else(|| panic!("{name}: {}", page.body));
    rest.split('"').next().unwrap().to_owned()
}

/// What the script of a page gives to the browser.
#[track_caller]
fn options(page: &Answer) -> Value {
    let (_, rest) = page.body.split_once("data-passkey=\"").expect("a page with a passkey button");
    let escaped = rest.split('"').next().unwrap();
    serde_json::from_str(&escaped.replace("&#34;", "\"").replace("&#38;", "&")).unwrap()
}

/// Whether the page has the script, and its policy allows just that.
#[track_caller]
fn has_script(page: &Answer) -> bool {
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap_or_default();
    let scripts = page.body.matches("<script").count();
    assert_eq!(policy.matches("script-src 'sha256-").count(), scripts, "{policy}: {}", page.body);
    assert!(scripts <= 1, "{}", page.body);
    scripts == 1
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let encode = |text: &str| text.bytes().map(byte).collect::<String>();
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[track_caller]
fn assert_goes_to(answer: &Answer, location: &str) {
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert_eq!(answer.header(header::LOCATION), Some(location));
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
    assert_eq!(answer.body, "");
}

/// A page with this status that contains all these texts.
#[track_caller]
fn assert_shows(answer: &Answer, status: u16, texts: &[&str]) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header(header::CONTENT_TYPE), Some("text/html; charset=utf-8"));
    for text in texts {
        assert!(answer.body.contains(text), "{text:?} is missing: {}", answer.body);
    }
}
