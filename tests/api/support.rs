//! A service per test, called through its router, with a clock that the test sets.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{HeaderMap, Method, Request, StatusCode, header},
    response::Response,
};
use doorward::{
    Doorward, OpenError, Settings,
    internals::{
        Internals,
        clock::{Clock, Timestamp},
        credential::password::Cost,
        event::Administrator,
        http::{
            self, App, Service,
            admin::Operator,
            api::admin::signing_keys::{SigningKey, SigningKeys},
            routes::{Route, routes},
        },
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const MALFORMED: &str = "The requested action could not be exercised due to malformed syntax.";
pub const UNAUTHORIZED: &str = r#"{"message":"The provided credentials are either invalid or has insufficient privilege to perform the requested action."}"#;
pub const NOT_FOUND: &str = r#"{"message":"The requested resource could not be found."}"#;

/// The time at which every service starts.
pub const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub const REFUSED: (u16, &str) = (401, UNAUTHORIZED);

/// Opens a service. A program that another test starts has a copy of the lock of a folder that was just closed, until it runs.
async fn open(settings: Settings, clock: Clock) -> Doorward {
    let started = Instant::now();
    loop {
        match Doorward::open_with_clock(settings.clone(), clock.clone()).await {
            Err(OpenError::Data(error))
                if error.to_string().contains("is in use")
                    && started.elapsed() < Duration::from_secs(30) =>
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            opened => return opened.unwrap(),
        }
    }
}

/// Settings with mail. Nothing is sent, because no upkeep runs.
pub fn with_mail(settings: Settings) -> Settings {
    settings.with("mail.url", "file:mail").with("mail.from", "Doorward <doorward@example.com>")
}

/// The body of a refused form: `error` is the object with a message per field.
pub fn malformed(error: &str) -> String {
    format!(r#"{{"message":"{MALFORMED}","error":[{error}]}}"#)
}

/// The routes of the admin API about one user. A test asks something of each of them, so that it is asked of a new one, too.
pub fn routes_about_a_user() -> Vec<Route> {
    let about_a_user = |route: &Route| route.path.starts_with("/api/admin/users/{user}");
    let found: Vec<_> = routes().into_iter().filter(about_a_user).collect();
    assert!(found.len() >= 16, "not all routes are found");
    found
}

pub const SIGNING_KEYS: &str = "/api/admin/signing-keys";

fn keys_of(answer: Value) -> Vec<SigningKey> {
    serde_json::from_value::<SigningKeys>(answer).unwrap().signing_keys
}

/// A service with its own database, called without a network.
pub struct TestServer {
    pub doorward: Doorward,
    pub app: Service,
    seconds: Arc<AtomicI64>,
    folder: TempDir,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn set_cookies(&self) -> Vec<&str> {
        let lines = self.headers.get_all(header::SET_COOKIE).iter();
        lines.map(|line| line.to_str().unwrap()).collect()
    }

    /// To compare both in one assertion.
    pub fn status_and_body(&self) -> (u16, &str) {
        (self.status.as_u16(), &self.body)
    }
}

pub struct Member {
    pub id: String,
    pub token: String,
}

impl TestServer {
    pub async fn open() -> Self {
        Self::open_with(|settings| settings).await
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub async fn open_with(change: impl FnOnce(Settings) -> Settings) -> Self {
        Self::reopen(tempfile::tempdir().unwrap(), change).await
    }

    /// Stops the service and returns its folder, to open it again.
    pub fn close(self) -> TempDir {
        self.folder
    }

    pub async fn reopen(folder: TempDir, change: impl FnOnce(Settings) -> Settings) -> Self {
        Self::reopen_at(NOW, folder, change).await
    }

    /// Opens the service again at this time.
    pub async fn reopen_at(
        now: Timestamp,
        folder: TempDir,
        change: impl FnOnce(Settings) -> Settings,
    ) -> Self {
        let settings = Settings::new()
            .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
            .with_cheap_passwords(Cost { memory_kib: 64, passes: 1 });
        let settings = change(settings);
        let seconds = Arc::new(AtomicI64::new(now.seconds()));
        let (shared, passed) = (Arc::clone(&seconds), Arc::clone(&seconds));
        let clock = Clock::new(move || Timestamp::from_seconds(shared.load(Ordering::Relaxed)));
        // Budgets recover when the test lets time pass.
        let clock = clock.with_instants(move || {
            let passed = passed.load(Ordering::Relaxed) - now.seconds();
            Instant::now() + Duration::from_secs(passed.try_into().unwrap_or_default())
        });
        let doorward = open(settings, clock).await;
        Self { app: http::service(doorward.clone()), doorward, seconds, folder }
    }

    /// Settings from the text of a settings file, or its error message.
    pub fn settings_from(file: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("doorward.toml");
        std::fs::write(&path, file).unwrap();
        let shortened = format!("{}/", folder.path().display());
        Settings::from_file(path).map_err(|error| error.to_string().replace(&shortened, ""))
    }

    /// The time on the clock.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.seconds.load(Ordering::Relaxed))
    }

    /// Moves the clock forward.
    pub fn let_pass(&self, time: Duration) {
        self.seconds.fetch_add(i64::try_from(time.as_secs()).unwrap(), Ordering::Relaxed);
    }

    /// Moves the clock forward by days in which the service runs: something happens every day.
    pub async fn run_for(&self, time: Duration) {
        /// Between one and two days.
        const LATEST: Duration = Duration::from_secs(36 * 60 * 60);
        self.let_pass(time - LATEST);
        let email = format!("clock-{}@example.com", self.now().seconds());
        self.register("Clock", &email).await;
        self.let_pass(LATEST);
    }

    /// Sets the clock, as somebody who corrects it.
    pub fn set_clock(&self, to: Timestamp) {
        self.seconds.store(to.seconds(), Ordering::Relaxed);
    }

    /// Sends a request. It comes from loopback unless it has a `ConnectInfo`.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (head, body) = self.respond(request).await.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, body }
    }

    /// Sends a request and leaves the body of the response unread.
    pub async fn respond(&self, request: Request<Body>) -> Response {
        let local = SocketAddr::from(([127, 0, 0, 1], 9));
        let peer = request.extensions().get().map_or(local, |ConnectInfo(peer)| *peer);
        self.app.answer(request, peer).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, body.to_string()).await
    }

    pub async fn post_text(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }

    pub async fn request(&self, method: Method, path: &str, authorization: &[&str]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for value in authorization {
            request = request.header(header::AUTHORIZATION, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a request with a token, and with a JSON body unless it is null.
    pub async fn request_as(&self, token: &str, method: &str, path: &str, body: Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request.body(body).unwrap()).await
    }

    /// Calls a guard with a token.
    pub async fn guard(&self, guard: &str, token: &str) -> Answer {
        let path = format!("/api/auth/{guard}");
        self.request(Method::GET, &path, &[&format!("Bearer {token}")]).await
    }

    /// What makes a request one of the operator.
    pub fn operator_extension(&self) -> Operator {
        let settings = self.doorward.settings().clone();
        Operator {
            administrator: Administrator::APP,
            read_settings: Arc::new(move || Ok(settings.clone())),
        }
    }

    /// Calls the admin API as the operator, with a JSON body unless it is null.
    pub async fn operator(&self, method: &str, path: &str, body: Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .extension(self.operator_extension());
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request.body(body).unwrap()).await
    }

    /// Orders something as the operator and returns the answer, which is a success.
    pub async fn ordered(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = self.operator(method, path, body).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.body);
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// Orders something about a user as the operator: `what` follows the path of the user.
    pub async fn order(&self, method: &str, user: &str, what: &str, body: Value) -> Answer {
        let answer = self.operator(method, &format!("/api/admin/users/{user}{what}"), body).await;
        assert!(answer.status.is_success(), "{method} {user}{what}: {}", answer.body);
        answer
    }

    /// The signing keys, as the operator sees them.
    pub async fn signing_keys(&self) -> Vec<SigningKey> {
        keys_of(self.ordered("GET", SIGNING_KEYS, Value::Null).await)
    }

    /// Rotates the signing keys and returns them.
    pub async fn rotate_keys(&self) -> Vec<SigningKey> {
        keys_of(self.ordered("POST", SIGNING_KEYS, Value::Null).await)
    }

    /// Revokes a signing key and returns the others.
    pub async fn revoke_key(&self, kid: &str) -> Vec<SigningKey> {
        keys_of(self.ordered("DELETE", &format!("{SIGNING_KEYS}/{kid}"), Value::Null).await)
    }

    pub async fn register(&self, name: &str, email: &str) -> Member {
        self.register_with(json!({"name": name, "email": email, "password": "correct horse"})).await
    }

    pub async fn register_with(&self, body: Value) -> Member {
        let answer = self.post("/api/user", &body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
        let body = answer.json();
        let text = |field: &str| body[field].as_str().unwrap().to_owned();
        Member { id: text("id"), token: text("token") }
    }

    /// Logs in and returns the token.
    pub async fn token_of(&self, email: &str, password: &str) -> String {
        let answer = self.login(email, password).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    pub async fn login(&self, email: &str, password: &str) -> Answer {
        self.post("/api/auth/login", &json!({"email": email, "password": password})).await
    }
}
