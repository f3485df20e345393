//! Rotation, retirement and revocation of keys, as holders of tokens see it.

use std::time::Duration;

use doorward::{
    Settings,
    internals::{
        control::{Command, KeyInfo, Reply},
        token::{Algorithm, SigningKey, signing_keys::KeyStatus},
    },
};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{House, REFUSED};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn at_once(settings: Settings) -> Settings {
    settings.with("token.publish_before_signing", "0s")
}

async fn keys(house: &House, command: Command) -> Vec<KeyInfo> {
    match house.command(command).await {
        Reply::Keys(keys) => keys,
        other => panic!("{other:?}"),
    }
}

async fn stages(house: &House) -> Vec<KeyStatus> {
    keys(house, Command::ListKeys).await.iter().map(|key| key.stage).collect()
}

/// The key that signs.
async fn signing(house: &House) -> String {
    keys(house, Command::ListKeys).await.remove(0).kid
}

async fn is_good(house: &House, token: &str) -> bool {
    let answer = house.guard("guard", token).await;
    if answer.status == 200 {
        return true;
    }
    assert_eq!(answer.told(), REFUSED);
    false
}

#[tokio::test]
async fn a_new_key_is_published_before_it_signs() {
    let house = House::open().await;
    let first = signing(&house).await;
    assert_eq!(stages(&house).await, [KeyStatus::Signing]);
    let after = keys(&house, Command::RotateKeys).await;
    assert_eq!(
        (&after[0].kid, after[0].stage, after[1].stage),
        (&first, KeyStatus::Signing, KeyStatus::Next)
    );
    assert_eq!(after[1].until.as_deref(), Some("2027-01-15T08:01:00.000Z"));

    let again = keys(&house, Command::RotateKeys).await;
    assert_eq!(again.len(), 2, "one next key is enough");

    house.let_pass(MINUTE - Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&house).await, first);
    house.let_pass(Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&house).await, after[1].kid);
    assert_eq!(stages(&house).await, [KeyStatus::Signing, KeyStatus::Retired]);
}

#[tokio::test]
async fn a_key_that_was_not_published_for_long_enough_waits_again_after_a_restart() {
    let house = House::open().await;
    let next = keys(&house, Command::RotateKeys).await.remove(1).kid;
    let house = House::reopen(house.close(), |settings| settings).await;
    house.let_pass(MINUTE - Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&house).await, [KeyStatus::Signing, KeyStatus::Next]);
    house.let_pass(Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(signing(&house).await, next);
}

#[tokio::test]
async fn tokens_of_a_retired_key_stay_valid_until_they_expire_even_across_restarts() {
    let house = House::open_with(at_once).await;
    let first = signing(&house).await;
    let ada = house.register("Ada", "ada@example.com").await;
    assert_eq!(keys(&house, Command::RotateKeys).await.len(), 2);
    let bob = house.register("Bob", "bob@example.com").await;
    let house = House::reopen(house.close(), at_once).await;
    for _ in 0..2 {
        assert!(is_good(&house, &ada.token).await && is_good(&house, &bob.token).await);
    }
    house.let_pass(DAY - Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert!(is_good(&house, &ada.token).await);
    house.let_pass(MINUTE);
    house.doorward.tend_keys().await.unwrap();
    assert!(keys(&house, Command::ListKeys).await.iter().any(|key| key.kid == first));
    house.let_pass(Duration::from_secs(1));
    house.doorward.tend_keys().await.unwrap();
    assert!(keys(&house, Command::ListKeys).await.iter().all(|key| key.kid != first));
    assert!(!is_good(&house, &ada.token).await);
    let house = House::reopen(house.close(), at_once).await;
    assert_eq!(stages(&house).await, [KeyStatus::Signing], "its file is gone");
    assert!(!is_good(&house, &ada.token).await);
}

#[tokio::test]
async fn a_new_algorithm_applies_to_new_keys_only() {
    let with = |algorithm: Algorithm| {
        let algorithm = algorithm.name();
        move |settings: Settings| at_once(settings).with("token.algorithm", algorithm)
    };
    let mut house = House::open_with(with(Algorithm::Rs256)).await;
    let mut tokens = vec![house.register("Ada", "rs256@example.com").await.token];
    let mut told = vec!["RS256"];
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        house = House::reopen(house.close(), with(algorithm)).await;
        assert_eq!(algorithms(&house).await, told);
        keys(&house, Command::RotateKeys).await;
        let email = format!("{}@example.com", algorithm.name());
        tokens.push(house.register("Ada", &email).await.token);
        told.push(algorithm.name());
        told.sort();
        assert_eq!(algorithms(&house).await, told);
        for token in &tokens {
            assert!(is_good(&house, token).await);
        }
    }
}

/// What is in the key set, and what discovery says is in it.
async fn algorithms(house: &House) -> Vec<String> {
    let names = |list: &Value| -> Vec<_> {
        let mut names: Vec<_> =
            list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    };
    let set = house.get("/.well-known/jwks.json").await.json();
    let published = set["keys"].as_array().unwrap().iter().map(|key| key["alg"].clone()).collect();
    let told = house.get("/.well-known/openid-configuration").await.json();
    let told = names(&told["id_token_signing_alg_values_supported"]);
    assert_eq!(told, names(&published));
    told
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
    let with_file = |settings: Settings| settings.with_key_file(file.path().join("keys.pem"));
    let house = House::open().await;
    let before = signing(&house).await;
    keys(&house, Command::RotateKeys).await;
    let ada = house.register("Ada", "ada@example.com").await;

    let house = House::reopen(house.close(), with_file).await;
    let listed = keys(&house, Command::ListKeys).await;
    let listed: Vec<_> = listed.iter().map(|key| (key.kid.as_str(), key.stage)).collect();
    let expected = [
        (own[0].as_str(), KeyStatus::Signing),
        (&own[1], KeyStatus::Verifying),
        (&before, KeyStatus::Retired),
    ];
    assert_eq!(listed, expected, "the next key is gone");
    assert_eq!(algorithms(&house).await, ["ES256", "EdDSA"]);
    let bob = house.register("Bob", "bob@example.com").await;
    assert!(is_good(&house, &ada.token).await && is_good(&house, &bob.token).await);

    for command in [
        Command::RotateKeys,
        Command::RevokeKey(own[0].clone()),
        Command::RevokeKey(own[1].clone()),
    ] {
        match house.command(command).await {
            Reply::Failed(cause) => assert!(cause.contains("change that file"), "{cause}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(keys(&house, Command::ListKeys).await.len(), 3);
    let data = house.close();
    let pem = std::fs::read_to_string(file.path().join("keys.pem")).unwrap();
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        let line = pem.lines().nth(1).unwrap().as_bytes();
        assert!(!bytes.windows(line.len()).any(|window| window == line));
    }

    // The previous key is deleted when its last token has expired.
    let house = House::reopen(data, with_file).await;
    assert_eq!(stages(&house).await.len(), 3);
    house.let_pass(DAY + MINUTE);
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&house).await, [KeyStatus::Signing, KeyStatus::Verifying]);
}

#[tokio::test]
async fn a_key_older_than_the_key_file_can_be_revoked() {
    let (file, _) = key_file(&[Algorithm::Es256]);
    let house = House::open().await;
    let before = signing(&house).await;
    let ada = house.register("Ada", "ada@example.com").await;
    let path = file.path().join("keys.pem");
    let house = House::reopen(house.close(), |s| s.with_key_file(path)).await;
    assert!(is_good(&house, &ada.token).await);
    assert_eq!(keys(&house, Command::RevokeKey(before)).await.len(), 1);
    assert!(!is_good(&house, &ada.token).await);
}

#[tokio::test]
async fn a_key_that_moves_into_the_file_goes_on_signing() {
    let house = House::open().await;
    let kid = signing(&house).await;
    let ada = house.register("Ada", "ada@example.com").await;
    let data = house.close();
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("keys.pem");
    std::fs::copy(data.path().join("signing-key.pem"), &path).unwrap();
    let house = House::reopen(data, |s| s.with_key_file(path)).await;
    assert_eq!((signing(&house).await, stages(&house).await.len()), (kid.clone(), 1));
    assert!(is_good(&house, &ada.token).await);
    let house = House::reopen(house.close(), |settings| settings).await;
    assert_eq!(signing(&house).await, kid, "and back");
}

#[tokio::test]
async fn rotation_keeps_cached_tokens_cached() {
    let house = House::open_with(at_once).await;
    let ada = house.register("Ada", "ada@example.com").await;
    assert!(is_good(&house, &ada.token).await);
    let before = house.doorward.work_done();
    for _ in 0..50 {
        keys(&house, Command::RotateKeys).await;
        assert!(is_good(&house, &ada.token).await);
    }
    assert_eq!(house.doorward.work_done(), before);
}

#[tokio::test]
async fn key_revocation_takes_effect_at_the_next_request_even_for_a_cached_token() {
    let house = House::open_with(at_once).await;
    let first = signing(&house).await;
    let ada = house.register("Ada", "ada@example.com").await;
    keys(&house, Command::RotateKeys).await;
    let bob = house.register("Bob", "bob@example.com").await;
    for _ in 0..2 {
        assert!(is_good(&house, &ada.token).await && is_good(&house, &bob.token).await);
    }
    keys(&house, Command::RevokeKey(first.clone())).await;
    assert!(!is_good(&house, &ada.token).await);
    assert!(is_good(&house, &bob.token).await, "of another key");
    assert!(matches!(house.command(Command::RevokeKey(first)).await, Reply::NoSuchKey));
    let house = House::reopen(house.close(), at_once).await;
    assert!(!is_good(&house, &ada.token).await);
    assert!(is_good(&house, &bob.token).await);
}

#[tokio::test]
async fn revoking_the_key_that_signs_has_another_one_sign_first() {
    for next_is_published in [false, true] {
        let house = House::open().await;
        let ada = house.register("Ada", "ada@example.com").await;
        let mut next = None;
        if next_is_published {
            next = Some(keys(&house, Command::RotateKeys).await.remove(1).kid);
        }
        let first = signing(&house).await;
        let after = keys(&house, Command::RevokeKey(first)).await;
        assert_eq!(stages(&house).await, [KeyStatus::Signing]);
        assert!(next.is_none_or(|next| next == after[0].kid));
        assert!(!is_good(&house, &ada.token).await);
        let again = house.token_of("ada@example.com", "correct horse").await;
        assert!(is_good(&house, &again).await);
        let house = House::reopen(house.close(), |settings| settings).await;
        assert_eq!(signing(&house).await, after[0].kid);
        assert!(is_good(&house, &again).await && !is_good(&house, &ada.token).await);
    }
}

#[tokio::test]
async fn a_next_key_can_be_revoked_and_replaced() {
    let house = House::open().await;
    let next = keys(&house, Command::RotateKeys).await.remove(1).kid;
    assert_eq!(keys(&house, Command::RevokeKey(next.clone())).await.len(), 1);
    assert_ne!(keys(&house, Command::RotateKeys).await[1].kid, next);
}

#[tokio::test]
async fn a_rotation_interrupted_by_a_crash_leaves_every_token_valid() {
    let house = House::open_with(at_once).await;
    let first = signing(&house).await;
    let ada = house.register("Ada", "ada@example.com").await;
    let folder = house.close();
    // The old key was kept, and the next one has not replaced it.
    let key = folder.path().join("signing-key.pem");
    std::fs::copy(&key, folder.path().join(format!("retired-1700000000-{first}.pem"))).unwrap();
    let house = House::reopen(folder, at_once).await;
    assert_eq!(stages(&house).await, [KeyStatus::Signing]);
    house.doorward.tend_keys().await.unwrap();
    assert!(is_good(&house, &ada.token).await);
    keys(&house, Command::RotateKeys).await;
    house.doorward.tend_keys().await.unwrap();
    assert_eq!(stages(&house).await, [KeyStatus::Signing, KeyStatus::Retired]);
    assert!(is_good(&house, &ada.token).await);
}
