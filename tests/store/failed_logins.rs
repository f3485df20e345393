//! Failed logins by account, and the networks that a user is known from.

use std::time::{Duration, Instant};

use doorward::internals::{
    clock::Timestamp,
    network::ClientInfo,
    store::{Effects, Store},
    throttle::{AccountChange, AccountKey},
    user::EmailKey,
};

use crate::{NOW, open_postgres, postgres, session, user};

/// How long the database reports a failure to other instances.
const RECENT: Duration = Duration::from_secs(10);

/// Failed logins that still count at this time, as days until the account has recovered.
async fn days(store: &Store, account: AccountKey, now: Timestamp) -> i64 {
    let stored = store.all_failures().await.unwrap();
    let found = stored.iter().find(|stored| stored.account == account && !stored.is_unlock);
    let millis = found.map_or(0, |found| found.recovered_at.millis() - now.millis());
    assert_eq!(millis % 86_400_000, 0, "{millis}");
    millis.max(0) / 86_400_000
}

async fn failed_logins_and_networks(store: &Store) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    assert_eq!(store.account_secret().await.unwrap(), store.account_secret().await.unwrap());
    let account = |number: u8| AccountKey::from_store(&[number; 16]).unwrap();
    let change =
        |number, cleared, failures| AccountChange { account: account(number), cleared, failures };
    let save = async |now, changes: &[AccountChange]| {
        store.save_failures(changes, DAY, now).await.unwrap();
    };

    // Each failure adds one recovery time, starting now if the account had recovered.
    save(NOW, &[change(1, false, 3), change(2, false, 1)]).await;
    save(NOW + DAY, &[change(1, false, 2)]).await;
    assert_eq!(days(store, account(1), NOW).await, 5);
    save(NOW + DAY * 4, &[change(2, false, 2)]).await;
    assert_eq!(days(store, account(2), NOW + DAY * 4).await, 2);

    // A success clears the failures before it, and none after it.
    save(NOW + DAY, &[change(1, true, 0), change(2, true, 4), change(3, true, 0)]).await;
    for (number, left) in [(1, 0), (2, 4), (3, 0)] {
        assert_eq!(days(store, account(number), NOW + DAY).await, left, "{number}");
    }

    // An operator clears all failures, also of an account that has none.
    let ada = user("Ada", "failing@example.com");
    let unlock = async |number, codes: &[AccountKey]| {
        let logins = account(number);
        store.unlock_account(ada.id, logins, codes, NOW, &Effects::NONE).await.unwrap()
    };
    save(NOW, &[change(4, false, 3), change(6, false, 2)]).await;
    assert!(!unlock(4, &[account(6)]).await, "there is no such user");
    assert_eq!(days(store, account(4), NOW).await, 3);
    store.add_user_with_session(&ada, &session(&ada, 60), &Effects::NONE).await.unwrap();
    for number in [4, 5] {
        assert!(unlock(number, &[account(6)]).await);
        assert_eq!(days(store, account(number), NOW).await, 0, "{number}");
    }
    assert_eq!(days(store, account(6), NOW).await, 0);
    save(NOW, &[change(4, false, 1)]).await;
    assert_eq!(days(store, account(4), NOW).await, 1);
    assert!(unlock(4, &[]).await);

    // A user's networks are known from the first sign-in. An unknown address has none.
    let known = async |email: &str| {
        let known = store.known_networks(&EmailKey::of(email)).await.unwrap();
        known.iter().map(|(network, at)| (network.to_string(), at)).collect::<Vec<_>>()
    };
    assert_eq!(known("Failing@example.com").await, [("192.0.2.7".to_owned(), NOW)]);
    assert_eq!(known("nobody@example.com").await, []);
    assert_eq!(known("nobody\0@example.com").await, []);
    let mut elsewhere = session(&ada, 60);
    elsewhere.client = ClientInfo::new("2001:db8::7".parse().unwrap(), "");
    assert!(store.add_session(&ada, &elsewhere, &Effects::NONE).await.unwrap());
    assert!(store.add_session(&ada, &session(&ada, 60), &Effects::NONE).await.unwrap());
    let both = [("2001:db8::".to_owned(), NOW), ("192.0.2.7".to_owned(), NOW)];
    assert_eq!(known("failing@example.com").await, both);
    let mut later = session(&ada, 60);
    later.created_at = NOW + DAY;
    assert!(store.add_session(&ada, &later, &Effects::NONE).await.unwrap());
    assert_eq!(known("failing@example.com").await[0], ("192.0.2.7".to_owned(), NOW + DAY));
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(known("failing@example.com").await, []);
}

#[tokio::test]
async fn failed_logins_and_known_networks_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    failed_logins_and_networks(&store).await;
    let five_days = NOW + Duration::from_secs(5 * 24 * 60 * 60);
    // The accounts 1, 2, 4 and 6, and the marks of 4 and 5.
    assert_eq!(store.delete_failures(NOW - RECENT, 10).await.unwrap(), 0);
    assert_eq!(store.delete_failures(five_days, 5).await.unwrap(), 5);
    assert_eq!(store.delete_failures(five_days, 4).await.unwrap(), 1);
    assert_eq!(store.all_failures().await.unwrap(), []);
}

#[tokio::test]
async fn failed_logins_and_known_networks_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let (here, there) = (open_postgres(&url).await, open_postgres(&url).await);
    failed_logins_and_networks(&here).await;
    assert_eq!(there.account_secret().await.unwrap(), here.account_secret().await.unwrap());
    assert_eq!(there.all_failures().await.unwrap(), here.all_failures().await.unwrap());
    let account = AccountKey::from_store(&[9; 16]).unwrap();
    let change = AccountChange { account, cleared: false, failures: 1 };
    loop {
        let saved = Instant::now();
        there.save_failures(&[change], Duration::from_secs(60), NOW).await.unwrap();
        let failures = here.recent_failures().await.unwrap();
        if failures.iter().any(|failure| failure.account == account) {
            break;
        }
        assert!(saved.elapsed() > RECENT, "not received: {failures:?}");
    }
    // A failure from before that is saved late does not hide the mark.
    let bob = user("Bob", "bob@example.com");
    there.add_user(&bob, &Effects::NONE).await.unwrap();
    assert!(there.unlock_account(bob.id, account, &[], NOW, &Effects::NONE).await.unwrap());
    there.save_failures(&[change], Duration::from_secs(60), NOW).await.unwrap();
    let stored = here.all_failures().await.unwrap();
    let marks = stored.iter().filter(|failures| failures.account == account && failures.is_unlock);
    assert_eq!(marks.map(|mark| mark.recovered_at).collect::<Vec<_>>(), [NOW]);
    // A recent failure is kept, so that other instances can read it.
    assert_eq!(here.delete_failures(NOW + Duration::from_secs(100), 10).await.unwrap(), 0);
}
