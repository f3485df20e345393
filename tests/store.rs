//! One story about users and sessions, told to every store.

use std::{sync::Arc, time::Duration};

use doorward::{
    clock::Timestamp,
    password::PasswordHash,
    session::{Origin, Session, SessionId},
    store::{Error, SqliteStore, Store},
    user::{Email, EmailKey, Name, Role, User, UserId},
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

fn user(name: &str, email: &str) -> User {
    let hash = PasswordHash::from_store(format!("hash of {name}"));
    let (name, email) = (Name::parse(name.into()).unwrap(), Email::parse(email.into()).unwrap());
    User::new(name, email, Some(hash), NOW)
}

fn session(user: &User, lifetime: u64) -> Session {
    Session {
        id: SessionId::random(),
        user_id: user.id,
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(lifetime),
        origin: Origin::new([192, 0, 2, 7].into(), "curl/8 \u{7f}(λ)"),
    }
}

async fn tell(store: &dyn Store) {
    assert!(!store.has_users().await.unwrap());

    // Whoever registers is found by id and by any spelling of their address, to the last character.
    let ada = user("Ada \"λ\" '; DROP TABLE users --", "Ada@Example.com");
    let first = session(&ada, 60);
    store.add_user(&ada, &first).await.unwrap();
    assert!(store.has_users().await.unwrap());
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    let key = EmailKey::of("aDA@eXAMPLE.COM");
    assert_eq!(store.user_by_email(&key).await.unwrap().as_ref(), Some(&ada));
    assert_eq!(
        store.session_with_user(first.id).await.unwrap(),
        Some((first.clone(), ada.clone()))
    );

    // Strangers are not found.
    assert_eq!(store.user_by_id(UserId::random()).await.unwrap(), None);
    assert_eq!(store.user_by_email(&EmailKey::of("x@example.com")).await.unwrap(), None);
    assert_eq!(store.session_with_user(SessionId::random()).await.unwrap(), None);

    // An address is taken once; the loser leaves neither user nor session behind.
    let eve = user("Eve", "ADA@example.com");
    let refused = session(&eve, 60);
    assert!(matches!(store.add_user(&eve, &refused).await, Err(Error::EmailTaken)));
    assert_eq!(store.user_by_id(eve.id).await.unwrap(), None);
    assert_eq!(store.session_with_user(refused.id).await.unwrap(), None);

    // Users are listed by address, page by page.
    let mut bob = user("Bob", "bob@example.com");
    bob.password_hash = None;
    store.add_user(&bob, &session(&bob, 60)).await.unwrap();
    assert_eq!(store.users(None, 10).await.unwrap(), [ada.clone(), bob.clone()]);
    assert_eq!(store.users(None, 1).await.unwrap(), std::slice::from_ref(&ada));
    assert_eq!(store.users(Some(&ada.email.key()), 10).await.unwrap(), [bob.clone()]);

    // A hash is replaced only while it is the one that was replaced.
    let hash = |text: &str| PasswordHash::from_store(text.into());
    let old = ada.password_hash.clone().unwrap();
    store.replace_password_hash(ada.id, &hash("another"), &hash("new")).await.unwrap();
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap().password_hash, Some(old.clone()));
    store.replace_password_hash(ada.id, &old, &hash("new")).await.unwrap();
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap().password_hash, Some(hash("new")));

    // Roles are granted and revoked once, and each time the record changes.
    let role = |text| Role::parse(text).unwrap();
    let later = NOW + Duration::from_secs(5);
    let before = store.changes().stamp(ada.id);
    assert!(store.grant_role(ada.id, &role("staff"), later).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.grant_role(ada.id, &role("staff"), NOW).await.unwrap());
    assert!(store.grant_role(ada.id, &role("admin"), later).await.unwrap());
    assert!(!store.revoke_role(ada.id, &role("boss"), NOW).await.unwrap());
    let promoted = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert_eq!((promoted.roles.to_text().as_str(), promoted.updated_at), ("admin staff", later));
    assert!(store.revoke_role(ada.id, &role("admin"), later).await.unwrap());
    assert!(!store.grant_role(UserId::random(), &role("staff"), NOW).await.unwrap());

    // Sessions end together, are swept when their time is up, and every end is marked as a change.
    let second = session(&ada, 3600);
    assert!(store.add_session(&second).await.unwrap());
    let (_, owner) = store.session_with_user(second.id).await.unwrap().unwrap();
    assert_eq!(owner.last_login_at, Some(second.created_at));
    assert_eq!(store.sweep_sessions(NOW + Duration::from_secs(59), 10).await.unwrap(), 0);
    assert_eq!(store.sweep_sessions(NOW + Duration::from_secs(60), 1).await.unwrap(), 1);
    assert_eq!(store.sweep_sessions(NOW + Duration::from_secs(60), 10).await.unwrap(), 1);
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
    let before = store.changes().stamp(ada.id);
    assert!(store.changes().is_current(before));
    assert_eq!(store.end_sessions(ada.id).await.unwrap(), 1);
    assert!(!store.changes().is_current(before));
    assert_eq!(store.session_with_user(second.id).await.unwrap(), None);

    // A user goes with everything that is theirs, once, and no session can be added for them any more.
    let last = session(&ada, 60);
    assert!(store.add_session(&last).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.delete_user(ada.id).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.delete_user(ada.id).await.unwrap());
    assert_eq!(store.session_with_user(last.id).await.unwrap(), None);
    assert!(!store.add_session(&session(&ada, 60)).await.unwrap());
    assert_eq!(store.users(None, 10).await.unwrap(), [bob]);

    // The freed address is anybody's.
    let again = user("Ada again", "ada@example.com");
    store.add_user(&again, &session(&again, 60)).await.unwrap();
}

#[tokio::test]
async fn the_story_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doorward.db");
    tell(&SqliteStore::open(&file).unwrap()).await;
    let reopened = SqliteStore::open(&file).unwrap();
    assert_eq!(reopened.users(None, 10).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_registrations_of_one_address_exactly_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("doorward.db")).unwrap());
    for round in 0..20 {
        let racing: Vec<_> = (0..50)
            .map(|_| {
                let store = Arc::clone(&store);
                let user = user("Somebody", &format!("round{round}@example.com"));
                tokio::spawn(async move { store.add_user(&user, &session(&user, 60)).await })
            })
            .collect();
        let mut added = 0;
        for outcome in racing {
            match outcome.await.unwrap() {
                Ok(()) => added += 1,
                Err(Error::EmailTaken) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(added, 1);
    }
}
