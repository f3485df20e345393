//! An HTTP client and its answers.

use std::net::SocketAddr;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{PASSWORD, PATIENCE};

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn field(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }

    /// Asserts what every error has: its status, JSON with a message, and an id.
    pub fn must_be_error(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(!self.field("message").is_empty(), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self:?}");
    }

    /// Asserts a 503 that invites a retry.
    pub fn must_be_unavailable(&self) {
        self.must_be_error(503);
        let wait = self.header("retry-after").and_then(|wait| wait.parse::<u32>().ok());
        assert!(wait.is_some_and(|seconds| seconds > 0), "{self:?}");
    }
}

/// A registered user.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: String,
    pub name: String,
    pub email: String,
    pub token: String,
}

/// An HTTP client of one server. Clones share connections.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    base: String,
}

impl Client {
    pub fn of(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .max_idle_connections(64)
            .max_idle_connections_per_host(64)
            .build();
        Self { agent: config.into(), base: format!("http://{address}") }
    }

    pub fn try_get(&self, path: &str, authorization: Option<&str>) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        if let Some(value) = authorization {
            request = request.header("Authorization", value);
        }
        read(request.call()?)
    }

    pub fn try_post(&self, path: &str, body: &Value) -> Result<Answer, ureq::Error> {
        let request = self.agent.post(format!("{}{path}", self.base));
        read(request.header("Content-Type", "application/json").send(body.to_string())?)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.try_get(path, None).unwrap()
    }

    /// Any request with a token.
    pub fn request(&self, method: &str, path: &str, token: &str, body: &Value) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .body(body.to_string())
            .unwrap();
        let request =
            self.agent.configure_request(request).allow_non_standard_methods(true).build();
        read(self.agent.run(request).unwrap()).unwrap()
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).unwrap()
    }

    pub fn try_guard(&self, token: &str) -> Result<Answer, ureq::Error> {
        self.try_get("/api/auth/guard", Some(&format!("Bearer {token}")))
    }

    /// The status of the guard for a token.
    pub fn guard(&self, token: &str) -> u16 {
        self.try_guard(token).unwrap().status
    }

    pub fn login(&self, email: &str, password: &str) -> Answer {
        self.post("/api/auth/login", &json!({"email": email, "password": password}))
    }

    pub fn profile(&self, id: &str) -> Answer {
        self.get(&format!("/api/user/{id}"))
    }

    /// Tries to register a user without a password, which needs no hash.
    pub fn try_to_register(&self, email: &str) -> Answer {
        self.post("/api/user", &json!({"name": name_for(email), "email": email}))
    }

    /// Registers a user without a password.
    pub fn register_quickly(&self, email: &str) -> Member {
        member(email, &self.try_to_register(email))
    }

    /// Registers a user with [`PASSWORD`].
    pub fn register(&self, email: &str) -> Member {
        let body = json!({"name": name_for(email), "email": email, "password": PASSWORD});
        member(email, &self.post("/api/user", &body))
    }

    /// Asserts that a user is found by id and that the token is valid.
    pub fn must_know(&self, member: &Member) {
        let profile = self.profile(&member.id);
        assert_eq!(profile.status, 200, "{member:?}: {profile:?}");
        assert_eq!(profile.json(), json!({"id": member.id, "name": member.name}));
        assert_eq!(self.guard(&member.token), 200, "{member:?}");
    }
}

/// The claims of a token or of the revocation feed.
pub fn claims_of(token: &str) -> Value {
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

/// A name derived from the address, so that a record mixed from two users is noticed.
pub fn name_for(email: &str) -> String {
    format!("Name of {email}")
}

/// The user that a registration created.
pub fn member(email: &str, answer: &Answer) -> Member {
    assert_eq!(answer.status, 201, "{answer:?}");
    Member {
        id: answer.field("id"),
        name: name_for(email),
        email: email.to_owned(),
        token: answer.field("token"),
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let body = response.body_mut().read_to_string()?;
    let headers = response.headers().iter();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    Ok(Answer { status: response.status().as_u16(), headers, body })
}
