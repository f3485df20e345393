//! The revocation feed: what it tells, to whom at once, and whom it keeps waiting.

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::http::{Request, StatusCode, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::{
    Settings,
    control::{Order, Report},
};
use serde_json::{Value, json};
use tokio::time::Instant;

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

fn at_once(settings: &mut Settings) {
    settings.token.publish_before_signing = Duration::ZERO;
}

async fn kids(house: &House) -> Value {
    let Report::Keys(keys) = house.order(Order::Keys).await else { panic!("keys") };
    keys.into_iter().map(|key| key.kid).collect()
}

#[tokio::test]
async fn whoever_asks_first_is_told_everything_and_later_only_news() {
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
async fn a_cursor_that_means_nothing_is_told_everything() {
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
async fn a_cursor_of_another_process_is_told_what_ended_since() {
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
    let house = House::reopen(folder, |_| {}).await;
    house.let_pass(Duration::from_secs(300));
    let after = since(&house, &first).await;
    let bob = part(&tokens[1], 1)["jti"].clone();
    assert_eq!((&after["complete"], &after["revoked"]), (&json!(false), &json!([bob])));
    assert_ne!(after["cursor"], first["cursor"], "of another process");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_told_as_soon_as_a_token_ends() {
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
async fn a_change_of_the_keys_is_news_as_well() {
    let house = House::open_with(at_once).await;
    let mut last = everything(&house).await;
    for order in [Order::RotateKeys, Order::RevokeKey(last["kids"][0].as_str().unwrap().into())] {
        house.order(order).await;
        let next = since(&house, &last).await;
        assert_eq!(next["kids"], kids(&house).await);
        assert_ne!(next["kids"], last["kids"]);
        assert_eq!((&next["complete"], &next["revoked"]), (&json!(false), &json!([])));
        last = next;
    }
}

#[tokio::test]
async fn without_news_an_answer_takes_10_seconds_and_the_end_of_the_server_cuts_that_short() {
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
async fn a_thousand_may_wait_and_the_next_is_answered_at_once() {
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
async fn an_ending_is_told_for_as_long_as_its_token_would_have_lived() {
    let house = House::open().await;
    let ada = house.register("Ada", "ada@example.com").await.token;
    log_out(&house, &ada).await;
    let first = everything(&house).await;
    house.let_pass(24 * 60 * MINUTE + 5 * MINUTE);
    house.doorward.tidy().await.unwrap();
    assert_eq!(everything(&house).await["revoked"], first["revoked"]);
    house.let_pass(Duration::from_secs(1));
    house.doorward.tidy().await.unwrap();
    assert_eq!(everything(&house).await["revoked"], json!([]));
    let house = House::reopen(house.close(), |_| {}).await;
    assert_eq!(everything(&house).await["revoked"], json!([]), "gone from the database as well");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_endings_than_an_answer_holds_are_told_in_several() {
    const SESSIONS: usize = 128;
    const REFRESHES: usize = 80;
    let house = Arc::new(House::open().await);
    let refreshing: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let house = Arc::clone(&house);
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
    let mut told = HashSet::new();
    let mut news = everything(&house).await;
    for (complete, more, count) in [(true, true, 10_000), (false, false, 240)] {
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

#[tokio::test]
async fn the_feed_is_no_token_and_takes_no_other_method() {
    let house = House::open().await;
    let feed = house.get(FEED).await.body;
    assert_eq!(house.guard("guard", &feed).await.told(), REFUSED);
    let post = house.send(Request::post(FEED).body("".into()).unwrap()).await;
    assert_eq!(post.status, StatusCode::METHOD_NOT_ALLOWED);
}
