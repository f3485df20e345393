//! A token that has expired can be refreshed, once, while its session lives. It is good for nothing else.

use std::time::Duration;

use axum::http::StatusCode;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::internals::Internals;
use serde_json::{Value, json};

use crate::{
    revocations::part,
    sessions::{refresh, routes},
    support::{REFUSED, TestServer},
};

const PASSWORD: &str = "correct horse";
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn is_admitted(server: &TestServer, token: &str) -> bool {
    server.guard("guard", token).await.status == StatusCode::OK
}

#[tokio::test]
async fn a_phone_that_was_not_used_for_29_days_is_still_signed_in() {
    let server = TestServer::open().await;
    for (email, used_before) in [("ada@example.com", true), ("bob@example.com", false)] {
        let expired = server.register("Ada", email).await.token;
        // Cached or not.
        assert!(!used_before || is_admitted(&server, &expired).await);
        server.let_pass(29 * DAY);
        server.doorward.clean_up().await.unwrap();
        assert_eq!(server.guard("guard", &expired).await.status_and_body(), REFUSED);
        let renewed = refresh(&server, &expired).await.unwrap();
        assert_eq!(part(&renewed, 1)["sid"], part(&expired, 1)["sid"], "the same session");
        assert!(is_admitted(&server, &renewed).await);
        assert!(!is_admitted(&server, &expired).await);
    }
}

#[tokio::test]
async fn it_can_be_refreshed_until_its_session_ends() {
    let server = TestServer::open().await;
    let [first, last] = ["ada@example.com", "bob@example.com"];
    let first = server.register("Ada", first).await.token;
    let last = server.register("Bob", last).await.token;
    server.let_pass(30 * DAY - SECOND);
    assert!(refresh(&server, &first).await.is_some());
    server.let_pass(SECOND);
    assert_eq!(refresh(&server, &last).await, None);
}

#[tokio::test]
async fn an_expired_token_is_good_for_nothing_else() {
    let file = "[guards.open]\nallow = 'true'\n";
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    let expired = server.register("Miles Davis", "miles@example.com").await.token;
    assert!(is_admitted(&server, &expired).await);
    server.let_pass(DAY);
    for guard in ["guard", "miles", "open"] {
        assert_eq!(server.guard(guard, &expired).await.status_and_body(), REFUSED, "{guard}");
    }
    for (method, path, body, _) in routes() {
        if path != "/api/auth/refresh" {
            let answer = server.request_as(&expired, method, path, body).await;
            assert_eq!(answer.status_and_body(), REFUSED, "{method} {path}");
        }
    }
    assert!(refresh(&server, &expired).await.is_some());
}

#[tokio::test]
async fn whatever_ends_the_session_ends_it_for_an_expired_token() {
    let server = TestServer::open().await;
    for (number, ending) in ["logout", "everywhere", "operator", "disable", "delete", "password"]
        .into_iter()
        .enumerate()
    {
        let email = format!("user{number}@example.com");
        let expired = server.register("Ada", &email).await.token;
        server.let_pass(DAY);
        let other = server.token_of(&email, PASSWORD).await;
        match ending {
            "operator" => {
                let ended = server.order("DELETE", &email, "/sessions", Value::Null).await;
                assert_eq!(ended.json(), json!({"sessionsEnded": 2, "apiKeysLeft": 0}));
            }
            "disable" => {
                server.order("PATCH", &email, "", json!({"disabled": true})).await;
            }
            _ => {
                let session = part(&expired, 1)["sid"].as_str().unwrap().to_owned();
                let (method, path, body) = match ending {
                    "logout" => ("DELETE", format!("/api/sessions/{session}"), Value::Null),
                    "everywhere" => ("POST", "/api/auth/logout-everywhere".into(), Value::Null),
                    "delete" => ("DELETE", "/api/me".into(), json!({"password": PASSWORD})),
                    _ => {
                        let body = json!({"current": PASSWORD, "new": "another horse"});
                        ("POST", "/api/me/password".into(), body)
                    }
                };
                let answer = server.request_as(&other, method, &path, body).await;
                assert!(answer.status.is_success(), "{ending}: {}", answer.body);
            }
        }
        assert_eq!(refresh(&server, &expired).await, None, "{ending}");
    }
}

#[tokio::test]
async fn an_expired_token_is_refreshed_once_and_using_it_again_ends_the_session() {
    let server = TestServer::open().await;
    // Replaced just now, a minute ago, and so long ago that the replaced token is not listed as ended any more.
    for (number, (later, ends)) in
        [(29 * SECOND, false), (30 * SECOND, true), (DAY, true), (20 * DAY, true)]
            .iter()
            .enumerate()
    {
        let email = format!("user{number}@example.com");
        let stolen = server.register("Ada", &email).await.token;
        server.let_pass(2 * DAY);
        let mut owned = refresh(&server, &stolen).await.unwrap();
        server.let_pass(*later);
        server.doorward.clean_up().await.unwrap();
        if *later >= DAY {
            owned = refresh(&server, &owned).await.unwrap();
        }
        assert!(is_admitted(&server, &owned).await);
        assert_eq!(refresh(&server, &stolen).await, None, "once");
        assert_eq!(is_admitted(&server, &owned).await, !ends, "after {later:?}");
        assert_eq!(refresh(&server, &owned).await.is_none(), *ends, "after {later:?}");
    }
}

#[tokio::test]
async fn no_forged_expired_token_is_refreshed_or_ends_a_session() {
    let server = TestServer::open().await;
    let member = server.register("Ada", "ada@example.com").await;
    let other = server.register("Bob", "bob@example.com").await;
    server.let_pass(2 * DAY);
    let parts: Vec<_> = member.token.split('.').collect();
    let (header, claims, signature) = (parts[0], parts[1], parts[2]);
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let none = encode(&json!({"typ": "JWT", "alg": "none"}));
    let none_with_key =
        encode(&json!({"typ": "JWT", "alg": "none", "kid": part(&member.token, 0)["kid"]}));
    let mut later = part(&member.token, 1);
    later["exp"] = json!(later["exp"].as_i64().unwrap() + 90 * 24 * 60 * 60);
    let mut of_other = part(&other.token, 1);
    of_other["sub"] = part(&member.token, 1)["sub"].clone();
    let (later, of_other) = (encode(&later), encode(&of_other));
    let other_signature = other.token.rsplit_once('.').unwrap().1;
    for forged in [
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{none_with_key}.{claims}."),
        format!("{header}.{claims}."),
        format!("{header}.{claims}.{other_signature}"),
        format!("{header}.{later}.{signature}"),
        format!("{header}.{of_other}.{other_signature}"),
        format!("{header}.{claims}.{signature}x"),
        format!("{claims}.{claims}.{signature}"),
    ] {
        assert_eq!(refresh(&server, &forged).await, None, "{forged}");
    }
    assert!(refresh(&server, &member.token).await.is_some(), "the session lives");
    assert!(refresh(&server, &other.token).await.is_some());
}

#[tokio::test]
async fn its_key_may_be_retired_but_not_revoked() {
    let at_once =
        |settings: doorward::Settings| settings.with("token.publish_before_signing", "0s");
    let server = TestServer::open_with(at_once).await;
    let [ada, bob] = ["ada@example.com", "bob@example.com"];
    let (ada, bob) = (server.register("Ada", ada).await, server.register("Bob", bob).await);
    let key = part(&ada.token, 0)["kid"].as_str().unwrap().to_owned();
    server.rotate_keys().await;
    server.let_pass(DAY + MINUTE);
    server.doorward.tend_keys().await.unwrap();
    let set = server.get("/.well-known/jwks.json").await.body;
    assert!(!set.contains(&key), "no verifier elsewhere needs it");

    // Neither time nor a restart loses it while sessions live.
    server.let_pass(28 * DAY);
    server.doorward.tend_keys().await.unwrap();
    let server = TestServer::reopen(server.close(), at_once).await;
    server.let_pass(29 * DAY + MINUTE);
    assert!(!is_admitted(&server, &ada.token).await);
    let renewed = refresh(&server, &ada.token).await.unwrap();
    assert_ne!(part(&renewed, 0)["kid"], json!(key));
    assert!(is_admitted(&server, &renewed).await);

    server.revoke_key(&key).await;
    assert_eq!(refresh(&server, &bob.token).await, None);
    assert!(is_admitted(&server, &renewed).await);
}

#[tokio::test]
async fn a_key_that_only_refreshes_admits_nobody_even_before_its_token_expires() {
    // The lifetime was longer when the token was signed.
    let with = |lifetime: &'static str| {
        move |settings: doorward::Settings| {
            settings.with("token.publish_before_signing", "0s").with("token.lifetime", lifetime)
        }
    };
    let server = TestServer::open_with(with("1d")).await;
    let ada = server.register("Ada", "ada@example.com").await;
    let server = TestServer::reopen(server.close(), with("10m")).await;
    server.rotate_keys().await;
    server.let_pass(11 * MINUTE);
    server.doorward.tend_keys().await.unwrap();
    assert!(!is_admitted(&server, &ada.token).await);
    let renewed = refresh(&server, &ada.token).await.unwrap();
    assert!(is_admitted(&server, &renewed).await);
    assert!(!is_admitted(&server, &ada.token).await, "nothing of it is cached");
}

#[tokio::test]
async fn a_token_from_the_future_is_valid_and_refreshed_while_its_session_lives() {
    let server = TestServer::open().await;
    server.let_pass(2 * DAY);
    let ada = server.register("Ada", "ada@example.com").await;
    // The clock starts again, two days earlier.
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    assert!(is_admitted(&server, &ada.token).await);
    let renewed = refresh(&server, &ada.token).await.unwrap();
    assert_eq!(part(&renewed, 1)["iat"], server.now().seconds());
    assert!(is_admitted(&server, &renewed).await && !is_admitted(&server, &ada.token).await);
    let ended = server.request_as(&renewed, "POST", "/api/auth/logout", Value::Null).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    assert!(!is_admitted(&server, &renewed).await, "its session decides");
}
