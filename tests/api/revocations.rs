//! The revocation feed: its answers, its cursors, and how many requests may wait.

use std::{collections::HashSet, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::{
    Settings,
    internals::{
        Internals,
        network::{ClientInfo, Requester},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Answer, REFUSED, TestServer};

const FEED: &str = "/.well-known/revocations";
const MINUTE: Duration = Duration::from_secs(60);
const WAIT: Duration = Duration::from_secs(10);

pub fn part(token: &str, number: usize) -> Value {
    let part = token.split('.').nth(number).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// The claims of an answer of the feed.
fn claims(answer: &Answer) -> Value {
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header(header::CONTENT_TYPE), Some("application/jwt"));
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));
    assert_eq!(part(&answer.body, 0)["typ"], "revocations+jwt");
    part(&answer.body, 1)
}

pub async fn everything(server: &TestServer) -> Value {
    claims(&server.get(FEED).await)
}

async fn since(server: &TestServer, claims: &Value) -> Value {
    let cursor = claims["cursor"].as_str().unwrap();
    self::claims(&server.get(&format!("{FEED}?since={cursor}")).await)
}

async fn log_out(server: &TestServer, token: &str) {
    let answer = server.request_as(token, "POST", "/api/auth/logout", Value::Null).await;
    assert_eq!(answer.status_and_body(), (204, ""));
}

fn at_once(settings: Settings) -> Settings {
    settings.with("token.publish_before_signing", "0s")
}

async fn kids(server: &TestServer) -> Value {
    server.signing_keys().await.into_iter().map(|key| key.kid).collect()
}

#[tokio::test]
async fn the_first_answer_is_complete_and_later_ones_are_incremental() {
    let server = TestServer::open().await;
    let [ada, bob, eve] = ["ada", "bob", "eve"];
    let mut tokens = Vec::new();
    for name in [ada, bob, eve] {
        tokens.push(server.register(name, &format!("{name}@example.com")).await.token);
    }
    let jti = |number: usize| part(&tokens[number], 1)["jti"].clone();
    log_out(&server, &tokens[0]).await;

    let first = everything(&server).await;
    assert_eq!(
        first,
        json!({
            "iss": "doorward", "iat": 1_800_000_000, "exp": 1_800_000_060, "complete": true, "more": false,
            "kids": kids(&server).await, "revoked": [jti(0)], "cursor": first["cursor"],
        })
    );
    log_out(&server, &tokens[1]).await;
    let second = since(&server, &first).await;
    assert_eq!((&second["complete"], &second["revoked"]), (&json!(false), &json!([jti(1)])));
    assert_ne!(second["cursor"], first["cursor"]);
    assert_eq!(since(&server, &first).await, second, "a cursor can be used again");
    assert_eq!(everything(&server).await["revoked"], json!([jti(0), jti(1)]));
    assert_eq!(server.guard("guard", &tokens[2]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_unknown_cursor_returns_everything() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await.token;
    log_out(&server, &ada).await;
    let first = everything(&server).await;
    let cursor = first["cursor"].as_str().unwrap();
    let (process, _) = cursor.split_once('.').unwrap();
    let another = format!("{}.1.0", uuid::Uuid::new_v4());
    for unknown in ["", "x", "%00", &another, &format!("{process}.9.0"), &format!("{cursor}.1")] {
        let answer = server.get(&format!("{FEED}?since={unknown}")).await;
        assert_eq!(claims(&answer), first, "{unknown}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_process_returns_what_ended_since() {
    let server = TestServer::open().await;
    let tokens = [
        server.register("Ada", "ada@example.com").await.token,
        server.register("Bob", "bob@example.com").await.token,
    ];
    log_out(&server, &tokens[0]).await;
    server.let_pass(Duration::from_secs(300));
    let first = everything(&server).await;
    log_out(&server, &tokens[1]).await;
    let folder = server.close();
    let server = TestServer::reopen(folder, |settings| settings).await;
    server.let_pass(Duration::from_secs(300));
    let after = since(&server, &first).await;
    let bob = part(&tokens[1], 1)["jti"].clone();
    assert_eq!((&after["complete"], &after["revoked"]), (&json!(false), &json!([bob])));
    assert_ne!(after["cursor"], first["cursor"], "of another process");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_is_answered_as_soon_as_a_token_ends() {
    let server = Arc::new(TestServer::open().await);
    let ada = server.register("Ada", "ada@example.com").await.token;
    let first = everything(&server).await;
    let waiting = tokio::spawn({
        let (server, first) = (Arc::clone(&server), first.clone());
        async move { since(&server, &first).await }
    });
    while !waiting.is_finished() && waiters(&server) == 0 {
        tokio::task::yield_now().await;
    }
    log_out(&server, &ada).await;
    assert_eq!(waiting.await.unwrap()["revoked"], json!([part(&ada, 1)["jti"]]));
}

fn waiters(server: &TestServer) -> usize {
    server.doorward.feed().waiting()
}

#[tokio::test]
async fn a_key_change_appears_in_the_feed() {
    let server = TestServer::open_with(at_once).await;
    let mut last = everything(&server).await;
    let first = last["kids"][0].as_str().unwrap().to_owned();
    for revoked in [None, Some(&first)] {
        match revoked {
            None => server.rotate_keys().await,
            Some(kid) => server.revoke_key(kid).await,
        };
        let next = since(&server, &last).await;
        assert_eq!(next["kids"], kids(&server).await);
        assert_ne!(next["kids"], last["kids"]);
        assert_eq!((&next["complete"], &next["revoked"]), (&json!(false), &json!([])));
        last = next;
    }
}

#[tokio::test]
async fn without_news_an_answer_takes_10_seconds_or_until_the_server_stops() {
    let server = TestServer::open().await;
    let first = everything(&server).await;
    tokio::time::pause();
    let started = Instant::now();
    let nothing = since(&server, &first).await;
    assert!(started.elapsed() >= WAIT && started.elapsed() < WAIT + Duration::from_secs(1));
    assert_eq!((&nothing["revoked"], &nothing["cursor"]), (&json!([]), &first["cursor"]));
    server.doorward.feed().close();
    let started = Instant::now();
    since(&server, &first).await;
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_thousand_requests_may_wait_and_the_next_is_answered_at_once() {
    let server = Arc::new(TestServer::open().await);
    let first = everything(&server).await;
    tokio::time::pause();
    for _ in 0..1000 {
        let (server, first) = (Arc::clone(&server), first.clone());
        tokio::spawn(async move { since(&server, &first).await });
    }
    while waiters(&server) < 1000 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    assert_eq!(since(&server, &first).await["revoked"], json!([]));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_ended_token_is_listed_until_it_would_have_expired() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await.token;
    log_out(&server, &ada).await;
    let first = everything(&server).await;
    server.let_pass(24 * 60 * MINUTE + 5 * MINUTE);
    server.doorward.clean_up().await.unwrap();
    assert_eq!(everything(&server).await["revoked"], first["revoked"]);
    server.let_pass(Duration::from_secs(1));
    server.doorward.clean_up().await.unwrap();
    assert_eq!(everything(&server).await["revoked"], json!([]));
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    assert_eq!(everything(&server).await["revoked"], json!([]), "also deleted from the database");
}

/// Ends 1,280 tokens and returns their ids.
async fn many_endings(server: &Arc<TestServer>) -> HashSet<String> {
    const SESSIONS: usize = 16;
    const REFRESHES: usize = 80;
    let refreshing: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let server = Arc::clone(server);
            tokio::spawn(async move {
                let member = json!({"name": "Ada", "email": format!("ada{number}@example.com")});
                let mut token = server.register_with(member).await.token;
                let mut ended = Vec::new();
                for _ in 0..REFRESHES {
                    ended.push(part(&token, 1)["jti"].as_str().unwrap().to_owned());
                    let answer =
                        server.request_as(&token, "POST", "/api/auth/refresh", Value::Null).await;
                    token = answer.json()["token"].as_str().unwrap().to_owned();
                }
                ended
            })
        })
        .collect();
    let mut ended = HashSet::new();
    for refreshing in refreshing {
        ended.extend(refreshing.await.unwrap());
    }
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn more_ended_tokens_than_an_answer_holds_come_in_several() {
    let server = Arc::new(TestServer::open().await);
    let ended = many_endings(&server).await;
    let mut listed = HashSet::new();
    let mut news = everything(&server).await;
    for (complete, more, count) in [(true, true, 512), (false, true, 512), (false, false, 256)] {
        assert_eq!((&news["complete"], &news["more"]), (&json!(complete), &json!(more)));
        let revoked = news["revoked"].as_array().unwrap();
        assert_eq!(revoked.len(), count);
        listed.extend(revoked.iter().map(|id| id.as_str().unwrap().to_owned()));
        if more {
            news = since(&server, &news).await;
        }
    }
    assert_eq!(listed, ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_to_another_process_between_pages_misses_nothing() {
    let server = Arc::new(TestServer::open().await);
    let ended = many_endings(&server).await;
    server.let_pass(Duration::from_secs(3600));
    let first = everything(&server).await;
    assert_eq!(first["more"], true);
    let Ok(server) = Arc::try_unwrap(server) else { panic!("others use it") };
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    server.let_pass(Duration::from_secs(3600));
    let mut listed = HashSet::new();
    let mut news = first;
    loop {
        let revoked = news["revoked"].as_array().unwrap();
        listed.extend(revoked.iter().map(|id| id.as_str().unwrap().to_owned()));
        if news["more"] == false {
            break;
        }
        news = since(&server, &news).await;
    }
    assert_eq!(listed, ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_different_cursors_cost_few_signatures() {
    let server = Arc::new(TestServer::open().await);
    many_endings(&server).await;
    let now = everything(&server).await["iat"].as_i64().unwrap();
    let cursor = everything(&server).await["cursor"].as_str().unwrap().to_owned();
    let (process, _) = cursor.split_once('.').unwrap();
    let before = server.doorward.feed().signatures();
    let own = (0..1280).map(|number| format!("{process}.{number}.0.{}", now - number));
    let foreign =
        (0..200).map(|number| format!("{}.{number}.0.{}", uuid::Uuid::new_v4(), now - number));
    let nonsense = (0..200).map(|number| format!("x{number}"));
    let asking: Vec<_> = own
        .chain(foreign)
        .chain(nonsense)
        .map(|cursor| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { server.get(&format!("{FEED}?since={cursor}")).await.status })
        })
        .collect();
    for asking in asking {
        assert_eq!(asking.await.unwrap(), StatusCode::OK);
    }
    let signed = server.doorward.feed().signatures() - before;
    assert!(signed < 100, "{signed} signatures for 1,680 requests");
}

/// A request for the feed from this address.
fn from(address: [u8; 4], cursor: &str) -> Request<Body> {
    let mut request = Request::get(format!("{FEED}?since={cursor}")).body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((address, 9))));
    request
}

#[tokio::test]
async fn a_hundred_requests_of_one_network_may_wait_beside_others() {
    let server = Arc::new(TestServer::open().await);
    let first = everything(&server).await;
    let cursor = first["cursor"].as_str().unwrap();
    tokio::time::pause();
    let wait = |address| {
        let (server, request) = (Arc::clone(&server), from(address, cursor));
        tokio::spawn(async move { server.send(request).await.status })
    };
    let waiting: Vec<_> = (0..100).map(|_| wait([192, 0, 2, 1])).collect();
    while waiters(&server) < 100 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    assert_eq!(wait([192, 0, 2, 1]).await.unwrap(), StatusCode::OK);
    assert!(started.elapsed() < Duration::from_secs(1), "answered without waiting");
    let other = wait([192, 0, 2, 2]);
    while waiters(&server) < 101 {
        tokio::task::yield_now().await;
    }
    server.doorward.feed().close();
    for waiting in waiting.into_iter().chain([other]) {
        assert_eq!(waiting.await.unwrap(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_network_with_too_many_unread_answers_gets_no_more() {
    let server = TestServer::open().await;
    let ask = async |address| server.respond(from(address, "")).await;
    let mut untaken = Vec::new();
    for _ in 0..100 {
        untaken.push(ask([192, 0, 2, 1]).await);
    }
    assert!(untaken.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(server.doorward.feed().unsent(), 100);
    let refused = ask([192, 0, 2, 1]).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    assert_eq!(ask([192, 0, 2, 2]).await.status(), StatusCode::OK);
    untaken.pop();
    assert_eq!(ask([192, 0, 2, 1]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn equal_answers_share_one_buffer() {
    let server = TestServer::open().await;
    let news = async || {
        let requester = Requester {
            exempt_from_network_limits: true,
            ..Requester::new(ClientInfo::new([127, 0, 0, 1].into(), ""))
        };
        server.doorward.feed().page_since(None, &requester).await.unwrap()
    };
    let (one, other) = (news().await, news().await);
    assert_eq!(one.as_ptr(), other.as_ptr());
    assert_eq!(server.doorward.feed().signatures(), 1);
}

#[tokio::test]
async fn the_feed_is_not_a_token_and_answers_get_only() {
    let server = TestServer::open().await;
    let feed = server.get(FEED).await.body;
    assert_eq!(server.guard("guard", &feed).await.status_and_body(), REFUSED);
    let post = server.send(Request::post(FEED).body("".into()).unwrap()).await;
    assert_eq!(post.status, StatusCode::METHOD_NOT_ALLOWED);
}
