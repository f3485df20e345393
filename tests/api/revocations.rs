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
        control::{Command, Reply},
        network::{Network, Requester},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::support::{Answer, House, REFUSED};

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

pub async fn everything(house: &House) -> Value {
    claims(&house.get(FEED).await)
}

async fn since(house: &House, claims: &Value) -> Value {
    let cursor = claims["cursor"].as_str().unwrap();
    self::claims(&house.get(&format!("{FEED}?since={cursor}")).await)
}

async fn log_out(house: &House, token: &str) {
    let answer = house.ask_as(token, "POST", "/api/auth/logout", Value::Null).await;
    assert_eq!(answer.told(), (204, ""));
}

fn at_once(settings: Settings) -> Settings {
    settings.with("token.publish_before_signing", "0s")
}

async fn kids(house: &House) -> Value {
    let Reply::Keys(keys) = house.command(Command::ListKeys).await else { panic!("keys") };
    keys.into_iter().map(|key| key.kid).collect()
}

#[tokio::test]
async fn the_first_answer_has_everything_and_later_ones_only_news() {
    let house = House::open().await;
    let [ada, bob, eve] = ["ada", "bob", "eve"];
    let mut tokens = Vec::new();
    for name in [ada, bob, eve] {
        tokens.push(house.register(name, &format!("{name}@example.com")).await.token);
    }
    let jti = |number: usize| part(&tokens[number], 1)["jti"].clone();
    log_out(&house, &tokens[0]).await;

    let first = everything(&house).await;
    assert_eq!(
        first,
        json!({
            "iss": "doorward", "iat": 1_800_000_000, "exp": 1_800_000_060, "complete": true, "more": false,
            "kids": kids(&house).await, "revoked": [jti(0)], "cursor": first["cursor"],
        })
    );
    log_out(&house, &tokens[1]).await;
    let second = since(&house, &first).await;
    assert_eq!((&second["complete"], &second["revoked"]), (&json!(false), &json!([jti(1)])));
    assert_ne!(second["cursor"], first["cursor"]);
    assert_eq!(since(&house, &first).await, second, "a cursor can be used again");
    assert_eq!(everything(&house).await["revoked"], json!([jti(0), jti(1)]));
    assert_eq!(house.guard("guard", &tokens[2]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_unknown_cursor_returns_everything() {
    let house = House::open().await;
    let ada = house.register("Ada", "ada@example.com").await.token;
    log_out(&house, &ada).await;
    let first = everything(&house).await;
    let cursor = first["cursor"].as_str().unwrap();
    let (process, _) = cursor.split_once('.').unwrap();
    let another = format!("{}.1.0", uuid::Uuid::new_v4());
    for unknown in ["", "x", "%00", &another, &format!("{process}.9.0"), &format!("{cursor}.1")] {
        let answer = house.get(&format!("{FEED}?since={unknown}")).await;
        assert_eq!(claims(&answer), first, "{unknown}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_process_returns_what_ended_since() {
    let house = House::open().await;
    let tokens = [
        house.register("Ada", "ada@example.com").await.token,
        house.register("Bob", "bob@example.com").await.token,
    ];
    log_out(&house, &tokens[0]).await;
    house.let_pass(Duration::from_secs(300));
    let first = everything(&house).await;
    log_out(&house, &tokens[1]).await;
    let folder = house.close();
    let house = House::reopen(folder, |settings| settings).await;
    house.let_pass(Duration::from_secs(300));
    let after = since(&house, &first).await;
    let bob = part(&tokens[1], 1)["jti"].clone();
    assert_eq!((&after["complete"], &after["revoked"]), (&json!(false), &json!([bob])));
    assert_ne!(after["cursor"], first["cursor"], "of another process");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_is_answered_as_soon_as_a_token_ends() {
    let house = Arc::new(House::open().await);
    let ada = house.register("Ada", "ada@example.com").await.token;
    let first = everything(&house).await;
    let waiting = tokio::spawn({
        let (house, first) = (Arc::clone(&house), first.clone());
        async move { since(&house, &first).await }
    });
    while !waiting.is_finished() && waiters(&house) == 0 {
        tokio::task::yield_now().await;
    }
    log_out(&house, &ada).await;
    assert_eq!(waiting.await.unwrap()["revoked"], json!([part(&ada, 1)["jti"]]));
}

fn waiters(house: &House) -> usize {
    house.doorward.feed().waiting()
}

#[tokio::test]
async fn a_key_change_appears_in_the_feed() {
    let house = House::open_with(at_once).await;
    let mut last = everything(&house).await;
    for command in
        [Command::RotateKeys, Command::RevokeKey(last["kids"][0].as_str().unwrap().into())]
    {
        house.command(command).await;
        let next = since(&house, &last).await;
        assert_eq!(next["kids"], kids(&house).await);
        assert_ne!(next["kids"], last["kids"]);
        assert_eq!((&next["complete"], &next["revoked"]), (&json!(false), &json!([])));
        last = next;
    }
}

#[tokio::test]
async fn without_news_an_answer_takes_10_seconds_or_until_the_server_stops() {
    let house = House::open().await;
    let first = everything(&house).await;
    tokio::time::pause();
    let started = Instant::now();
    let nothing = since(&house, &first).await;
    assert!(started.elapsed() >= WAIT && started.elapsed() < WAIT + Duration::from_secs(1));
    assert_eq!((&nothing["revoked"], &nothing["cursor"]), (&json!([]), &first["cursor"]));
    house.doorward.feed().close();
    let started = Instant::now();
    since(&house, &first).await;
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_thousand_requests_may_wait_and_the_next_is_answered_at_once() {
    let house = Arc::new(House::open().await);
    let first = everything(&house).await;
    tokio::time::pause();
    for _ in 0..1000 {
        let (house, first) = (Arc::clone(&house), first.clone());
        tokio::spawn(async move { since(&house, &first).await });
    }
    while waiters(&house) < 1000 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    assert_eq!(since(&house, &first).await["revoked"], json!([]));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_ended_token_is_listed_until_it_would_have_expired() {
    let house = House::open().await;
    let ada = house.register("Ada", "ada@example.com").await.token;
    log_out(&house, &ada).await;
    let first = everything(&house).await;
    house.let_pass(24 * 60 * MINUTE + 5 * MINUTE);
    house.doorward.clean_up().await.unwrap();
    assert_eq!(everything(&house).await["revoked"], first["revoked"]);
    house.let_pass(Duration::from_secs(1));
    house.doorward.clean_up().await.unwrap();
    assert_eq!(everything(&house).await["revoked"], json!([]));
    let house = House::reopen(house.close(), |settings| settings).await;
    assert_eq!(everything(&house).await["revoked"], json!([]), "gone from the database as well");
}

/// Ends 1,280 tokens and returns their ids.
async fn many_endings(house: &Arc<House>) -> HashSet<String> {
    const SESSIONS: usize = 16;
    const REFRESHES: usize = 80;
    let refreshing: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let house = Arc::clone(house);
            tokio::spawn(async move {
                let member = json!({"name": "Ada", "email": format!("ada{number}@example.com")});
                let mut token = house.register_with(member).await.token;
                let mut ended = Vec::new();
                for _ in 0..REFRESHES {
                    ended.push(part(&token, 1)["jti"].as_str().unwrap().to_owned());
                    let answer =
                        house.ask_as(&token, "POST", "/api/auth/refresh", Value::Null).await;
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
    let house = Arc::new(House::open().await);
    let ended = many_endings(&house).await;
    let mut told = HashSet::new();
    let mut news = everything(&house).await;
    for (complete, more, count) in [(true, true, 512), (false, true, 512), (false, false, 256)] {
        assert_eq!((&news["complete"], &news["more"]), (&json!(complete), &json!(more)));
        let revoked = news["revoked"].as_array().unwrap();
        assert_eq!(revoked.len(), count);
        told.extend(revoked.iter().map(|id| id.as_str().unwrap().to_owned()));
        if more {
            news = since(&house, &news).await;
        }
    }
    assert_eq!(told, ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_to_another_process_in_the_middle_misses_nothing() {
    let house = Arc::new(House::open().await);
    let ended = many_endings(&house).await;
    house.let_pass(Duration::from_secs(3600));
    let first = everything(&house).await;
    assert_eq!(first["more"], true);
    let Ok(house) = Arc::try_unwrap(house) else { panic!("others use it") };
    let house = House::reopen(house.close(), |settings| settings).await;
    house.let_pass(Duration::from_secs(3600));
    let mut told = HashSet::new();
    let mut news = first;
    loop {
        let revoked = news["revoked"].as_array().unwrap();
        told.extend(revoked.iter().map(|id| id.as_str().unwrap().to_owned()));
        if news["more"] == false {
            break;
        }
        news = since(&house, &news).await;
    }
    assert_eq!(told, ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_different_cursors_cost_few_signatures() {
    let house = Arc::new(House::open().await);
    many_endings(&house).await;
    let now = everything(&house).await["iat"].as_i64().unwrap();
    let cursor = everything(&house).await["cursor"].as_str().unwrap().to_owned();
    let (process, _) = cursor.split_once('.').unwrap();
    let before = house.doorward.feed().signatures();
    let own = (0..1280).map(|number| format!("{process}.{number}.0.{}", now - number));
    let foreign =
        (0..200).map(|number| format!("{}.{number}.0.{}", uuid::Uuid::new_v4(), now - number));
    let nonsense = (0..200).map(|number| format!("x{number}"));
    let asking: Vec<_> = own
        .chain(foreign)
        .chain(nonsense)
        .map(|cursor| {
            let house = Arc::clone(&house);
            tokio::spawn(async move { house.get(&format!("{FEED}?since={cursor}")).await.status })
        })
        .collect();
    for asking in asking {
        assert_eq!(asking.await.unwrap(), StatusCode::OK);
    }
    let signed = house.doorward.feed().signatures() - before;
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
    let house = Arc::new(House::open().await);
    let first = everything(&house).await;
    let cursor = first["cursor"].as_str().unwrap();
    tokio::time::pause();
    let wait = |address| {
        let (house, request) = (Arc::clone(&house), from(address, cursor));
        tokio::spawn(async move { house.send(request).await.status })
    };
    let waiting: Vec<_> = (0..100).map(|_| wait([192, 0, 2, 1])).collect();
    while waiters(&house) < 100 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    assert_eq!(wait([192, 0, 2, 1]).await.unwrap(), StatusCode::OK);
    assert!(started.elapsed() < Duration::from_secs(1), "answered without waiting");
    let other = wait([192, 0, 2, 2]);
    while waiters(&house) < 101 {
        tokio::task::yield_now().await;
    }
    house.doorward.feed().close();
    for waiting in waiting.into_iter().chain([other]) {
        assert_eq!(waiting.await.unwrap(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_network_that_does_not_read_its_answers_gets_no_more() {
    let house = House::open().await;
    let ask = async |address| house.app.clone().oneshot(from(address, "")).await.unwrap();
    let mut untaken = Vec::new();
    for _ in 0..100 {
        untaken.push(ask([192, 0, 2, 1]).await);
    }
    assert!(untaken.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(house.doorward.feed().unsent(), 100);
    let refused = ask([192, 0, 2, 1]).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    assert_eq!(ask([192, 0, 2, 2]).await.status(), StatusCode::OK);
    untaken.pop();
    assert_eq!(ask([192, 0, 2, 1]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn equal_answers_share_one_buffer() {
    let house = House::open().await;
    let news = async || {
        let requester = Requester { network: Network::LOOPBACK, exempt_from_network_limits: true };
        house.doorward.feed().page_since(None, requester).await.unwrap()
    };
    let (one, other) = (news().await, news().await);
    assert_eq!(one.as_ptr(), other.as_ptr());
    assert_eq!(house.doorward.feed().signatures(), 1);
}

#[tokio::test]
async fn the_feed_is_not_a_token_and_answers_get_only() {
    let house = House::open().await;
    let feed = house.get(FEED).await.body;
    assert_eq!(house.guard("guard", &feed).await.told(), REFUSED);
    let post = house.send(Request::post(FEED).body("".into()).unwrap()).await;
    assert_eq!(post.status, StatusCode::METHOD_NOT_ALLOWED);
}
