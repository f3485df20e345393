//! The revocation feed of the binary, across crashes and across instances.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    instances::{WITHIN, homes, order, postgres_pid, start},
    stopwatch::Stopwatch,
    support::{Client, Home, Server, claims_of, eventually},
};

const FEED: &str = "/.well-known/revocations";

fn everything(client: &Client) -> Value {
    claims_of(&client.get(FEED).body)
}

fn news(client: &Client, since: &Value) -> Value {
    let cursor = since["cursor"].as_str().unwrap();
    claims_of(&client.get(&format!("{FEED}?since={cursor}")).body)
}

#[test]
fn the_revocation_feed_survives_a_crash() {
    let home = Home::new();
    let server = home.start();
    let mut ended = Vec::new();
    for number in 0..20 {
        let member = server.client.register_quickly(&format!("user{number}@example.com"));
        let answer = server.client.request("POST", "/api/auth/logout", &member.token, &json!({}));
        assert_eq!(answer.status, 204);
        ended.push(claims_of(&member.token)["jti"].clone());
    }
    let before = everything(&server.client);
    server.kill();
    let server = home.start();
    let after = everything(&server.client);
    assert_eq!((&after["complete"], &after["revoked"]), (&json!(true), &json!(ended)));
    let since = news(&server.client, &before);
    assert_eq!(
        (&since["complete"], &since["revoked"]),
        (&json!(false), &json!(ended)),
        "a minute back"
    );
}

#[test]
fn the_feeds_of_other_instances_show_a_revocation_within_a_second() {
    let Some((homes, url)) = homes(2) else { return };
    let (here, there) = (start(&homes[0], &url), start(&homes[1], &url));
    let processes = [here.pid(), there.pid(), postgres_pid()];
    for round in 0..5 {
        let member = here.client.register_quickly(&format!("user{round}@example.com"));
        let before = everything(&there.client);
        let far = there.client.clone();
        let waiting = thread::spawn(move || news(&far, &before));
        // In most rounds the request is already waiting when the session ends.
        thread::sleep(Duration::from_millis(50 * round));
        let answer = here.client.request("POST", "/api/auth/logout", &member.token, &json!({}));
        assert_eq!(answer.status, 204);
        let ended = Stopwatch::start(&processes);
        let feed = waiting.join().unwrap();
        ended.must_show_less_than(WITHIN, "an ended session is listed");
        assert_eq!(feed["revoked"], json!([claims_of(&member.token)["jti"]]));
    }

    let before = everything(&there.client);
    let kid = before["kids"][0].as_str().unwrap().to_owned();
    order(&url, &["keys", "revoke", &kid]);
    let revoked = Stopwatch::start(&processes);
    let feed = news(&there.client, &before);
    revoked.must_show_less_than(WITHIN, "a revoked key is listed");
    assert!(!feed["kids"].as_array().unwrap().contains(&json!(kid)), "{feed}");
}

/// Ends many tokens.
fn end_tokens(server: &Server, users: usize, of_each: usize) {
    thread::scope(|scope| {
        for number in 0..users {
            let client = server.client.clone();
            scope.spawn(move || {
                let mut token = client.register_quickly(&format!("user{number}@example.com")).token;
                for _ in 0..of_each {
                    let answer = client.request("POST", "/api/auth/refresh", &token, &json!({}));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    token = answer.field("token");
                }
            });
        }
    });
}

#[test]
fn an_unread_answer_is_in_memory_once() {
    const CONNECTIONS: usize = 300;
    let home = Home::new();
    let server = home.start();
    end_tokens(&server, 12, 100);
    let ask = |number: usize| {
        let mut connection = server.connect();
        connection.send(format!("GET {FEED}?since={number} HTTP/1.1\r\nHost: here\r\n\r\n"));
        connection
    };
    // The first requests fill the memory that all later ones share.
    let mut connections: Vec<_> = (0..30).map(ask).collect();
    assert!(connections.iter_mut().all(|connection| connection.answer().unwrap().status == 200));
    let before = server.memory();
    let mut unread: Vec<_> = (0..CONNECTIONS).map(ask).collect();
    // Nearly all earlier requests have been answered before this one.
    assert_eq!(ask(0).answer().unwrap().status, 200);
    eventually("the last one has been answered", || unread.last().unwrap().has_more());
    let each = server.memory().saturating_sub(before) / CONNECTIONS as u64;
    assert!(each < 32, "{each} KiB for each connection");
    let answer = unread.pop().unwrap().answer().unwrap();
    assert!(answer.body.len() > 20_000 && answer.body.len() < 32_000, "{}", answer.body.len());
}
