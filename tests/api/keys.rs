//! Rotation, retirement and revocation of keys, as holders of tokens see it.

use std::time::Duration;

use doorward::{
    Settings,
    internals::{
        Internals,
        token::{Algorithm, SigningKey, signing_keys::KeyStatus},
    },
};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{NOW, REFUSED, SIGNING_KEYS, TestServer};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn at_once(settings: Settings) -> Settings {
    settings.with("token.publish_before_signing", "0s")
}

async fn stages(server: &TestServer) -> Vec<KeyStatus> {
    server.signing_keys().await.iter().map(|key| key.stage).collect()
}

/// The key that signs.
async fn signing(server: &TestServer) -> String {
    server.signing_keys().await.remove(0).kid
}

async fn is_good(server: &TestServer, token: &str) -> bool {
    let answer = server.guard("guard", token).await;
    if answer.status == 200 {
        return true;
    }
    assert_eq!(answer.status_and_body(), REFUSED);
    false
}

#[tokio::test]
async fn a_new_key_is_published_before_it_signs() {
    let server = TestServer::open().await;
    let first = signing(&server).await;
    assert_eq!(stages(&server).await, [KeyStatus::Signing]);
    let after = server.rotate_keys().await;
    assert_eq!(
        (&after[0].kid, after[0].stage, after[1].stage),
        (&first, KeyStatus::Signing, KeyStatus::Next)
    );
    assert_eq!(after[1].until, Some(NOW + MINUTE));

    let again = server.rotate_keys().await;
    assert_eq!(again.len(), 2, "one next key is enough");

    server.let_pass(MINUTE - Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, first);
    server.let_pass(Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, after[1].kid);
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Retired]);
}

#[tokio::test]
async fn after_a_restart_a_key_waits_as_long_as_verifiers_keep_the_old_ones() {
    let server = TestServer::open().await;
    let next = server.rotate_keys().await.remove(1).kid;
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    server.let_pass(MINUTE - Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Next]);
    server.let_pass(Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, next);
}

#[tokio::test]
async fn restarts_do_not_postpone_the_next_key() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let for_a_week = |settings: Settings| settings.with("token.publish_before_signing", "7d");
    let mut server = TestServer::open_with(for_a_week).await;
    let first = signing(&server).await;
    let next = server.rotate_keys().await.remove(1).kid;
    for day in 0..7 {
        assert_eq!(signing(&server).await, first, "day {day}");
        let later = server.now() + DAY;
        server = TestServer::reopen_at(later, server.close(), for_a_week).await;
        server.doorward.tend_keys().await.unwrap();
    }
    // Verifiers may have read the keys just before the last stop.
    assert_eq!(signing(&server).await, first);
    server.let_pass(HOUR);
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, next);
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Retired]);
}

#[tokio::test]
async fn a_key_that_was_published_by_a_clock_ahead_signs_in_time() {
    let server = TestServer::open().await;
    server.let_pass(30 * DAY);
    let next = server.rotate_keys().await.remove(1).kid;
    server.set_clock(NOW);
    server.doorward.tend_keys().await.unwrap();
    server.let_pass(MINUTE);
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, next);
}

#[tokio::test]
async fn a_restart_does_not_postpone_a_key_that_was_published_by_a_clock_ahead() {
    let week = |settings: Settings| settings.with("token.publish_before_signing", "7d");
    let server = TestServer::open_with(week).await;
    server.let_pass(60 * DAY);
    let next = server.rotate_keys().await.remove(1).kid;
    let mut server = TestServer::reopen(server.close(), week).await;
    for day in 0..8 {
        assert_ne!(signing(&server).await, next, "on day {day}");
        server.doorward.tend_keys().await.unwrap();
        let now = server.now() + DAY;
        server = TestServer::reopen_at(now, server.close(), week).await;
    }
    // Verifiers may have the key set of before for an hour.
    server.let_pass(60 * MINUTE);
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&server).await, next);
}

#[tokio::test]
async fn tokens_of_a_retired_key_stay_valid_until_they_expire_even_across_restarts() {
    let server = TestServer::open_with(at_once).await;
    let first = signing(&server).await;
    let ada = server.register("Ada", "ada@example.com").await;
    assert_eq!(server.rotate_keys().await.len(), 2);
    let bob = server.register("Bob", "bob@example.com").await;
    let server = TestServer::reopen(server.close(), at_once).await;
    for _ in 0..2 {
        assert!(is_good(&server, &ada.token).await && is_good(&server, &bob.token).await);
    }
    server.let_pass(DAY - Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert!(is_good(&server, &ada.token).await);
    server.let_pass(MINUTE);
    server.doorward.tend_keys().await.unwrap();
    assert!(server.signing_keys().await.iter().any(|key| key.kid == first));
    server.let_pass(Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert!(!published(&server).await.contains(&first));
    assert!(!is_good(&server, &ada.token).await);
    // It is kept for refreshes of expired tokens, for as long as a session can last.
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Refreshing]);
    server.run_for(32 * DAY - Duration::from_secs(1)).await;
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Refreshing]);
    server.let_pass(Duration::from_secs(1));
    server.doorward.tend_keys().await.unwrap();
    assert!(server.signing_keys().await.iter().all(|key| key.kid != first));
    let server = TestServer::reopen(server.close(), at_once).await;
    assert_eq!(stages(&server).await, [KeyStatus::Signing], "its file is deleted");
    assert!(!is_good(&server, &ada.token).await);
}

/// The ids of the published keys.
async fn published(server: &TestServer) -> Vec<String> {
    let set = server.get("/.well-known/jwks.json").await.json();
    let ids = set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_new_algorithm_applies_to_new_keys_only() {
    let with = |algorithm: Algorithm| {
        let algorithm = algorithm.name();
        move |settings: Settings| at_once(settings).with("token.algorithm", algorithm)
    };
    let mut server = TestServer::open_with(with(Algorithm::Rs256)).await;
    let mut tokens = vec![server.register("Ada", "rs256@example.com").await.token];
    let mut expected = vec!["RS256"];
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        server = TestServer::reopen(server.close(), with(algorithm)).await;
        assert_eq!(algorithms(&server).await, expected);
        server.rotate_keys().await;
        let email = format!("{}@example.com", algorithm.name());
        tokens.push(server.register("Ada", &email).await.token);
        expected.push(algorithm.name());
        expected.sort();
        assert_eq!(algorithms(&server).await, expected);
        for token in &tokens {
            assert!(is_good(&server, token).await);
        }
    }
}

/// The algorithms of the key set, which discovery announces too.
async fn algorithms(server: &TestServer) -> Vec<String> {
    let names = |list: &Value| -> Vec<_> {
        let mut names: Vec<_> =
            list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    };
    let set = server.get("/.well-known/jwks.json").await.json();
    let published = set["keys"].as_array().unwrap().iter().map(|key| key["alg"].clone()).collect();
    let announced = server.get("/.well-known/openid-configuration").await.json();
    let announced = names(&announced["id_token_signing_alg_values_supported"]);
    assert_eq!(announced, names(&published));
    announced
}

/// A file with new keys, the first of which signs.
fn key_file(algorithms: &[Algorithm]) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let keys: Vec<_> =
        algorithms.iter().map(|&algorithm| SigningKey::generate(algorithm)).collect();
    let pem: String = keys.iter().map(|key| key.to_pem().to_string()).collect();
    std::fs::write(folder.path().join("keys.pem"), pem).unwrap();
    (folder, keys.iter().map(|key| key.id().to_string()).collect())
}

#[tokio::test]
async fn keys_in_a_key_file_sign_and_verify_and_are_not_copied() {
    let (file, own) = key_file(&[Algorithm::EdDsa, Algorithm::Es256]);
    let with_file = |settings: Settings| {
        settings.with("token.key_file", file.path().join("keys.pem").display())
    };
    let server = TestServer::open().await;
    let before = signing(&server).await;
    server.rotate_keys().await;
    let ada = server.register("Ada", "ada@example.com").await;

    let server = TestServer::reopen(server.close(), with_file).await;
    let listed = server.signing_keys().await;
    let listed: Vec<_> = listed.iter().map(|key| (key.kid.as_str(), key.stage)).collect();
    let expected = [
        (own[0].as_str(), KeyStatus::Signing),
        (&own[1], KeyStatus::Verifying),
        (&before, KeyStatus::Retired),
    ];
    assert_eq!(listed, expected, "the next key is deleted");
    assert_eq!(algorithms(&server).await, ["ES256", "EdDSA"]);
    let bob = server.register("Bob", "bob@example.com").await;
    assert!(is_good(&server, &ada.token).await && is_good(&server, &bob.token).await);

    let [first, second] = [0, 1].map(|number| format!("{SIGNING_KEYS}/{}", own[number]));
    for (method, path) in [("POST", SIGNING_KEYS), ("DELETE", &first), ("DELETE", &second)] {
        let answer = server.operator(method, path, Value::Null).await;
        assert_eq!(answer.status, 409);
        assert!(answer.body.contains("change that file"), "{}", answer.body);
    }
    assert_eq!(server.signing_keys().await.len(), 3);
    let data = server.close();
    let pem = std::fs::read_to_string(file.path().join("keys.pem")).unwrap();
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        let line = pem.lines().nth(1).unwrap().as_bytes();
        assert!(!bytes.windows(line.len()).any(|window| window == line));
    }

    // The previous key refreshes when its last token has expired, and is deleted when that cannot be refreshed any more.
    let server = TestServer::reopen(data, with_file).await;
    assert_eq!(stages(&server).await.len(), 3);
    server.let_pass(DAY + MINUTE);
    server.doorward.tend_keys().await.unwrap();
    let of_file = [KeyStatus::Signing, KeyStatus::Verifying];
    assert_eq!(stages(&server).await, [&of_file[..], &[KeyStatus::Refreshing]].concat());
    assert_eq!(published(&server).await, own);
    server.let_pass(31 * DAY);
    // An event of yesterday shows that the clock has not jumped.
    server.register("Cy", "cy@example.com").await;
    server.let_pass(DAY + MINUTE);
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&server).await, of_file);
}

#[tokio::test]
async fn a_key_older_than_the_key_file_can_be_revoked() {
    let (file, _) = key_file(&[Algorithm::Es256]);
    let server = TestServer::open().await;
    let before = signing(&server).await;
    let ada = server.register("Ada", "ada@example.com").await;
    let path = file.path().join("keys.pem");
    let server =
        TestServer::reopen(server.close(), |s| s.with("token.key_file", path.display())).await;
    assert!(is_good(&server, &ada.token).await);
    assert_eq!(server.revoke_key(&before).await.len(), 1);
    assert!(!is_good(&server, &ada.token).await);
}

#[tokio::test]
async fn a_key_that_moves_into_the_file_continues_to_sign() {
    let server = TestServer::open().await;
    let kid = signing(&server).await;
    let ada = server.register("Ada", "ada@example.com").await;
    let data = server.close();
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("keys.pem");
    std::fs::copy(data.path().join("signing-key.pem"), &path).unwrap();
    let server = TestServer::reopen(data, |s| s.with("token.key_file", path.display())).await;
    assert_eq!((signing(&server).await, stages(&server).await.len()), (kid.clone(), 1));
    assert!(is_good(&server, &ada.token).await);
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    assert_eq!(signing(&server).await, kid, "and back");
}

#[tokio::test]
async fn rotation_keeps_cached_tokens_cached() {
    let server = TestServer::open_with(at_once).await;
    let ada = server.register("Ada", "ada@example.com").await;
    assert!(is_good(&server, &ada.token).await);
    let before = server.doorward.work_done();
    for _ in 0..50 {
        server.rotate_keys().await;
        assert!(is_good(&server, &ada.token).await);
    }
    assert_eq!(server.doorward.work_done(), before);
}

#[tokio::test]
async fn key_revocation_takes_effect_at_the_next_request_even_for_a_cached_token() {
    let server = TestServer::open_with(at_once).await;
    let first = signing(&server).await;
    let ada = server.register("Ada", "ada@example.com").await;
    server.rotate_keys().await;
    let bob = server.register("Bob", "bob@example.com").await;
    for _ in 0..2 {
        assert!(is_good(&server, &ada.token).await && is_good(&server, &bob.token).await);
    }
    server.revoke_key(&first).await;
    assert!(!is_good(&server, &ada.token).await);
    assert!(is_good(&server, &bob.token).await, "of another key");
    let path = format!("{SIGNING_KEYS}/{first}");
    assert_eq!(server.operator("DELETE", &path, Value::Null).await.status, 404);
    let server = TestServer::reopen(server.close(), at_once).await;
    assert!(!is_good(&server, &ada.token).await);
    assert!(is_good(&server, &bob.token).await);
}

#[tokio::test]
async fn revoking_the_signing_key_makes_another_one_sign_first() {
    for next_is_published in [false, true] {
        let server = TestServer::open().await;
        let ada = server.register("Ada", "ada@example.com").await;
        let mut next = None;
        if next_is_published {
            next = Some(server.rotate_keys().await.remove(1).kid);
        }
        let first = signing(&server).await;
        let after = server.revoke_key(&first).await;
        assert_eq!(stages(&server).await, [KeyStatus::Signing]);
        assert!(next.is_none_or(|next| next == after[0].kid));
        assert!(!is_good(&server, &ada.token).await);
        let again = server.token_of("ada@example.com", "correct horse").await;
        assert!(is_good(&server, &again).await);
        let server = TestServer::reopen(server.close(), |settings| settings).await;
        assert_eq!(signing(&server).await, after[0].kid);
        assert!(is_good(&server, &again).await && !is_good(&server, &ada.token).await);
    }
}

#[tokio::test]
async fn a_next_key_can_be_revoked_and_replaced() {
    let server = TestServer::open().await;
    let next = server.rotate_keys().await.remove(1).kid;
    assert_eq!(server.revoke_key(&next).await.len(), 1);
    assert_ne!(server.rotate_keys().await[1].kid, next);
}

#[tokio::test]
async fn a_rotation_interrupted_by_a_crash_leaves_every_token_valid() {
    let server = TestServer::open_with(at_once).await;
    let first = signing(&server).await;
    let ada = server.register("Ada", "ada@example.com").await;
    let folder = server.close();
    // The old key was kept, and the next one has not replaced it.
    let key = folder.path().join("signing-key.pem");
    std::fs::copy(&key, folder.path().join(format!("retired-1700000000-{first}.pem"))).unwrap();
    let server = TestServer::reopen(folder, at_once).await;
    assert_eq!(stages(&server).await, [KeyStatus::Signing]);
    server.doorward.tend_keys().await.unwrap();
    assert!(is_good(&server, &ada.token).await);
    server.rotate_keys().await;
    server.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&server).await, [KeyStatus::Signing, KeyStatus::Retired]);
    assert!(is_good(&server, &ada.token).await);
}
