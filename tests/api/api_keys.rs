//! API keys: who makes them, where they count, and why they are refused.

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Method, Request, StatusCode, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use doorward::internals::{
    Internals,
    mail::Message,
    store::{Effects, NewPasswords},
    user::Role,
};
use serde_json::{Value, json};

use crate::{
    factors::Person,
    outbox::messages,
    support::{Answer, Member, NOT_FOUND, NOW, REFUSED, TestServer, malformed, with_mail},
};

const PASSED: (u16, &str) = (200, r#""You may pass.""#);
const BASIC: &str = r#"Basic realm="doorward", charset="UTF-8""#;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const GUARDS: &str = r#"
    [guards.wiki]
    allow = '"staff" in user.roles'
    grant = "user"
    keys = true

    [guards.git]
    allow = 'true'
    keys = true

    [guards.plain]
    allow = 'true'

    [guards.strong]
    allow = 'session.strength >= 2'
    keys = true

    [guards.watched]
    allow = 'false'
    mode = "report"
    keys = true

    [guards.app]
    allow = 'true'
    keys = true
    proxy = "caddy"
    origins = ["https://app.example.com"]
"#;

async fn server() -> TestServer {
    TestServer::open_with(|settings| settings.with_toml(GUARDS)).await
}

async fn give_role(server: &TestServer, member: &Member, role: &str) {
    let (id, role) = (member.id.parse().unwrap(), Role::parse(role).unwrap());
    assert!(server.doorward.store().grant_role(id, &role, NOW, &Effects::NONE).await.unwrap());
}

/// A new key of a person.
async fn personal(server: &TestServer, token: &str, body: Value) -> Value {
    let made = server.request_as(token, "POST", "/api/me/keys", body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    made.json()
}

/// A new key of a machine.
async fn machine(server: &TestServer, scopes: &[&str], allow: Option<&str>) -> Value {
    let mut body = json!({"name": "ci", "scopes": scopes});
    if let Some(allow) = allow {
        body["allow"] = allow.into();
    }
    let made = server.operator("POST", "/api/admin/keys", body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    made.json()
}

fn text(key: &Value) -> &str {
    key["key"].as_str().unwrap()
}

fn basic(password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("anybody:{password}")))
}

/// Why a request was refused, as `doorward why` tells.
fn why(server: &TestServer, answer: &Answer) -> String {
    assert_eq!(answer.status_and_body(), REFUSED);
    server.doorward.refusal(answer.header("x-decision-id").unwrap()).unwrap().token
}

fn challenges(answer: &Answer) -> Vec<&str> {
    let lines = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
    lines.map(|line| line.to_str().unwrap()).collect()
}

#[tokio::test]
async fn a_person_passes_with_a_key_where_they_would_pass_themselves() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let key = personal(&server, &ada.token, json!({"name": "laptop"})).await;
    assert!(text(&key).starts_with("dw_pat_"), "{key}");
    assert_eq!(key["scopes"], json!(["guard:*"]));
    assert_eq!(key["kind"], "personal");
    assert_eq!(key["userId"], ada.id.as_str());
    assert_eq!(key["expiresAt"], (NOW + 90 * DAY).to_string());

    let refused = server.guard("wiki", text(&key)).await;
    assert_eq!(refused.status_and_body(), REFUSED);
    let reason = server.doorward.refusal(refused.header("x-decision-id").unwrap()).unwrap();
    assert_eq!((reason.token.as_str(), reason.user), ("good", Some(ada.id.parse().unwrap())));
    assert_eq!(reason.key, Some(key["id"].as_str().unwrap().parse().unwrap()));
    assert_eq!(reason.condition.as_deref(), Some(r#""staff" in user.roles"#));
    assert_eq!(challenges(&refused), [r#"Bearer realm="doorward", error="insufficient_scope""#]);

    give_role(&server, &ada, "staff").await;
    let passed = server.guard("wiki", text(&key)).await;
    assert_eq!(passed.status_and_body(), PASSED, "the roles count as they are");
    assert_eq!(passed.header("x-auth-user-id"), Some(&*ada.id));
    assert_eq!(passed.header("x-auth-user-email"), Some("ada@example.com"));
    assert_eq!(passed.header("x-auth-policy"), Some("wiki"));
    let by_basic = server.request(Method::GET, "/api/auth/wiki", &[&basic(text(&key))]).await;
    assert_eq!(by_basic.status_and_body(), PASSED);
    assert_eq!(by_basic.header("x-auth-user-id"), Some(&*ada.id));

    // It has proved nothing, whatever its owner has.
    assert_eq!(server.guard("strong", text(&key)).await.status_and_body(), REFUSED);
    let role = Role::parse("staff").unwrap();
    let (id, store) = (ada.id.parse().unwrap(), server.doorward.store());
    assert!(store.revoke_role(id, &role, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(server.guard("wiki", text(&key)).await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_machine_passes_the_guards_of_its_scopes_as_nobody() {
    let server = server().await;
    let key = machine(&server, &["guard:wiki"], None).await;
    assert!(text(&key).starts_with("dw_key_"), "{key}");
    assert_eq!((&key["kind"], key.get("userId")), (&json!("machine"), None));
    for sent in [format!("Bearer {}", text(&key)), basic(text(&key))] {
        let passed = server.request(Method::GET, "/api/auth/wiki", &[&sent]).await;
        assert_eq!(passed.status_and_body(), PASSED);
        for name in ["x-auth-user-id", "x-auth-user-name", "x-auth-user-email"] {
            assert_eq!(passed.header(name), Some(""), "{name}");
        }
        assert_eq!(passed.header("x-auth-policy"), Some("wiki"));
    }
    let refused = server.guard("git", text(&key)).await;
    assert_eq!(why(&server, &refused), "an API key without the scope for it");
    let every = machine(&server, &["guard:*"], None).await;
    for guard in ["wiki", "git", "strong"] {
        assert_eq!(server.guard(guard, text(&every)).await.status_and_body(), PASSED, "{guard}");
    }
}

#[tokio::test]
async fn a_key_counts_only_where_keys_are_taken() {
    let server = server().await;
    let ada = server.register("Miles Davis", "miles@example.com").await;
    let key = personal(&server, &ada.token, json!({"name": "laptop"})).await;
    let machine = machine(&server, &["guard:*"], None).await;
    let not_taken =
        "an API key, which does not count here: a guard takes keys if it has keys = true";
    for key in [&key, &machine] {
        for guard in ["plain", "guard", "miles"] {
            let refused = server.guard(guard, text(key)).await;
            assert_eq!(why(&server, &refused), not_taken, "{guard}");
            assert_eq!(challenges(&refused), [r#"Bearer realm="doorward", error="invalid_token""#]);
        }
        let refused = server.request(Method::GET, "/api/auth/plain", &[&basic(text(key))]).await;
        assert_eq!(why(&server, &refused), "no token was sent");
        assert_eq!(challenges(&refused), [r#"Bearer realm="doorward""#]);
        // A key makes no keys, and is not its owner.
        let new = json!({"name": "another", "scopes": ["guard:*"]});
        for (method, path) in [
            ("GET", "/api/me"),
            ("GET", "/api/me/keys"),
            ("POST", "/api/me/keys"),
            ("POST", "/api/auth/refresh"),
            ("POST", "/api/admin/keys"),
        ] {
            let answer = server.request_as(text(key), method, path, new.clone()).await;
            assert_eq!(answer.status_and_body(), REFUSED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_reason_why_a_key_is_refused_is_told_to_the_operator() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let made = async |lifetime: &str| {
        let body = json!({"name": "laptop", "lifetime": lifetime});
        personal(&server, &ada.token, body).await
    };
    let (short, revoked, good) = (made("5m").await, made("7d").await, made("90d").await);
    let ask = async |key: &str| server.guard("git", key).await;
    assert_eq!(ask(text(&short)).await.status_and_body(), PASSED);

    let mut mistyped = text(&good).to_owned();
    let last = if mistyped.ends_with('0') { "1" } else { "0" };
    mistyped.replace_range(mistyped.len() - 1.., last);
    let checksum = "an API key with a wrong checksum: it was mistyped or cut off";
    assert_eq!(why(&server, &ask(&mistyped).await), checksum);
    assert_eq!(why(&server, &ask("dw_pat_short").await), "not an API key");
    let unknown = "dw_key_000000000000000000000000000000";
    let crc = checksum_of(unknown);
    assert_eq!(why(&server, &ask(&format!("{unknown}{crc}")).await), "an unknown API key");
    for password in ["correct horse", ""] {
        let sent = basic(password);
        let refused = server.request(Method::GET, "/api/auth/git", &[&sent]).await;
        assert_eq!(why(&server, &refused), "not an API key");
        let asked = format!(r#"{BASIC}, Bearer realm="doorward", error="invalid_token""#);
        assert_eq!(challenges(&refused), [asked], "git asks for another password");
    }

    let path = format!("/api/me/keys/{}", revoked["id"].as_str().unwrap());
    assert_eq!(ask(text(&revoked)).await.status_and_body(), PASSED);
    let answer = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(why(&server, &ask(text(&revoked)).await), "a revoked API key");
    let again = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(again.status_and_body(), (404, NOT_FOUND));

    server.let_pass(Duration::from_secs(5 * 60));
    assert_eq!(why(&server, &ask(text(&short)).await), "an expired API key");
    assert_eq!(ask(text(&good)).await.status_and_body(), PASSED);
    let (id, store) = (ada.id.parse().unwrap(), server.doorward.store());
    server.doorward.disable_user(id).await.unwrap();
    assert_eq!(why(&server, &ask(text(&good)).await), "a revoked API key");
    server.doorward.enable_user(id).await.unwrap();
    assert_eq!(why(&server, &ask(text(&good)).await), "a revoked API key", "it stays so");
    assert!(store.delete_user(id, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(why(&server, &ask(text(&good)).await), "an unknown API key");
}

/// The CRC32 of a text in base 62.
fn checksum_of(text: &str) -> String {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut rest = !crc;
    let mut characters = Vec::new();
    for _ in 0..6 {
        characters.push(char::from(ALPHABET[(rest % 62) as usize]));
        rest /= 62;
    }
    characters.iter().rev().collect()
}

#[tokio::test]
async fn a_key_has_a_condition_of_its_own() {
    let server = server().await;
    let allow = r#"request.address.inNetwork("192.0.2.0/24") && guard.name == "app" && request.path.startsWith("/api/")"#;
    let key = machine(&server, &["guard:*"], Some(allow)).await;
    assert_eq!(key["allow"], allow);
    let ask = async |guard: &str, client: &str, path: &str| {
        let request = Request::get(format!("/api/auth/{guard}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", text(&key)))
            .header("x-forwarded-for", client)
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "app.example.com")
            .header("x-forwarded-uri", path);
        server.send(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask("app", "192.0.2.7", "/api/x?y").await.status_and_body(), PASSED);
    for (guard, client, path) in [
        ("app", "198.51.100.7", "/api/x"),
        ("app", "192.0.2.7", "/admin"),
        ("app", "192.0.2.7", "/api/../admin"),
        ("git", "192.0.2.7", "/api/x"),
    ] {
        let refused = ask(guard, client, path).await;
        assert_eq!(why(&server, &refused), "an API key whose own condition is not true");
        let reason = server.doorward.refusal(refused.header("x-decision-id").unwrap()).unwrap();
        assert_eq!(reason.condition.as_deref(), Some(allow), "{guard} {client} {path}");
        assert!(reason.explanation.is_some());
    }
    for (body, expected) in [
        (
            json!({"name": "ci", "allow": "user.id == \"x\""}),
            r#"{"allow":"user: cannot be read when a key is used (there are key, guard and request)"}"#,
        ),
        (
            json!({"name": "ci", "scopes": ["guard:A b"]}),
            r#"{"scopes":"\"guard:A b\" is not a scope: write guard:* or the name of a guard, such as guard:wiki"}"#,
        ),
        (
            json!({"name": "ci", "scopes": []}),
            r#"{"scopes":"a key needs a scope, such as guard:*"}"#,
        ),
        (
            json!({"name": "ci", "scopes": ["users:read"]}),
            r#"{"scopes":"users:read is not yours to give: a key can have the scopes of whoever makes it"}"#,
        ),
        (
            json!({"name": "ci", "lifetime": "367d"}),
            r#"{"lifetime":"a key is valid for 5 minutes to 366 days"}"#,
        ),
        (
            json!({"name": "ci", "lifetime": "soon"}),
            r#"{"lifetime":"Must be a number with m, h or d, such as 90d"}"#,
        ),
        (json!({}), r#"{"name":"Required"}"#),
    ] {
        let ada = server.register("Ada", &format!("{}@example.com", uuid::Uuid::new_v4())).await;
        let answer = server.request_as(&ada.token, "POST", "/api/me/keys", body).await;
        assert_eq!(answer.status_and_body(), (400, &*malformed(expected)));
    }
}

#[tokio::test]
async fn only_programs_are_asked_for_a_password() {
    let server = server().await;
    let ask = async |guard: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("/api/auth/{guard}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{guard} {headers:?}");
        challenges(&answer).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let bearer = r#"Bearer realm="doorward""#;
    let git = [("user-agent", "git/2.47.3"), ("accept", "*/*")];
    let both = format!("{BASIC}, {bearer}");
    assert_eq!(ask("git", &git).await, [both.as_str()]);
    assert_eq!(ask("plain", &git).await, [bearer]);
    for browser in [
        ("accept", "text/html"),
        ("sec-fetch-mode", "cors"),
        ("origin", "https://app.example.com"),
        ("x-requested-with", "XMLHttpRequest"),
        ("referer", "https://app.example.com/"),
        ("accept", "image/webp,image/png,image/*;q=0.8,*/*;q=0.5"),
        ("accept", "text/css,*/*;q=0.1"),
    ] {
        assert_eq!(ask("git", &[browser]).await, [bearer], "{browser:?}");
    }
    // At the origin of an app, the cookie would decide.
    let app = [
        ("x-forwarded-method", "PROPFIND"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "app.example.com"),
        ("x-forwarded-uri", "/dav"),
    ];
    assert_eq!(ask("app", &app).await, [both.as_str()]);
}

#[tokio::test]
async fn a_browser_does_not_send_a_key_for_another_site() {
    let server = server().await;
    let key = machine(&server, &["guard:*"], None).await;
    for (sent, site, admitted) in [
        (basic(text(&key)), "cross-site", false),
        (basic(text(&key)), "same-site", false),
        (basic(text(&key)), "same-origin", true),
        (basic(text(&key)), "none", true),
        // No browser adds this by itself.
        (format!("Bearer {}", text(&key)), "cross-site", true),
    ] {
        let request = Request::get("/api/auth/git")
            .header(header::AUTHORIZATION, &sent)
            .header("sec-fetch-site", site);
        let answer = server.send(request.body(Body::empty()).unwrap()).await;
        match admitted {
            true => assert_eq!(answer.status_and_body(), PASSED, "{site}"),
            false => assert_eq!(
                why(&server, &answer),
                "an API key that a browser has sent for another site"
            ),
        }
    }
}

/// It has asked for no password, but somebody may have typed one once.
#[tokio::test]
async fn a_browser_without_fetch_metadata_does_not_send_a_key_for_another_site_either() {
    let server = server().await;
    let key = machine(&server, &["guard:*"], None).await;
    let ask = async |guard: &str, sent: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("/api/auth/{guard}"))
            .header(header::AUTHORIZATION, sent)
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "App.example.com")
            .header("x-forwarded-uri", "/dav");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Body::empty()).unwrap()).await
    };
    let (basic, bearer) = (basic(text(&key)), format!("Bearer {}", text(&key)));
    let foreign: &[&[(&str, &str)]] = &[
        &[("referer", "https://evil.example/page")],
        &[("referer", "https://evil.example.com/")],
        &[("referer", "https://app.example.com.evil.example/")],
        &[("referer", "http://app.example.com/")],
        &[("origin", "https://evil.example")],
        &[("origin", "null"), ("referer", "https://app.example.com/")],
        &[("origin", "https://app.example.com"), ("referer", "https://evil.example/")],
    ];
    for headers in foreign {
        let refused = ask("app", &basic, headers).await;
        let reason = "an API key that a browser has sent for another site";
        assert_eq!(why(&server, &refused), reason, "{headers:?}");
        assert_eq!(ask("app", &bearer, headers).await.status_and_body(), PASSED, "{headers:?}");
        // Where nothing tells which origin is meant, none is.
        assert_eq!(why(&server, &ask("git", &basic, headers).await), reason, "{headers:?}");
    }
    let own: &[&[(&str, &str)]] = &[
        &[],
        &[("referer", "https://app.example.com/notes?a=b")],
        &[("origin", "https://app.example.com"), ("referer", "https://app.example.com/")],
    ];
    for headers in own {
        assert_eq!(ask("app", &basic, headers).await.status_and_body(), PASSED, "{headers:?}");
    }
}

#[tokio::test]
async fn a_guard_that_only_reports_admits_refused_keys() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let key = personal(&server, &ada.token, json!({"name": "laptop"})).await;
    for sent in [text(&key), "dw_key_nonsense"] {
        assert_eq!(server.guard("watched", sent).await.status_and_body(), PASSED);
    }
    // Only a key for this guard stands for its owner.
    let other = json!({"name": "wiki", "scopes": ["guard:wiki"]});
    let other = personal(&server, &ada.token, other).await;
    let named = async |key: &Value| {
        let answer = server.guard("watched", text(key)).await;
        assert_eq!(answer.status_and_body(), PASSED);
        answer.header("x-auth-user-id").map(str::to_owned)
    };
    assert_eq!(named(&key).await, Some(ada.id.clone()));
    assert_eq!(named(&other).await, Some(String::new()));
}

#[tokio::test]
async fn a_key_is_made_after_a_sign_in_that_is_not_long_ago() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let new = || json!({"name": "laptop"});
    let bob = server.register("Bob", "bob@example.com").await;
    let key = personal(&server, &ada.token, new()).await;
    server.let_pass(Duration::from_secs(10 * 60));
    let answer = server.request_as(&ada.token, "POST", "/api/me/keys", new()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let challenge = answer.header(header::WWW_AUTHENTICATE).unwrap();
    assert!(challenge.ends_with(r#"error="insufficient_user_authentication""#), "{challenge}");
    // Listing and revoking need none.
    let listed = server.request_as(&ada.token, "GET", "/api/me/keys", Value::Null).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["id"], listed[0].get("key")), (&key["id"], None));
    let path = format!("/api/me/keys/{}", key["id"].as_str().unwrap());
    let of_other = server.request_as(&bob.token, "DELETE", &path, Value::Null).await;
    assert_eq!(of_other.status_and_body(), (404, NOT_FOUND));
    let of_other = server.request_as(&bob.token, "GET", "/api/me/keys", Value::Null).await;
    assert_eq!(of_other.body, "[]");
    let revoked = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    let listed = server.request_as(&ada.token, "GET", "/api/me/keys", Value::Null).await.json();
    assert_eq!(listed[0]["revokedAt"], server.now().to_string());
}

#[tokio::test]
async fn the_owner_of_a_new_key_is_told() {
    let server = TestServer::open_with(with_mail).await;
    let ada = server.register("Ada", "ada@example.com").await;
    personal(&server, &ada.token, json!({"name": "laptop"})).await;
    let told = messages(&server, "ada@example.com").await;
    let expected = Message::KeyCreated { at: NOW.millis() };
    assert!(told.contains(&expected), "{told:?}");
}

#[tokio::test]
async fn a_person_can_have_50_valid_keys() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let mut last = Value::Null;
    for number in 0..50 {
        last = personal(&server, &ada.token, json!({"name": "laptop"})).await;
        // The budget of changes recovers.
        if number >= 25 {
            server.let_pass(Duration::from_secs(15));
        }
    }
    let new = json!({"name": "laptop"});
    let answer = server.request_as(&ada.token, "POST", "/api/me/keys", new.clone()).await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.body);
    let path = format!("/api/me/keys/{}", last["id"].as_str().unwrap());
    server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    personal(&server, &ada.token, new).await;
}

#[tokio::test]
async fn ended_keys_do_not_hide_a_valid_one() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let new = json!({"name": "laptop"});
    let first = personal(&server, &ada.token, new.clone()).await;
    for _ in 0..3 {
        let made = personal(&server, &ada.token, new.clone()).await;
        let path = format!("/api/me/keys/{}", made["id"].as_str().unwrap());
        server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    }
    let listed = server.request_as(&ada.token, "GET", "/api/me/keys", Value::Null).await.json();
    assert_eq!((&listed[0]["id"], listed.as_array().unwrap().len()), (&first["id"], 4));
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_now_and_then() {
    let server = server().await;
    let key = machine(&server, &["guard:*"], None).await;
    let last_used = async || {
        let keys = server.operator("GET", "/api/admin/keys", Value::Null).await.json();
        keys["keys"][0]["lastUsedAt"].clone()
    };
    assert_eq!(last_used().await, Value::Null);
    let first = server.now().to_string();
    for _ in 0..3 {
        assert_eq!(server.guard("git", text(&key)).await.status_and_body(), PASSED);
        server.doorward.clean_up().await.unwrap();
        assert_eq!(last_used().await, first.as_str());
        server.let_pass(Duration::from_secs(100));
    }
    assert_eq!(server.guard("git", text(&key)).await.status_and_body(), PASSED);
    assert_eq!(last_used().await, server.now().to_string(), "not written yet");
}

#[tokio::test]
async fn where_everybody_needs_a_second_factor_a_key_stands_in_for_the_one_it_was_made_with() {
    let server = TestServer::open_with(|settings| settings.with_toml(GUARDS)).await;
    let mut ada = Person::of(server.register("Ada", "ada@example.com").await);
    let weak = personal(&server, &ada.token, json!({"name": "of one factor"})).await;
    ada.add_totp(&server).await;
    let strong = personal(&server, &ada.token, json!({"name": "of two factors"})).await;
    for key in [&weak, &strong] {
        assert_eq!(server.guard("git", text(key)).await.status_and_body(), PASSED);
    }
    let server = TestServer::reopen(server.close(), |settings| {
        settings.with("sign_in.factors", "required").with_toml(GUARDS)
    })
    .await;
    assert_eq!(server.guard("git", text(&strong)).await.status_and_body(), PASSED);
    assert_eq!(
        why(&server, &server.guard("git", text(&weak)).await),
        "an API key of a user who had no second factor when they made it, or has none any more"
    );
    let machine = machine(&server, &["guard:git"], None).await;
    assert_eq!(server.guard("git", text(&machine)).await.status_and_body(), PASSED);
    // Whoever has one factor only makes no keys.
    let bob = server.register("Bob", "bob@example.com").await;
    let new = json!({"name": "laptop"});
    let answer = server.request_as(&bob.token, "POST", "/api/me/keys", new).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
}

#[tokio::test]
async fn a_new_password_by_a_link_and_an_emergency_revoke_keys() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let key = personal(&server, &ada.token, json!({"name": "laptop"})).await;
    let machine = machine(&server, &["guard:*"], None).await;
    let code = server.doorward.create_reset_code(ada.id.parse().unwrap()).await.unwrap();
    let body = json!({"code": code.as_str(), "password": "another horse"});
    let reset = server.post("/api/auth/reset", &body).await;
    assert!(reset.status.is_success(), "{}", reset.body);
    assert_eq!(why(&server, &server.guard("git", text(&key)).await), "a revoked API key");
    assert_eq!(server.guard("git", text(&machine)).await.status_and_body(), PASSED);
    let store = server.doorward.store();
    let revoked = store.revoke_everything(&NewPasswords::None, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(revoked.api_keys, 1);
    assert_eq!(why(&server, &server.guard("git", text(&machine)).await), "a revoked API key");
}

#[tokio::test]
async fn a_password_that_an_administrator_sets_or_removes_revokes_keys() {
    let server = server().await;
    let orders = [
        ("password", json!({"password": "another horse"})),
        ("require-new-password", Value::Null),
        ("secure", Value::Null),
    ];
    for (order, body) in orders {
        let email = format!("{order}@example.com");
        let member = server.register("Ada", &email).await;
        let key = personal(&server, &member.token, json!({"name": "laptop"})).await;
        let done = server.order("POST", &email, &format!("/{order}"), body).await;
        assert!(done.status.is_success(), "{}", done.body);
        assert_eq!(why(&server, &server.guard("git", text(&key)).await), "a revoked API key");
    }
}

#[tokio::test]
async fn keys_of_the_admin_api_are_bound_by_their_scopes_and_their_owners() {
    let server = server().await;
    let read = machine(&server, &["keys:read"], None).await;
    let write = machine(&server, &["keys:write"], None).await;
    let ask = async |key: &Value, method: &str, path: &str| {
        let new = json!({"name": "another", "scopes": ["guard:*"]});
        let body = if method == "POST" { new } else { Value::Null };
        server.request_as(text(key), method, path, body).await
    };
    let listed = ask(&read, "GET", "/api/admin/keys").await;
    assert_eq!(listed.json()["keys"].as_array().unwrap().len(), 2, "{}", listed.body);
    let refused = ask(&write, "GET", "/api/admin/keys").await;
    assert_eq!(why(&server, &refused), "an API key without the scope for it");
    assert_eq!(ask(&read, "POST", "/api/admin/keys").await.status_and_body(), REFUSED);
    assert_eq!(
        ask(&write, "POST", "/api/admin/keys").await.status_and_body(),
        REFUSED,
        "a key makes no keys"
    );
    let path = format!("/api/admin/keys/{}", read["id"].as_str().unwrap());
    assert_eq!(ask(&write, "DELETE", &path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(why(&server, &ask(&read, "GET", "/api/admin/keys").await), "a revoked API key");
    assert_eq!(ask(&write, "DELETE", &path).await.status_and_body(), (404, NOT_FOUND));
    assert_eq!(ask(&write, "DELETE", "/api/admin/keys/x").await.status, StatusCode::NOT_FOUND);

    // By HTTP Basic, a key counts at guards only.
    let sent = basic(text(&write));
    let answer = server.request(Method::GET, "/api/admin/keys", &[&sent]).await;
    assert_eq!(answer.status_and_body(), REFUSED);

    let near = machine(&server, &["keys:read"], Some(r#"request.address == "192.0.2.7""#)).await;
    assert_eq!(
        why(&server, &ask(&near, "GET", "/api/admin/keys").await),
        "an API key whose own condition is not true"
    );
    let request = Request::get("/api/admin/keys")
        .header(header::AUTHORIZATION, format!("Bearer {}", text(&near)))
        .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 9))));
    assert_eq!(server.send(request.body(Body::empty()).unwrap()).await.status, StatusCode::OK);
    // There is no guard here.
    let guard = machine(&server, &["keys:read"], Some(r#"guard.name == "git""#)).await;
    assert_eq!(ask(&guard, "GET", "/api/admin/keys").await.status_and_body(), REFUSED);
}

#[tokio::test]
async fn a_personal_key_administers_only_while_its_owner_may() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    give_role(&server, &ada, "admin").await;
    let scopes = json!({"name": "laptop", "scopes": ["keys:read", "guard:git"]});
    let key = personal(&server, &ada.token, scopes.clone()).await;
    let list =
        async |key: &str| server.request_as(key, "GET", "/api/admin/keys", Value::Null).await;
    assert_eq!(list(text(&key)).await.status, StatusCode::OK);
    assert_eq!(list(&ada.token).await.status, StatusCode::OK);
    let role = Role::parse("admin").unwrap();
    let (id, store) = (ada.id.parse().unwrap(), server.doorward.store());
    assert!(store.revoke_role(id, &role, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(
        why(&server, &list(text(&key)).await),
        "an API key without the scope for it",
        "the role is gone"
    );
    assert_eq!(server.guard("git", text(&key)).await.status_and_body(), PASSED);
    let answer = server.request_as(&ada.token, "POST", "/api/me/keys", scopes).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
}

#[tokio::test]
async fn whoever_makes_the_key_of_a_machine_gives_it_no_more_than_they_have() {
    let file = format!("{GUARDS}\n[admin.support]\nscopes = [\"keys:read\", \"keys:write\"]\n");
    let server = TestServer::open_with(|settings| settings.with_toml(&file)).await;
    let ada = server.register("Ada", "ada@example.com").await;
    give_role(&server, &ada, "support").await;
    let create = async |scopes: &[&str]| {
        let body = json!({"name": "ci", "scopes": scopes});
        server.request_as(&ada.token, "POST", "/api/admin/keys", body).await
    };
    assert_eq!(create(&["guard:*", "keys:read"]).await.status, StatusCode::CREATED);
    let refused = create(&["users:delete"]).await;
    assert_eq!(
        refused.status_and_body(),
        (
            400,
            &*malformed(
                r#"{"scopes":"users:delete is not yours to give: a key can have the scopes of whoever makes it"}"#
            )
        )
    );
    server.let_pass(Duration::from_secs(10 * 60));
    let stale = create(&["guard:*"]).await;
    assert_eq!(stale.status, StatusCode::UNAUTHORIZED, "gives access away");
}

#[tokio::test]
async fn keys_are_listed_in_pages_and_of_one_user() {
    let server = server().await;
    let ada = server.register("Ada", "ada@example.com").await;
    let mut made = Vec::new();
    for number in 0..5 {
        let key = match number {
            2 => personal(&server, &ada.token, json!({"name": "laptop"})).await,
            _ => machine(&server, &["guard:*"], None).await,
        };
        made.insert(0, key["id"].as_str().unwrap().to_owned());
        server.let_pass(Duration::from_secs(1));
    }
    let list = async |query: &str| {
        let path = format!("/api/admin/keys{query}");
        let answer = server.operator("GET", &path, Value::Null).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let page = answer.json();
        let ids: Vec<_> = page["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(list("").await, (made.clone(), None));
    let (first, next) = list("?limit=2").await;
    assert_eq!((&first[..], next.as_deref()), (&made[..2], Some(&*made[1])));
    let (second, next) = list(&format!("?limit=2&after={}", made[1])).await;
    assert_eq!((&second[..], next.as_deref()), (&made[2..4], Some(&*made[3])));
    assert_eq!(list(&format!("?limit=2&after={}", made[3])).await, (made[4..].to_vec(), None));
    assert_eq!(list(&format!("?user={}", ada.id)).await, (vec![made[2].clone()], None));
    let wrong = server.operator("GET", "/api/admin/keys?after=x", Value::Null).await;
    assert_eq!(wrong.status_and_body(), (400, &*malformed(r#"{"after":"Not an id"}"#)));
}
