//! `doorward api-key` with and without a server: what a new key prints, and that nothing else contains it.

use std::fs;

use serde_json::Value;

use crate::support::{Home, error_of, stdout_of};

const GUARD: &str = "[guards.wiki]\nallow = 'false'\nkeys = true\n";

#[test]
fn keys_are_made_listed_and_revoked_with_and_without_a_server() {
    let home = Home::new();
    fs::write(home.root().join("doorward.toml"), GUARD).unwrap();
    let server = home.start();
    let status = |key: &str| {
        let asked = server.client.try_get("/api/auth/wiki", Some(&format!("Bearer {key}")));
        asked.unwrap().status
    };
    let made = stdout_of(&home, &["api-key", "create", "ci", "--scope", "guard:wiki"]);
    let (_, key) = made.lines().next().unwrap().split_once("key    ").unwrap();
    assert!(key.starts_with("dw_key_") && made.contains("It is not shown again."), "{made}");
    assert_eq!(status(key), 200);
    let listed = stdout_of(&home, &["api-key", "list"]);
    assert!(listed.contains("  machine  ci  guard:wiki  until "), "{listed}");
    let keys: Value =
        serde_json::from_str(&stdout_of(&home, &["api-key", "list", "--json"])).unwrap();
    let id = keys[0]["id"].as_str().unwrap().to_owned();
    assert!(listed.starts_with(&id), "{listed}");
    let guards = stdout_of(&home, &["guard", "list"]);
    assert!(guards.contains("false  (takes keys)"), "{guards}");

    for (arguments, said) in [
        (&["create", "x", "--scope", "guard:*"][..], "name: String must contain at least 2"),
        (&["create", "ci", "--scope", "users"], "users is not a scope: choose from users:read, "),
        (&["create", "ci", "--scope", "guard:*", "--expires", "1m"], "5 minutes to 3660 days"),
        (&["create", "ci", "--scope", "guard:*", "--allow", "gard"], "did you mean guard?"),
        (&["revoke", "nonsense"], "there is no such key"),
    ] {
        let error = error_of(&home, &[&["api-key"], arguments].concat());
        assert!(error.contains(said), "{arguments:?}: {error}");
    }

    stdout_of(&home, &["api-key", "revoke", &id]);
    assert_eq!(status(key), 401);
    assert!(error_of(&home, &["api-key", "revoke", &id]).contains("it has ended"));
    let logged = server.stop();
    assert!(!format!("{logged:?}").contains(key), "in the log");

    let made = stdout_of(&home, &["api-key", "create", "later", "--scope", "guard:*", "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["scopes"], serde_json::json!(["guard:*"]));
    let server = home.start();
    let bearer = format!("Bearer {}", made["key"].as_str().unwrap());
    let asked = server.client.try_get("/api/auth/wiki", Some(&bearer)).unwrap();
    assert_eq!(asked.status, 200, "made without a server");
    let database = fs::read(home.database()).unwrap();
    let secret = made["key"].as_str().unwrap().as_bytes();
    assert!(!database.windows(secret.len()).any(|bytes| bytes == secret), "in the database");
}
