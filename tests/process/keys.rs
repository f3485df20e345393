//! Signing keys of the binary: rotation under load, crashes, commands with and without a server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::support::{Client, Home, error_of, eventually, stdout_of};

const AT_ONCE: [&str; 2] = ["--token-publish-before-signing", "0s"];

fn keys(home: &Home, command: &[&str]) -> Vec<Value> {
    let listed = stdout_of(home, &[&["keys"], command, &AT_ONCE, &["--json"]].concat());
    serde_json::from_str(&listed).unwrap()
}

fn kid(key: &Value) -> &str {
    key["kid"].as_str().unwrap()
}

/// Sends requests with a new token and with old ones until the load stops. Returns all tokens.
fn keep_asking(client: &Client, name: usize, load: &Load) -> Vec<String> {
    let mut tokens = Vec::new();
    while !load.over.load(Ordering::Relaxed) {
        let email = format!("user{name}-{}@example.com", tokens.len());
        tokens.push(client.register_quickly(&email).token);
        for token in tokens.iter().rev().take(25) {
            assert_eq!(client.guard(token), 200);
            load.asked.fetch_add(1, Ordering::Relaxed);
        }
        load.signed.fetch_add(1, Ordering::Relaxed);
    }
    tokens
}

#[derive(Default)]
struct Load {
    over: AtomicBool,
    signed: AtomicUsize,
    asked: AtomicUsize,
}

#[test]
fn fifty_rotations_under_load_refuse_nobody() {
    const ROTATIONS: usize = 50;
    const ASKERS: usize = 4;
    let home = Home::new();
    let server = home.start_with(&AT_ONCE);
    let load = Arc::<Load>::default();
    let askers: Vec<_> = (0..ASKERS)
        .map(|name| {
            let (client, load) = (server.client.clone(), Arc::clone(&load));
            thread::spawn(move || keep_asking(&client, name, &load))
        })
        .collect();
    for _ in 0..ROTATIONS {
        keys(&home, &["rotate"]);
        // The old key may have signed one more token for each client.
        let enough = load.signed.load(Ordering::Relaxed) + ASKERS + 1;
        eventually("the new key has signed under load", || {
            load.signed.load(Ordering::Relaxed) >= enough
        });
    }
    load.over.store(true, Ordering::Relaxed);
    let tokens: Vec<_> = askers.into_iter().flat_map(|asker| asker.join().unwrap()).collect();
    assert_eq!(keys(&home, &["list"]).len(), ROTATIONS + 1);
    let asked = load.asked.load(Ordering::Relaxed);
    println!("{ROTATIONS} rotations, {asked} guarded requests, {} tokens", tokens.len());
    server.stop();
    let server = home.start();
    for token in tokens.iter().step_by(tokens.len() / 100 + 1) {
        assert_eq!(server.client.guard(token), 200, "after a restart");
    }
}

#[test]
fn a_published_key_starts_to_sign_when_it_is_due() {
    let home = Home::new();
    let server = home.start_with(&["--token-publish-before-signing", "1s"]);
    let listed = keys(&home, &["rotate"]);
    assert_eq!((&listed[0]["stage"], &listed[1]["stage"]), (&"signing".into(), &"next".into()));
    eventually("the next key signs", || {
        thread::sleep(Duration::from_millis(100));
        let published = server.client.get("/.well-known/jwks.json").json();
        kid(&published["keys"][0]) == kid(&listed[1])
    });
    server.client.must_know(&server.client.register_quickly("ada@example.com"));
}

#[test]
fn a_crash_during_a_rotation_leaves_every_token_valid() {
    const CRASHES: u64 = 20;
    let home = Home::new();
    let mut tokens = Vec::new();
    for crash in 0..CRASHES {
        let server = home.start_with(&AT_ONCE);
        tokens.push(server.client.register_quickly(&format!("user{crash}@example.com")).token);
        for token in &tokens {
            assert_eq!(server.client.guard(token), 200, "after {crash} crashes");
        }
        thread::scope(|scope| {
            // The command may fail because the server was killed, or run without one.
            scope.spawn(|| (0..3).for_each(|_| drop(home.run(&["keys", "rotate"]))));
            thread::sleep(Duration::from_millis(4 * crash));
            server.kill();
        });
    }
}

#[test]
fn keys_are_rotated_and_revoked_with_and_without_a_server() {
    let home = Home::new();
    let server = home.start_with(&AT_ONCE);
    let ada = server.client.register_quickly("ada@example.com");
    let first = kid(&keys(&home, &["list"])[0]).to_owned();
    let after = keys(&home, &["rotate"]);
    assert_eq!((&after[0]["stage"], &after[1]["stage"]), (&"signing".into(), &"retired".into()));
    assert_eq!(kid(&after[1]), first);
    assert!(
        stdout_of(&home, &["keys", "list"])
            .contains(&format!("{first}  ES256  retired, verifies until "))
    );
    assert_eq!(server.client.guard(&ada.token), 200);
    assert_eq!(keys(&home, &["revoke", &first]).len(), 1);
    assert_eq!(server.client.guard(&ada.token), 401);
    for unknown in [&first, "-with-a-hyphen-in-front", "--with-two"] {
        assert!(error_of(&home, &["keys", "revoke", unknown]).contains("no such key"), "{unknown}");
        assert!(error_of(&home, &["keys", "revoke", "--json", unknown]).contains("no such key"));
    }
    let bob = server.client.register_quickly("bob@example.com");
    server.stop();

    let second = kid(&keys(&home, &["rotate"])[1]).to_owned();
    let listed = stdout_of(&home, &["keys", "rotate"]);
    assert!(listed.contains("  next, signs from "), "published first: {listed}");
    let server = home.start();
    assert_eq!(server.client.guard(&bob.token), 200);
    assert_eq!(
        server.client.get("/.well-known/jwks.json").json()["keys"].as_array().unwrap().len(),
        3
    );
    server.stop();
    keys(&home, &["revoke", &second]);
    let server = home.start();
    assert_eq!((server.client.guard(&bob.token), server.client.guard(&ada.token)), (401, 401));
}

#[test]
fn a_new_client_secret_is_printed_with_its_setting() {
    let home = Home::new();
    let printed = stdout_of(&home, &["client", "secret", "shop"]);
    let line = printed.lines().last().unwrap().trim();
    assert!(line.starts_with("clients = [\"shop:"), "{printed}");
    let setting = line.trim_start_matches("clients = [\"").trim_end_matches("\"]");
    let both = stdout_of(&home, &["client", "secret", "desk", "--clients", setting]);
    assert!(both.contains(&format!("clients = [\"{setting}\", \"desk:")), "{both}");
    assert!(error_of(&home, &["client", "secret", "a b"]).contains("not a client name"));
}

#[test]
fn migration_leaves_out_keys_of_the_operator() {
    let (home, new) = (Home::new(), Home::new());
    home.start().stop();
    let file = home.root().join("own.pem");
    std::fs::copy(home.signing_key(), &file).unwrap();
    std::fs::remove_file(home.signing_key()).unwrap();
    let own = ["--token-key-file", file.to_str().unwrap()];
    let server = home.start_with(&own);
    let ada = server.client.register_quickly("ada@example.com");
    server.stop();
    let to = format!("sqlite://{}", new.database().display());
    let moved = stdout_of(&home, &["migrate", "--to", &to]);
    assert!(moved.contains("1 user, 1 session"), "{moved}");
    assert!(!new.signing_key().exists(), "a key was made");
    let server = new.start_with(&own);
    assert_eq!(server.client.guard(&ada.token), 200);
}
