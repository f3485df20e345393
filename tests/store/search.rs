//! The terms by which users are searched.

use std::{collections::BTreeSet, time::Duration};

use doorward::internals::{
    store::{Effects, ImportedWays, OneTimeUse, Store},
    token::one_time::{OneTime, Purpose},
    user::{Email, Name, Role},
};

use crate::{NOW, edit, one_time_secrets::one_time, postgres_store, user};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The places in the index.
async fn indexed(store: &Store) -> BTreeSet<String> {
    let (mut found, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = store.users_by_term(&after, "\u{10ffff}", 3).await.unwrap();
        let Some((last, _)) = page.last() else { return found };
        after.clone_from(last);
        for (place, user) in page {
            assert!(place.ends_with(&format!(" {}", user.email.key().as_str())), "{place}");
            assert!(found.insert(place));
        }
    }
}

/// The places of the terms that the users have.
async fn expected(store: &Store) -> BTreeSet<String> {
    let users = store.users(None, 1000).await.unwrap();
    let places = |user: doorward::User| {
        let terms = user.search_terms().into_iter();
        terms.map(move |term| format!("{term} {}", user.email.key().as_str()))
    };
    users.into_iter().flat_map(places).collect()
}

async fn terms_follow_the_users(store: &Store) {
    let (none, role) = (&Effects::NONE, Role::parse("staff").unwrap());
    let must_agree = async |what: &str| {
        let (indexed, expected) = (indexed(store).await, expected(store).await);
        assert_eq!(indexed, expected, "after {what}");
    };
    let many_words = "One Two Three Four Five Six Seven Eight Nine";
    let (ada, bob) =
        (user("Ada Lovelace", "ada@example.com"), user(many_words, "b.o-b@mail.example"));
    store.add_user(&ada, none).await.unwrap();
    must_agree("a registration").await;
    // One of the two is there already.
    let imported = vec![bob.clone(), user("Somebody else", "ada@example.com")];
    assert_eq!(
        store.import_users(imported, ImportedWays::default(), Vec::new(), NOW, none).await.unwrap(),
        [true, false]
    );
    assert!(indexed(store).await.contains("nine b.o-b@mail.example"));

    store.grant_role(bob.id, &role, NOW, none).await.unwrap();
    must_agree("a grant").await;
    edit(store, bob.id, NOW, |user| user.disabled = true, none).await.unwrap();
    must_agree("disabling").await;
    edit(store, bob.id, NOW, |user| user.disabled = false, none).await.unwrap();
    store.revoke_role(bob.id, &role, NOW, none).await.unwrap();
    must_agree("a revocation").await;

    let (name, email) =
        (Name::parse("Augusta".into()).unwrap(), Email::parse("king@example.com".into()).unwrap());
    store.change_user(ada.id, Some(&name), Some(&email), NOW, none).await.unwrap();
    must_agree("a change").await;
    let read = store.user_by_id(ada.id).await.unwrap().unwrap();
    let mut edited = read.clone();
    (edited.name, edited.disabled) = (ada.name.clone(), true);
    store.edit_user(&read, &edited, none).await.unwrap();
    must_agree("an edit").await;
    let email = Email::parse("bob@example.com".into()).unwrap();
    let secret = OneTime { email, ..one_time(&bob, Purpose::ChangeEmail) };
    let effects = Effects { secrets: vec![secret.clone()], ..Effects::NONE };
    store.replace_one_time(bob.id, Purpose::ChangeEmail, &effects).await.unwrap();
    let used = store.use_one_time(&secret, OneTimeUse::ChangeEmail, none, NOW).await;
    assert!(used.unwrap().is_some());
    must_agree("a confirmed change of the address").await;

    // Whoever gets the address later is not found by what the deleted user was called.
    assert!(store.delete_user(ada.id, NOW, none).await.unwrap());
    store.add_user(&user("Eve", "king@example.com"), none).await.unwrap();
    must_agree("a deletion").await;
}

/// Rows that were moved in have no terms, until a check has added them.
async fn a_check_adds_what_is_missing(store: &Store, other: &Store) {
    while other.check_terms(NOW, 2).await.unwrap() {}
    for number in 0..5 {
        let user = user("Ada", &format!("ada{number}@example.com"));
        store.add_user(&user, &Effects::NONE).await.unwrap();
    }
    // With the two that are there already, seven.
    let snapshot = store.snapshot().await.unwrap();
    let mut pages = snapshot.pages();
    while let Some(records) = pages.next().await.unwrap() {
        other.import(records).await.unwrap();
    }
    assert!(indexed(other).await.is_empty());
    let mut turns = 0;
    while other.check_terms(NOW + DAY, 2).await.unwrap() {
        turns += 1;
    }
    assert_eq!(turns, 3);
    assert_eq!(indexed(other).await, expected(other).await);
    assert!(!other.check_terms(NOW + DAY, 2).await.unwrap(), "the next one is a day later");
}

async fn search(store: &Store, other: &Store) {
    terms_follow_the_users(store).await;
    a_check_adds_what_is_missing(store, other).await;
}

#[tokio::test]
async fn search_terms_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name| Store::open_sqlite(&folder.path().join(name), None).unwrap();
    search(&open("one.db"), &open("other.db")).await;
}

#[tokio::test]
async fn search_terms_on_postgres() {
    if let (Some(store), Some(other)) = (postgres_store().await, postgres_store().await) {
        search(&store, &other).await;
    }
}
