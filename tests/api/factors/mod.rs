//! Second factors through the JSON API.

mod authenticator;
mod budgets;
mod enrolment;
mod login;
mod notices;
mod owners;
mod proofs;
mod step_up;

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

pub use self::authenticator::{Authenticator, ORIGIN, totp_code};
use crate::support::{Answer, Member, TestServer, with_mail};

pub const ADA: &str = "ada@example.com";
pub const PASSWORD: &str = "correct horse";

/// A service with a domain, for which passkeys can be made, and mail.
pub async fn server() -> TestServer {
    TestServer::open_with(|settings| with_mail(settings).with("public_url", ORIGIN)).await
}

/// A person with factors.
pub struct Person {
    pub id: String,
    pub token: String,
    /// The secret of the authenticator app.
    pub totp: Option<String>,
    pub passkey: Option<Authenticator>,
    pub recovery_codes: Vec<String>,
}

impl Person {
    /// Registers.
    pub async fn register(server: &TestServer) -> Self {
        Self::of(server.register("Ada", ADA).await)
    }

    pub fn of(member: Member) -> Self {
        Self {
            id: member.id,
            token: member.token,
            totp: None,
            passkey: None,
            recovery_codes: Vec::new(),
        }
    }

    /// Adds an authenticator app.
    pub async fn add_totp(&mut self, server: &TestServer) {
        let path = "/api/me/factors/totp";
        let begun = server.request_as(&self.token, "POST", path, Value::Null).await;
        assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
        let (setup, secret) = (begun.json()["setup"].clone(), begun.json()["secret"].clone());
        let secret = secret.as_str().unwrap().to_owned();
        let body = json!({"setup": setup, "code": totp_code(&secret, server.now().seconds())});
        let path = "/api/me/factors/totp/confirm";
        let confirmed = server.request_as(&self.token, "POST", path, body).await;
        self.take(&confirmed);
        self.totp = Some(secret);
        // The code of this time step is used.
        server.let_pass(Duration::from_secs(30));
    }

    /// Adds a passkey, or a security key.
    pub async fn add_passkey(&mut self, server: &TestServer, mut authenticator: Authenticator) {
        let kind = if authenticator.verifies_user { "passkey" } else { "key" };
        let path = "/api/me/factors/passkeys/options";
        let begun = server.request_as(&self.token, "POST", path, json!({"kind": kind})).await;
        assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
        let begun = begun.json();
        let credential = authenticator.create(&begun["publicKey"]);
        let body = json!({"setup": begun["setup"], "credential": credential, "name": "Phone"});
        let added = server.request_as(&self.token, "POST", "/api/me/factors/passkeys", body).await;
        self.take(&added);
        self.passkey = Some(authenticator);
    }

    /// The token and the recovery codes of an answer.
    fn take(&mut self, added: &Answer) {
        assert_eq!(added.status, StatusCode::CREATED, "{}", added.body);
        let added = added.json();
        self.token = added["token"].as_str().unwrap().to_owned();
        if let Some(codes) = added["recoveryCodes"].as_array() {
            let text = |code: &Value| code.as_str().unwrap().to_owned();
            self.recovery_codes = codes.iter().map(text).collect();
        }
    }

    pub fn code(&self, server: &TestServer) -> String {
        totp_code(self.totp.as_ref().unwrap(), server.now().seconds())
    }
}

/// The challenge of a login with the right password.
pub async fn challenge(server: &TestServer) -> Value {
    let answer = server.login(ADA, PASSWORD).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
    answer.json()
}

/// Answers a challenge with a code.
pub async fn answer_code(server: &TestServer, challenge: &Value, code: &str) -> Answer {
    let body = json!({"challenge": challenge["challenge"], "code": code});
    server.post("/api/auth/login/factor", &body).await
}

/// Answers a challenge with a passkey.
pub async fn answer_passkey(
    server: &TestServer,
    challenge: &Value,
    authenticator: &mut Authenticator,
) -> Answer {
    let credential = authenticator.get(&challenge["publicKey"]);
    let body = json!({"challenge": challenge["challenge"], "credential": credential});
    server.post("/api/auth/login/factor", &body).await
}

/// The token of an accepted answer.
pub fn token(answer: &Answer) -> String {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()["token"].as_str().unwrap().to_owned()
}

/// How the session of a token was proved.
pub async fn methods(server: &TestServer, token: &str) -> Value {
    let me = server.request_as(token, "GET", "/api/me", Value::Null).await;
    assert_eq!(me.status, StatusCode::OK, "{}", me.body);
    me.json()["methods"].clone()
}
