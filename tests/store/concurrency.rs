//! Many operations at the same moment, and changes made by other processes.

use std::{iter, sync::Arc, time::Duration};

use doorward::internals::{
    session::{SessionId, TokenId},
    store::{Effects, Error, Stamp, Store},
    user::{Role, User, UserId},
};
use futures_util::future::{join, join_all};

use crate::{
    NOW, open_postgres,
    operations::{renewed_session, reused, run_all, wait_until_listed},
    postgres, postgres_store, session, user,
};

#[tokio::test(flavor = "multi_thread")]
async fn reuse_ends_a_session_once_under_contention() {
    let folder = tempfile::tempdir().unwrap();
    reuse_at_once(Arc::new(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()))
        .await;
    if let Some(store) = postgres_store().await {
        reuse_at_once(Arc::new(store)).await;
    }
}

async fn reuse_at_once(store: Arc<Store>) {
    let ada = user("Ada", "ada@example.com");
    store.add_user(&ada, &Effects::NONE).await.unwrap();
    for round in 0..20 {
        let (first, second) = renewed_session(&store, &ada).await;
        let mut third = second.clone();
        third.token_id = TokenId::random();
        let reusing: Vec<_> = (0..3)
            .map(|_| {
                let (store, reused) = (Arc::clone(&store), reused(&first));
                tokio::spawn(async move {
                    store.end_reused_session(&reused, NOW, NOW, &Effects::NONE).await
                })
            })
            .collect();
        let (beside, token_id) = (Arc::clone(&store), third.token_id);
        let (renewing, id) = (round % 2 == 0, second.id);
        let current = second.clone();
        let beside = tokio::spawn(async move {
            if renewing {
                beside.renew_session(&current, token_id, NOW).await
            } else {
                beside.end_session(current.user_id, id, NOW, &Effects::NONE).await
            }
        });
        let mut ended = 0;
        for outcome in reusing {
            ended += usize::from(outcome.await.unwrap().unwrap());
        }
        let beside = beside.await.unwrap().unwrap();
        // A renewal does not keep the session; a logout may have come first.
        assert_eq!(ended, if renewing { 1 } else { usize::from(!beside) });
        assert_eq!(store.session_with_user(id).await.unwrap(), None);
        wait_until_listed(
            &store,
            if renewing && beside { vec![&second, &third] } else { vec![&second] },
        )
        .await;
    }
}

/// Distributed engines answer the second of two conflicting transactions with a serialization failure.
#[tokio::test(flavor = "multi_thread")]
async fn serialization_failures_are_retried() {
    let Some(url) = postgres::fresh_database() else { return };
    let (operator, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = url.rsplit('/').next().unwrap();
    let strict =
        format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'");
    operator.batch_execute(&strict).await.unwrap();
    run_all(&open_postgres(&url).await).await;

    let store = Arc::new(open_postgres(&url).await);
    let busy = user("Busy", "busy@example.com");
    store.add_user(&busy, &Effects::NONE).await.unwrap();
    assert!(conflicts(&url).await, "conflicting transactions do not fail");
    let granting: Vec<_> = (0..24)
        .map(|number| {
            let (store, id) = (Arc::clone(&store), busy.id);
            let role = Role::parse(&format!("role{number}")).unwrap();
            tokio::spawn(async move { store.grant_role(id, &role, NOW, &Effects::NONE).await })
        })
        .collect();
    for granted in granting {
        assert!(granted.await.unwrap().unwrap());
    }
    let roles = store.user_by_id(busy.id).await.unwrap().unwrap().roles;
    assert_eq!(roles.to_text().split(' ').count(), 24);
}

/// Whether the second of two transactions on one row fails.
async fn conflicts(url: &str) -> bool {
    let connect = async || {
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("BEGIN; SELECT 1 FROM users").await.unwrap();
        client
    };
    let (first, second) = (connect().await, connect().await);
    first.batch_execute("UPDATE users SET name = name; COMMIT").await.unwrap();
    let turned_away = second.batch_execute("SELECT 1 FROM users FOR UPDATE").await.unwrap_err();
    turned_away.code().is_some_and(|code| code.code() == "40001")
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_registrations_of_one_address_exactly_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    register_at_once(Arc::new(
        Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap(),
    ))
    .await;
    if let Some(store) = postgres_store().await {
        register_at_once(Arc::new(store)).await;
    }
}

async fn register_at_once(store: Arc<Store>) {
    for round in 0..20 {
        let racing: Vec<_> = (0..50)
            .map(|_| {
                let store = Arc::clone(&store);
                let user = user("Somebody", &format!("round{round}@example.com"));
                tokio::spawn(async move {
                    store.add_user_with_session(&user, &session(&user, 60), &Effects::NONE).await
                })
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

#[tokio::test]
async fn concurrent_reads_return_their_own_rows() {
    let folder = tempfile::tempdir().unwrap();
    read_at_once(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
    if let Some(store) = postgres_store().await {
        read_at_once(&store).await;
    }
}

async fn read_at_once(store: &Store) {
    let users: Vec<_> =
        (0..40).map(|number| user("Ada", &format!("user{number}@example.com"))).collect();
    let sessions: Vec<_> = users.iter().map(|user| session(user, 60)).collect();
    for (user, session) in users.iter().zip(&sessions) {
        store.add_user_with_session(user, session, &Effects::NONE).await.unwrap();
    }
    let (unknown_user, none) = (UserId::random(), SessionId::random());
    // Every user three times, with unknown ids in between.
    let all = users.iter().zip(&sessions).cycle().take(120);
    join_all(all.map(async |(user, session)| {
        let (found, not_found) =
            join(store.user_by_id(user.id), store.user_by_id(unknown_user)).await;
        assert_eq!((found.unwrap().as_ref(), not_found.unwrap()), (Some(user), None));
        let both = join(store.session_with_user(session.id), store.session_with_user(none)).await;
        let (known, unknown) = (both.0.unwrap(), both.1.unwrap());
        assert_eq!((known, unknown), (Some((session.clone(), user.clone())), None));
    }))
    .await;
}

#[tokio::test]
async fn own_changes_are_not_reported_back() {
    let Some(url) = postgres::fresh_database() else { return };
    let (here, elsewhere) = (open_postgres(&url).await, open_postgres(&url).await);
    let ada = user("Ada", "ada@example.com");
    // A user whose changes are counted in another slot.
    let stamp = |user: &User| here.changes().stamp(user.id);
    let mut bobs = iter::repeat_with(|| user("Bob", "bob@example.com"));
    let bob = bobs.find(|bob| stamp(bob) != stamp(&ada)).unwrap();
    here.add_user(&ada, &Effects::NONE).await.unwrap();
    let of_bob = stamp(&bob);
    elsewhere.add_user(&bob, &Effects::NONE).await.unwrap();
    until_it_has_changed(&here, of_bob).await;
    for number in 0..5 {
        let before = stamp(&ada);
        let role = Role::parse(&format!("role{number}")).unwrap();
        assert!(here.grant_role(ada.id, &role, NOW, &Effects::NONE).await.unwrap());
        assert!(!here.changes().is_current(before), "it has changed");
        let (of_ada, of_bob) = (stamp(&ada), stamp(&bob));
        assert!(elsewhere.grant_role(bob.id, &role, NOW, &Effects::NONE).await.unwrap());
        until_it_has_changed(&here, of_bob).await;
        assert!(here.changes().is_current(of_ada), "and not again when the notification arrives");
    }
}

async fn until_it_has_changed(store: &Store, since: Stamp) {
    let changed = async {
        while store.changes().is_current(since) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), changed).await.expect("a change is received");
}
