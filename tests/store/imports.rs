//! Imported users and their password hashes, on both databases.

use std::time::Duration;

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    new_user,
    store::{Effects, Error, ImportedHash, ImportedWays, NewPasswords, PasswordCondition, Store},
    user::{Email, Identity, IdentityId, User},
};

use super::{NOW, postgres_store, user};

const IMPORTED_AT: Timestamp = Timestamp::from_millis(1_800_000_000_000);

#[tokio::test]
async fn users_are_imported_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    users_are_imported(&store).await;
}

#[tokio::test]
async fn users_are_imported_on_postgres() {
    if let Some(store) = postgres_store().await {
        users_are_imported(&store).await;
    }
}

async fn users_are_imported(store: &Store) {
    let existing = user("Existing", "b@example.com");
    store.add_user(&existing, &Effects::NONE).await.unwrap();
    assert_eq!(store.foreign_hashes().await.unwrap(), Vec::<String>::new());

    let (first, taken) =
        (hashed("c@example.com", "$2b$10$aaa"), hashed("B@example.com", "$2b$11$aaa"));
    let (last, mut same_id) =
        (hashed("a@example.com", "$scrypt$ln=14,r=8,p=1$a$b"), hashed("d@example.com", "$2b$12$a"));
    same_id.id = existing.id;
    let ours = hashed("e@example.com", "$argon2id$v=19$m=19456,t=2,p=1$a$b");
    let users = vec![first.clone(), taken.clone(), last.clone(), same_id, ours.clone()];
    let added = store
        .import_users(
            users.clone(),
            ImportedWays::default(),
            Vec::new(),
            IMPORTED_AT,
            &Effects::NONE,
        )
        .await
        .unwrap();
    assert_eq!(added, [true, false, true, false, true]);
    let later = IMPORTED_AT + Duration::from_secs(1);
    assert_eq!(
        store
            .import_users(users, ImportedWays::default(), Vec::new(), later, &Effects::NONE)
            .await
            .unwrap(),
        [false; 5],
        "nothing is added twice"
    );
    assert_eq!(
        store.users(None, 10).await.unwrap(),
        [&last, &existing, &first, &ours].map(Clone::clone)
    );

    let mut known = store.foreign_hashes().await.unwrap();
    known.retain(|prefix| prefix != "$2b$11$" && prefix != "$2b$12$");
    assert_eq!(known, ["$2b$10$", "$scrypt$ln=14,r=8,p=1$"]);

    // Of those who were added with a hash of another system, with the time of the first import.
    let left = imported(store).await;
    let mut expected =
        [(&first, "$2b$10$"), (&last, "$scrypt$ln=14,r=8,p=1$")].map(|(user, prefix)| {
            let (email, prefix) = (user.email.clone(), prefix.to_owned());
            ImportedHash { user_id: user.id, email, prefix, imported_at: IMPORTED_AT }
        });
    expected.sort_by_key(|hash| hash.user_id);
    assert_eq!(left, expected);
    assert_eq!(store.sizes(NOW).await.unwrap().imported_hashes, 2);
    let page = store.imported_hashes(None, 1).await.unwrap();
    assert_eq!(page, left[..1]);
    assert_eq!(store.imported_hashes(Some(page[0].user_id), 10).await.unwrap(), left[1..]);

    let keys =
        [&first, &taken, &hashed("f@example.com", "x")].map(|user| (user.id, user.email.key()));
    let mut found = store.users_like(&keys).await.unwrap();
    found.sort_by_key(|user| user.email.as_str().to_owned());
    assert_eq!(found, [existing, first.clone()]);

    let new = PasswordHash::from_store("$argon2id$v=19$m=19456,t=2,p=1$c$d".into());
    let old = PasswordHash::from_store("$2b$10$aaa".into());
    store.replace_password_hash(first.id, &old, &new).await.unwrap();
    store.forget_unused_foreign_hashes().await.unwrap();
    assert_eq!(store.foreign_hashes().await.unwrap(), ["$scrypt$ln=14,r=8,p=1$"]);
    assert_eq!(
        imported(store).await,
        expected.iter().filter(|hash| hash.user_id == last.id).cloned().collect::<Vec<_>>()
    );

    // A hash that was replaced is not dropped, and the other one takes no session and no link along.
    assert!(!store.drop_imported_hash(first.id, &Effects::NONE).await.unwrap());
    let user = store.user_by_id(first.id).await.unwrap().unwrap();
    assert_eq!(user.password_hash(), Some(&new));
    assert!(store.drop_imported_hash(last.id, &Effects::NONE).await.unwrap());
    assert!(!store.drop_imported_hash(last.id, &Effects::NONE).await.unwrap());
    let user = store.user_by_id(last.id).await.unwrap().unwrap();
    assert_eq!((user.password_hash(), user.updated_at), (None, last.updated_at));
    store.forget_unused_foreign_hashes().await.unwrap();
    assert_eq!(store.foreign_hashes().await.unwrap(), Vec::<String>::new());
}

/// An account of a user at another provider.
pub fn identity(user: &User, subject: &str) -> Identity {
    Identity {
        id: IdentityId::random(),
        user_id: user.id,
        issuer: "https://sso.example.com".into(),
        subject: subject.into(),
        login: "work".into(),
        display: "ada".into(),
        created_at: NOW,
        last_used_at: None,
    }
}

#[tokio::test]
async fn identities_come_with_new_users_only_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    identities_come_with_new_users_only(&store).await;
}

#[tokio::test]
async fn identities_come_with_new_users_only_on_postgres() {
    if let Some(store) = postgres_store().await {
        identities_come_with_new_users_only(&store).await;
    }
}

async fn identities_come_with_new_users_only(store: &Store) {
    let import = async |users: &[&User], identities: &[&Identity]| {
        let users = users.iter().map(|user| (*user).clone()).collect();
        let identities = identities.iter().map(|identity| (*identity).clone()).collect();
        let ways = ImportedWays { identities, ..ImportedWays::default() };
        store.import_users(users, ways, Vec::new(), IMPORTED_AT, &Effects::NONE).await
    };
    let [ada, grace, eve] =
        ["ada", "grace", "eve"].map(|name| hashed(&format!("{name}@example.com"), "$2b$10$a"));
    let (first, second) = (identity(&ada, "1"), identity(&ada, "2"));
    assert_eq!(import(&[&ada, &grace], &[&first, &second]).await.unwrap(), [true, true]);
    let mut linked = store.identities_of(ada.id).await.unwrap();
    linked.sort_by_key(|identity| identity.subject.clone());
    assert_eq!(linked, [first.clone(), second.clone()]);

    // Neither does somebody get that of another user, nor does a user who exists get one.
    let late = hashed("late@example.com", "$2b$10$a");
    let refused = import(&[&late, &eve], &[&identity(&eve, "1")]).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    let refused = import(&[&late, &grace], &[&identity(&grace, "3")]).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    let same_address = hashed("ADA@example.com", "$2b$10$a");
    let refused = import(&[&late, &same_address], &[&identity(&same_address, "3")]).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert_eq!(store.users(None, 10).await.unwrap(), [ada.clone(), grace]);

    let of = |issuer: &str, subject: &str| (issuer.to_owned(), subject.to_owned());
    let issuer = &*first.issuer;
    let asked = (0..40).map(|number| of(issuer, &number.to_string()));
    let asked = asked.chain([of("https://other.example", "1")]).collect();
    let email = Email::parse("ada@example.com".into()).unwrap();
    let owned = ["1", "2"].map(|subject| (of(issuer, subject), (ada.id, email.clone())));
    assert_eq!(store.identity_owners(&asked).await.unwrap(), owned.into());
    let snapshot = store.snapshot().await.unwrap();
    let found = |identities: Vec<(Identity, _)>| identities.len();
    let (none, last) = (None, eve.email.key());
    assert_eq!(found(snapshot.identities(none, &last).await.unwrap()), 2);
    assert_eq!(found(snapshot.identities(Some(&ada.email.key()), &last).await.unwrap()), 0);
}

#[tokio::test]
async fn a_new_password_or_a_deletion_replaces_an_imported_hash_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    a_new_password_or_a_deletion_replaces_an_imported_hash(&store).await;
}

#[tokio::test]
async fn a_new_password_or_a_deletion_replaces_an_imported_hash_on_postgres() {
    if let Some(store) = postgres_store().await {
        a_new_password_or_a_deletion_replaces_an_imported_hash(&store).await;
    }
}

async fn a_new_password_or_a_deletion_replaces_an_imported_hash(store: &Store) {
    let users = ["a", "b", "c"].map(|name| hashed(&format!("{name}@example.com"), "$2b$10$aaa"));
    let [changed, deleted, left] = &users;
    store
        .import_users(
            users.to_vec(),
            ImportedWays::default(),
            Vec::new(),
            IMPORTED_AT,
            &Effects::NONE,
        )
        .await
        .unwrap();
    let new = PasswordHash::from_store("$argon2id$v=19$m=19456,t=2,p=1$c$d".into());
    let (condition, now) = (PasswordCondition::Unconditional, IMPORTED_AT);
    let effects = Effects::NONE;
    let set = store.set_password(changed.id, condition, &new, None, now, &effects);
    assert!(set.await.unwrap());
    assert!(store.delete_user(deleted.id, now, &Effects::NONE).await.unwrap());
    let ids: Vec<_> = imported(store).await.into_iter().map(|hash| hash.user_id).collect();
    assert_eq!(ids, [left.id]);
    // Neither does an emergency leave one behind.
    store.revoke_everything(&NewPasswords::None, now, &Effects::NONE).await.unwrap();
    assert_eq!(imported(store).await.len(), 1);
    store.revoke_everything(&NewPasswords::All, now, &Effects::NONE).await.unwrap();
    assert_eq!(imported(store).await, []);
}

async fn imported(store: &Store) -> Vec<ImportedHash> {
    store.imported_hashes(None, 10).await.unwrap()
}

fn hashed(email: &str, hash: &str) -> User {
    let template = user("Imported", email);
    let hash = PasswordHash::from_store(hash.into());
    new_user(template.name, template.email, Some(hash), template.created_at)
}
