//! Sessions: who may list and end them, every way in which they end, and when that takes effect.

use std::{
    collections::HashSet,
    io::{self, Write},
    sync::{Arc, Mutex, Once},
    time::{Duration, Instant},
};

use axum::http::{Method, StatusCode, header};
use doorward::internals::{Internals, store::MAX_SESSIONS};
use serde_json::{Value, json};

use crate::{
    revocations::{everything, part},
    support::{Answer, NOT_FOUND, REFUSED, TestServer},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const PASSWORD: &str = "correct horse";

/// Every route for the signed-in user, with a body that succeeds and the status of success.
pub fn routes() -> [(&'static str, &'static str, Value, u16); 11] {
    let ended_below = "/api/sessions/00000000-0000-4000-8000-000000000000";
    [
        ("GET", "/api/me", Value::Null, 200),
        ("PATCH", "/api/me", json!({"name": "Augusta"}), 200),
        ("PATCH", "/api/me", json!({"email": "a@example.com", "password": PASSWORD}), 200),
        ("GET", "/api/me/export", Value::Null, 200),
        ("POST", "/api/me/password", json!({"current": PASSWORD, "new": "another horse"}), 204),
        ("GET", "/api/sessions", Value::Null, 200),
        ("DELETE", ended_below, Value::Null, 404),
        ("POST", "/api/auth/refresh", Value::Null, 200),
        ("POST", "/api/auth/logout", Value::Null, 204),
        ("POST", "/api/auth/logout-everywhere", Value::Null, 204),
        ("DELETE", "/api/me", json!({"password": PASSWORD}), 204),
    ]
}

#[tokio::test]
async fn every_route_of_an_account_is_for_its_user_alone() {
    for (method, path, body, success) in routes() {
        let server = TestServer::open().await;
        let member = server.register("Ada", "ada@example.com").await;
        let ended = server.token_of("ada@example.com", PASSWORD).await;
        server.request_as(&ended, "POST", "/api/auth/logout", Value::Null).await;
        let garbled = member.token.replace('.', "-");

        let without_token = server.request(method.parse().unwrap(), path, &[]).await;
        assert_eq!(without_token.status_and_body(), REFUSED, "{method} {path}");
        assert_eq!(
            without_token.header(header::WWW_AUTHENTICATE),
            Some(r#"Bearer realm="doorward""#)
        );
        for token in [&ended, &garbled] {
            let answer = server.request_as(token, method, path, body.clone()).await;
            assert_eq!(answer.status_and_body(), REFUSED, "{method} {path}");
            assert_eq!(
                answer.header(header::WWW_AUTHENTICATE),
                Some(r#"Bearer realm="doorward", error="invalid_token""#)
            );
        }
        let answer = server.request_as(&member.token, method, path, body).await;
        assert_eq!(answer.status.as_u16(), success, "{method} {path}: {}", answer.body);
        for answer in [without_token, answer] {
            assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_wrong_method_on_an_account_route_gets_405_with_the_allowed_ones() {
    let server = TestServer::open().await;
    let id = "/api/sessions/00000000-0000-4000-8000-000000000000";
    for (path, allowed) in [
        ("/api/me", "GET,HEAD,PATCH,DELETE"),
        ("/api/me/password", "POST"),
        ("/api/me/export", "GET,HEAD"),
        ("/api/sessions", "GET,HEAD"),
        (id, "DELETE"),
        ("/api/auth/logout", "POST"),
        ("/api/auth/logout-everywhere", "POST"),
        ("/api/auth/refresh", "POST"),
        ("/api/auth/reset", "POST"),
    ] {
        let answer = server.request(Method::PUT, path, &[]).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(answer.header(header::ALLOW), Some(allowed), "{path}");
    }
}

/// A user with two sessions; `old` is the token that has to end.
struct TwoSessions {
    server: TestServer,
    id: String,
    other: String,
    old: String,
}

impl TwoSessions {
    async fn open() -> Self {
        let server = TestServer::open().await;
        let member = server.register("Ada", "ada@example.com").await;
        let old = server.token_of("ada@example.com", PASSWORD).await;
        for token in [&member.token, &old] {
            assert_eq!(server.guard("guard", token).await.status, StatusCode::OK);
        }
        Self { server, id: member.id, other: member.token, old }
    }

    async fn request(&self, token: &str, method: &str, path: &str, body: Value) -> Answer {
        let answer = self.server.request_as(token, method, path, body).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.body);
        answer
    }

    async fn order(&self, method: &str, what: &str, body: Value) -> Answer {
        self.server.order(method, &self.id, what, body).await
    }

    /// Asserts that the next request with the old token is refused, and that the feed lists it.
    async fn has_ended(&self, other: StatusCode, how: &str) {
        self.is_refused(other, how).await;
        let feed = everything(&self.server).await;
        let feed = feed["revoked"].as_array().unwrap();
        let is_listed = |token: &str| feed.contains(&part(token, 1)["jti"]);
        assert!(is_listed(&self.old), "{how}");
        assert_eq!(is_listed(&self.other), other != StatusCode::OK, "{how}");
    }

    async fn is_refused(&self, other: StatusCode, how: &str) {
        assert_eq!(self.server.guard("guard", &self.old).await.status_and_body(), REFUSED, "{how}");
        assert_eq!(self.server.guard("guard", &self.other).await.status, other, "{how}");
    }
}

#[tokio::test]
async fn every_way_to_end_a_session_takes_effect_at_the_next_request() {
    const STAYS: StatusCode = StatusCode::OK;
    const ENDS: StatusCode = StatusCode::UNAUTHORIZED;

    let user = TwoSessions::open().await;
    user.request(&user.old, "POST", "/api/auth/logout", Value::Null).await;
    user.has_ended(STAYS, "logout").await;

    let user = TwoSessions::open().await;
    user.request(&user.other, "POST", "/api/auth/logout-everywhere", Value::Null).await;
    user.has_ended(ENDS, "logout everywhere").await;

    let user = TwoSessions::open().await;
    let sessions = user.request(&user.old, "GET", "/api/sessions", Value::Null).await.json();
    let sessions = sessions.as_array().unwrap();
    let current = sessions.iter().find(|session| session["current"] == true).unwrap();
    let path = format!("/api/sessions/{}", current["id"].as_str().unwrap());
    user.request(&user.other, "DELETE", &path, Value::Null).await;
    user.has_ended(STAYS, "ending it from another session").await;

    let user = TwoSessions::open().await;
    user.request(&user.old, "POST", "/api/auth/refresh", Value::Null).await;
    user.has_ended(STAYS, "refresh").await;

    let user = TwoSessions::open().await;
    let body = json!({"current": PASSWORD, "new": "another horse"});
    user.request(&user.other, "POST", "/api/me/password", body).await;
    user.has_ended(STAYS, "a new password").await;

    let user = TwoSessions::open().await;
    user.request(&user.other, "DELETE", "/api/me", json!({"password": PASSWORD})).await;
    user.has_ended(ENDS, "leaving").await;

    let user = TwoSessions::open().await;
    let ended = user.order("DELETE", "/sessions", Value::Null).await;
    assert_eq!(ended.json(), json!({"sessionsEnded": 2, "apiKeysLeft": 0}));
    user.has_ended(ENDS, "the operator's logout").await;

    let user = TwoSessions::open().await;
    user.order("PATCH", "", json!({"disabled": true})).await;
    user.has_ended(ENDS, "disabling").await;
    user.order("PATCH", "", json!({"disabled": false})).await;
    user.has_ended(ENDS, "enabling again").await;

    let user = TwoSessions::open().await;
    user.order("DELETE", "", Value::Null).await;
    user.has_ended(ENDS, "the operator's deletion").await;

    let user = TwoSessions::open().await;
    user.order("POST", "/password", json!({"password": "another horse"})).await;
    user.has_ended(ENDS, "the operator's password").await;

    let user = TwoSessions::open().await;
    user.order("POST", "/require-new-password", Value::Null).await;
    user.has_ended(ENDS, "the removal of the password").await;

    let user = TwoSessions::open().await;
    user.order("POST", "/secure", Value::Null).await;
    user.has_ended(ENDS, "the end of a takeover").await;

    let user = TwoSessions::open().await;
    let code = user.order("POST", "/reset-code", Value::Null).await.json();
    let body = json!({"code": code["code"], "password": "another horse"});
    assert_eq!(user.server.post("/api/auth/reset", &body).await.status_and_body(), (204, ""));
    user.has_ended(ENDS, "a reset").await;

    let user = TwoSessions::open().await;
    user.server.let_pass(DAY);
    user.is_refused(ENDS, "time").await;
    assert_eq!(
        everything(&user.server).await["revoked"],
        json!([]),
        "an expired session is not listed"
    );
}

#[tokio::test]
async fn a_session_evicted_by_the_limit_is_revoked_like_any_other() {
    let server = TestServer::open().await;
    let oldest = server.register("Ada", "ada@example.com").await.token;
    server.let_pass(Duration::from_secs(1));
    for _ in 0..MAX_SESSIONS {
        assert_eq!(server.guard("guard", &oldest).await.status, StatusCode::OK);
        server.token_of("ada@example.com", PASSWORD).await;
    }
    assert_eq!(server.guard("guard", &oldest).await.status_and_body(), REFUSED);
    assert_eq!(everything(&server).await["revoked"], json!([part(&oldest, 1)["jti"]]));
}

#[tokio::test]
async fn registering_a_deleted_address_again_makes_no_old_token_valid() {
    let user = TwoSessions::open().await;
    user.request(&user.other, "DELETE", "/api/me", json!({"password": PASSWORD})).await;
    let again = user.server.register("Ada", "ada@example.com").await;
    assert_ne!(again.id, user.id);
    user.has_ended(StatusCode::UNAUTHORIZED, "registered again").await;
    assert_eq!(user.server.guard("guard", &again.token).await.status, StatusCode::OK);
    let answer = user.server.request_as(&user.old, "POST", "/api/auth/refresh", Value::Null).await;
    assert_eq!(answer.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_refreshed_token_is_valid_for_another_day_in_the_same_session() {
    let server = TestServer::open().await;
    let first = server.register("Ada", "ada@example.com").await.token;
    server.let_pass(DAY / 2);
    let answer = server.request_as(&first, "POST", "/api/auth/refresh", Value::Null).await;
    assert_eq!((answer.status, answer.json().as_object().unwrap().len()), (StatusCode::OK, 1));
    let second = answer.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(server.guard("guard", &first).await.status_and_body(), REFUSED);
    server.let_pass(DAY * 3 / 4);
    assert_eq!(server.guard("guard", &second).await.status, StatusCode::OK);
    let sessions = server.request_as(&second, "GET", "/api/sessions", Value::Null).await.json();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_ends_30_days_after_signing_in_however_often_it_is_refreshed() {
    let server = TestServer::open().await;
    let mut token = server.register("Ada", "ada@example.com").await.token;
    for _ in 0..59 {
        server.let_pass(DAY / 2);
        let answer = server.request_as(&token, "POST", "/api/auth/refresh", Value::Null).await;
        token = answer.json()["token"].as_str().unwrap().to_owned();
    }
    server.let_pass(DAY / 2 - Duration::from_secs(1));
    assert_eq!(server.guard("guard", &token).await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(1));
    assert_eq!(server.guard("guard", &token).await.status_and_body(), REFUSED);
    let answer = server.request_as(&token, "POST", "/api/auth/refresh", Value::Null).await;
    assert_eq!(answer.status_and_body(), REFUSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_100_refreshes_at_once_exactly_one_yields_a_token() {
    let server = Arc::new(TestServer::open().await);
    let old = server.register("Ada", "ada@example.com").await.token;
    let racing: Vec<_> = (0..100)
        .map(|_| {
            let (server, old) = (Arc::clone(&server), old.clone());
            tokio::spawn(async move {
                server.request_as(&old, "POST", "/api/auth/refresh", Value::Null).await
            })
        })
        .collect();
    let mut tokens = HashSet::new();
    for answer in racing {
        let answer = answer.await.unwrap();
        if answer.status == StatusCode::OK {
            tokens.insert(answer.json()["token"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(answer.status_and_body(), REFUSED);
        }
    }
    assert_eq!(tokens.len(), 1);
    for token in &tokens {
        assert_eq!(server.guard("guard", token).await.status, StatusCode::OK);
    }
    assert_eq!(server.guard("guard", &old).await.status_and_body(), REFUSED);
}

/// Refreshes, and returns the token if there is one.
pub async fn refresh(server: &TestServer, token: &str) -> Option<String> {
    let answer = server.request_as(token, "POST", "/api/auth/refresh", Value::Null).await;
    if answer.status == StatusCode::OK {
        return Some(answer.json()["token"].as_str().unwrap().to_owned());
    }
    assert_eq!(answer.status_and_body(), REFUSED);
    assert_eq!(
        answer.header(header::WWW_AUTHENTICATE),
        Some(r#"Bearer realm="doorward", error="invalid_token""#)
    );
    None
}

#[tokio::test]
async fn refreshing_with_a_replaced_token_ends_the_session() {
    let server = TestServer::open().await;
    let warnings = warnings();
    let member = server.register("Ada", "ada@example.com").await;
    let owned = member.token;
    let other = server.token_of("ada@example.com", PASSWORD).await;
    // A thief refreshes a stolen token; later the owner refreshes the same one.
    let stolen = refresh(&server, &owned).await.unwrap();
    assert_eq!(server.guard("guard", &stolen).await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(30));
    assert_eq!(refresh(&server, &owned).await, None);
    assert_eq!(
        server.guard("guard", &stolen).await.status_and_body(),
        REFUSED,
        "at the next request"
    );
    assert_eq!(refresh(&server, &stolen).await, None);
    let feed = everything(&server).await;
    assert!(feed["revoked"].as_array().unwrap().contains(&part(&stolen, 1)["jti"]));
    assert_eq!(server.guard("guard", &other).await.status, StatusCode::OK, "another session");
    let warned = warnings.lock().unwrap().clone();
    let warned = String::from_utf8(warned).unwrap();
    let of_this: Vec<_> = warned.lines().filter(|line| line.contains(&member.id)).collect();
    let session = part(&stolen, 1)["sid"].as_str().unwrap().to_owned();
    let [line] = of_this[..] else { panic!("{of_this:?}") };
    assert!(line.contains("refresh token reuse") && line.contains(&session), "{line}");
}

/// The warnings logged in this process since the first call.
fn warnings() -> &'static Mutex<Vec<u8>> {
    static WARNINGS: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static START: Once = Once::new();
    struct Writer;
    impl Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            WARNINGS.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    START.call_once(|| {
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN);
        log.with_ansi(false).with_writer(|| Writer).init();
    });
    &WARNINGS
}

#[tokio::test]
async fn reuse_of_a_token_replaced_just_now_does_not_end_the_session() {
    let server = TestServer::open().await;
    let first = server.register("Ada", "ada@example.com").await.token;
    let second = refresh(&server, &first).await.unwrap();
    server.let_pass(Duration::from_secs(29));
    assert_eq!(refresh(&server, &first).await, None, "one refresh of a token succeeds");
    assert_eq!(server.guard("guard", &second).await.status, StatusCode::OK);
    // The time counts from when this token was replaced, not from the latest refresh.
    let third = refresh(&server, &second).await.unwrap();
    assert_eq!(refresh(&server, &second).await, None);
    assert_eq!(server.guard("guard", &third).await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(1));
    assert_eq!(refresh(&server, &first).await, None);
    assert_eq!(server.guard("guard", &third).await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_replaced_token_ends_its_session_only_at_a_refresh() {
    let server = TestServer::open().await;
    let first = server.register("Ada", "ada@example.com").await.token;
    let second = refresh(&server, &first).await.unwrap();
    server.let_pass(Duration::from_secs(3600));
    for (method, path, body, _) in routes() {
        if path != "/api/auth/refresh" {
            assert_eq!(
                server.request_as(&first, method, path, body).await.status_and_body(),
                REFUSED,
                "{path}"
            );
        }
    }
    for guard in ["guard", "miles"] {
        assert_eq!(server.guard(guard, &first).await.status_and_body(), REFUSED);
    }
    assert_eq!(server.guard("guard", &second).await.status, StatusCode::OK);
    // Neither does a forged one.
    let (signed, _) = first.rsplit_once('.').unwrap();
    let (_, signature) = second.rsplit_once('.').unwrap();
    assert_eq!(refresh(&server, &format!("{signed}.{signature}")).await, None);
    assert_eq!(server.guard("guard", &second).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn reuse_beside_a_refresh_or_a_logout_leaves_no_token() {
    let server = Arc::new(TestServer::open().await);
    for (round, path) in
        ["/api/auth/refresh", "/api/auth/logout"].into_iter().cycle().take(10).enumerate()
    {
        let first = server.register("Ada", &format!("ada{round}@example.com")).await.token;
        let second = refresh(&server, &first).await.unwrap();
        server.let_pass(Duration::from_secs(30));
        let racing: Vec<_> =
            [(&first, "/api/auth/refresh"), (&first, "/api/auth/refresh"), (&second, path)]
                .map(|(token, path)| {
                    let (server, token) = (Arc::clone(&server), token.clone());
                    tokio::spawn(async move {
                        server.request_as(&token, "POST", path, Value::Null).await
                    })
                })
                .into();
        let mut answers = Vec::new();
        for answer in racing {
            answers.push(answer.await.unwrap());
        }
        for reuse in &answers[..2] {
            assert_eq!(reuse.status_and_body(), REFUSED);
        }
        assert_eq!(server.guard("guard", &second).await.status_and_body(), REFUSED, "{path}");
        if path == "/api/auth/refresh" && answers[2].status == StatusCode::OK {
            let third = answers[2].json()["token"].as_str().unwrap().to_owned();
            assert_eq!(server.guard("guard", &third).await.status_and_body(), REFUSED);
        }
    }
}

#[tokio::test]
async fn sessions_are_listed_with_where_and_when() {
    let server = TestServer::open().await;
    let first = server.register("Ada", "ada@example.com").await.token;
    server.register("Bob", "bob@example.com").await;
    server.let_pass(Duration::from_secs(90));
    let request = axum::http::Request::post("/api/auth/login").header("user-agent", "curl/8");
    let body = json!({"email": "ada@example.com", "password": PASSWORD}).to_string();
    server.send(request.body(body.into()).unwrap()).await;

    let listed = server.request_as(&first, "GET", "/api/sessions", Value::Null).await.json();
    let [one, two] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
    let without_id = |session: &Value| {
        let mut session = session.clone();
        let id = session.as_object_mut().unwrap().remove("id").unwrap();
        assert_eq!(id.as_str().unwrap().len(), 36);
        session
    };
    assert_eq!(
        without_id(one),
        json!({
            "createdAt": "2027-01-15T08:00:00.000Z", "lastSeenAt": "2027-01-15T08:00:00.000Z",
            "expiresAt": "2027-02-14T08:00:00.000Z",
            "authenticatedAt": "2027-01-15T08:00:00.000Z", "methods": ["pwd"], "address": "127.0.0.1", "userAgent": "",
            "current": true,
        })
    );
    assert_eq!(
        without_id(two),
        json!({
            "createdAt": "2027-01-15T08:01:30.000Z", "lastSeenAt": "2027-01-15T08:01:30.000Z",
            "expiresAt": "2027-02-14T08:01:30.000Z",
            "authenticatedAt": "2027-01-15T08:01:30.000Z", "methods": ["pwd"], "address": "127.0.0.1",
            "userAgent": "curl/8", "current": false,
        })
    );
}

#[tokio::test]
async fn endless_refreshes_are_throttled() {
    let server = TestServer::open().await;
    let mut token = server.register("Ada", "ada@example.com").await.token;
    let refresh =
        async |token: &str| server.request_as(token, "POST", "/api/auth/refresh", json!({})).await;
    let (mut refreshed, began) = (0, Instant::now());
    let answer = loop {
        let answer = refresh(&token).await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        token = answer.json()["token"].as_str().unwrap().to_owned();
        refreshed += 1;
    };
    // One more for every 30 seconds that this takes on a slow machine.
    let seconds = began.elapsed().as_secs();
    assert!((120..=120 + seconds / 30).contains(&refreshed), "{refreshed}");
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    assert_eq!(
        server.guard("guard", &token).await.status,
        StatusCode::OK,
        "the token is still valid"
    );
}

#[tokio::test]
async fn a_session_has_the_address_of_the_client_behind_a_trusted_proxy() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let log_in = async |from: [u8; 4], forwarded: &str| {
        let peer = axum::extract::ConnectInfo(std::net::SocketAddr::from((from, 9)));
        let body = json!({"email": "ada@example.com", "password": PASSWORD}).to_string();
        let request = axum::http::Request::post("/api/auth/login").extension(peer);
        server.send(request.header("x-forwarded-for", forwarded).body(body.into()).unwrap()).await;
        let listed = server.request_as(&token, "GET", "/api/sessions", Value::Null).await.json();
        let own = listed.as_array().unwrap().iter().find(|session| session["current"] == false);
        let own = own.unwrap();
        let path = format!("/api/sessions/{}", own["id"].as_str().unwrap());
        server.request_as(&token, "DELETE", &path, Value::Null).await;
        own["address"].as_str().unwrap().to_owned()
    };
    assert_eq!(log_in([127, 0, 0, 1], "198.51.100.1, 203.0.113.5").await, "203.0.113.5");
    assert_eq!(log_in([127, 0, 0, 1], "203.0.113.5, 127.0.0.2").await, "203.0.113.5");
    assert_eq!(log_in([127, 0, 0, 1], "nonsense").await, "127.0.0.1");
    assert_eq!(log_in([192, 0, 2, 9], "203.0.113.5").await, "192.0.2.9", "not a trusted proxy");
}

#[tokio::test]
async fn the_last_use_of_a_session_is_written_rarely_and_in_the_background() {
    let server = TestServer::open().await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let last_seen = async || {
        server.doorward.clean_up().await.unwrap();
        let listed = server.request_as(&token, "GET", "/api/sessions", Value::Null).await.json();
        listed[0]["lastSeenAt"].as_str().unwrap().to_owned()
    };
    server.guard("guard", &token).await;
    let before = server.doorward.work_done();
    server.let_pass(Duration::from_secs(299));
    server.guard("guard", &token).await;
    assert_eq!(last_seen().await, "2027-01-15T08:00:00.000Z");
    server.let_pass(Duration::from_secs(1));
    server.guard("guard", &token).await;
    assert_eq!(last_seen().await, "2027-01-15T08:05:00.000Z");
    server.let_pass(Duration::from_secs(60));
    server.guard("guard", &token).await;
    assert_eq!(last_seen().await, "2027-01-15T08:05:00.000Z");
    assert_eq!(server.doorward.work_done(), before, "no guard had to look anything up");
}

#[tokio::test]
async fn another_users_session_cannot_be_ended_and_looks_unknown() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await.token;
    let eve = server.register("Eve", "eve@example.com").await.token;
    let listed = server.request_as(&ada, "GET", "/api/sessions", Value::Null).await.json();
    for id in
        [listed[0]["id"].as_str().unwrap(), "x", "%ff", "00000000-0000-4000-8000-000000000000"]
    {
        let answer =
            server.request_as(&eve, "DELETE", &format!("/api/sessions/{id}"), Value::Null).await;
        assert_eq!(answer.status_and_body(), (404, NOT_FOUND), "{id}");
    }
    assert_eq!(server.guard("guard", &ada).await.status, StatusCode::OK);
}
