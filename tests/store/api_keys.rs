//! API keys on every store: found, listed, revoked, expired.

use std::time::Duration;

use doorward::internals::{
    clock::Timestamp,
    credential::api_key::{KeyDigest, KeyKind, KeyText},
    credential::password::PasswordHash,
    store::{AddKey, Effects, PasswordCondition, Store},
    user::{ApiKey, ApiKeyId, UserId},
};

use crate::{NOW, postgres_store, user};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub fn api_key(owner: Option<UserId>) -> (ApiKey, KeyDigest) {
    let kind = if owner.is_some() { KeyKind::Personal } else { KeyKind::Machine };
    let key = ApiKey {
        id: ApiKeyId::random(),
        owner,
        name: "ci of the λ".into(),
        scopes: ["guard:wiki", "users:read"].map(str::to_owned).into_iter().collect(),
        condition: owner.map(|_| "request.method == \"GET\"".into()),
        two_factors: owner.is_some(),
        created_at: NOW,
        expires_at: NOW + 90 * DAY,
        last_used_at: None,
        revoked_at: None,
    };
    (key, KeyText::random(kind).digest())
}

async fn run_all(store: &Store) {
    let (ada, bob) = (user("Ada", "ada@example.com"), user("Bob", "bob@example.com"));
    for user in [&ada, &bob] {
        store.add_user(user, &Effects::NONE).await.unwrap();
    }
    let (machine, machine_digest) = api_key(None);
    let (personal, digest) = api_key(Some(ada.id));
    let (other, other_digest) = api_key(Some(bob.id));
    let personal = ApiKey { created_at: NOW + DAY, ..personal };
    let other = ApiKey { created_at: NOW + 2 * DAY, ..other };
    store.add_machine_key(&machine, &machine_digest, &Effects::NONE).await.unwrap();
    let added = store.add_personal_key(&ada, &personal, &digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);
    let added = store.add_personal_key(&bob, &other, &other_digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);
    let find = async |digest| store.api_key_by_digest(digest).await.unwrap();
    assert_eq!(find(&machine_digest).await, Some((machine.clone(), None)));
    assert_eq!(find(&digest).await, Some((personal.clone(), Some(ada.clone()))));
    let (_, unknown) = api_key(None);
    assert_eq!(find(&unknown).await, None);
    assert_eq!(store.api_key_by_id(machine.id).await.unwrap(), Some(machine.clone()));

    let all = [other.clone(), personal.clone(), machine.clone()];
    assert_eq!(store.api_keys(None, 10).await.unwrap(), all);
    assert_eq!(store.api_keys(None, 2).await.unwrap(), all[..2]);
    assert_eq!(store.api_keys(Some(&personal), 10).await.unwrap(), all[2..]);
    assert_eq!(store.api_keys_by_user(ada.id, NOW).await.unwrap(), all[1..2]);

    let used = NOW + DAY;
    store.set_keys_last_used(&[(personal.id, used), (machine.id, used)]).await.unwrap();
    assert_eq!(find(&digest).await.unwrap().0.last_used_at, Some(used));

    let later = NOW + 3 * DAY;
    assert!(store.revoke_api_key(&personal, later, &Effects::NONE).await.unwrap());
    assert!(!store.revoke_api_key(&personal, later, &Effects::NONE).await.unwrap());
    for owner in [None, Some(ada.id), Some(UserId::random())] {
        let (unknown, _) = api_key(owner);
        assert!(!store.revoke_api_key(&unknown, later, &Effects::NONE).await.unwrap());
    }
    let (revoked, _) = find(&digest).await.unwrap();
    assert_eq!((revoked.revoked_at, revoked.expires_at), (Some(later), later));

    // Whoever has another password since they signed in has to sign in again.
    let hash = PasswordHash::from_store("another".into());
    let condition = PasswordCondition::Unconditional;
    assert!(store.set_password(bob.id, condition, &hash, None, NOW, &Effects::NONE).await.unwrap());
    let (late, late_digest) = api_key(Some(bob.id));
    let added = store.add_personal_key(&bob, &late, &late_digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::UserChanged);
    assert_eq!(find(&late_digest).await, None);

    // Kept for a month after they have ended.
    let clean = async |now: Timestamp| store.delete_expired(now, 100).await.unwrap();
    clean(later + 30 * DAY - Duration::from_millis(1)).await;
    assert!(find(&digest).await.is_some());
    clean(later + 30 * DAY).await;
    assert!(find(&digest).await.is_none());
    assert!(find(&machine_digest).await.is_some());
    assert!(!store.revoke_api_key(&machine, NOW + 90 * DAY, &Effects::NONE).await.unwrap());
    clean(NOW + 120 * DAY).await;
    assert_eq!(store.api_keys(None, 10).await.unwrap(), []);
}

#[tokio::test]
async fn api_keys_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    run_all(&store).await;
}

#[tokio::test]
async fn api_keys_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}
