//! Imported users, and the schemes of their password hashes, on both databases.

use doorward::internals::{
    credential::password::PasswordHash,
    mail::Mailing,
    store::{SqliteStore, Store},
    user::User,
};

use super::{postgres_store, user};

#[tokio::test]
async fn users_are_imported_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap();
    users_are_imported(&store).await;
}

#[tokio::test]
async fn users_are_imported_on_postgres() {
    if let Some(store) = postgres_store().await {
        users_are_imported(&store).await;
    }
}

async fn users_are_imported(store: &dyn Store) {
    let existing = user("Existing", "b@example.com");
    store.add_user(&existing, None, None, &Mailing::NONE).await.unwrap();
    assert_eq!(store.foreign_hashes().await.unwrap(), Vec::<String>::new());

    let (first, taken) =
        (hashed("c@example.com", "$2b$10$aaa"), hashed("B@example.com", "$2b$11$aaa"));
    let (last, mut same_id) =
        (hashed("a@example.com", "$scrypt$ln=14,r=8,p=1$a$b"), hashed("d@example.com", "$2b$12$a"));
    same_id.id = existing.id;
    let ours = hashed("e@example.com", "$argon2id$v=19$m=19456,t=2,p=1$a$b");
    let users = vec![first.clone(), taken.clone(), last.clone(), same_id, ours.clone()];
    let added = store.import_users(users.clone()).await.unwrap();
    assert_eq!(added, [true, false, true, false, true]);
    assert_eq!(store.import_users(users).await.unwrap(), [false; 5], "nothing is added twice");
    assert_eq!(
        store.users(None, 10).await.unwrap(),
        [&last, &existing, &first, &ours].map(Clone::clone)
    );

    let mut known = store.foreign_hashes().await.unwrap();
    known.retain(|prefix| prefix != "$2b$11$" && prefix != "$2b$12$");
    assert_eq!(known, ["$2b$10$", "$scrypt$ln=14,r=8,p=1$"]);

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
}

fn hashed(email: &str, hash: &str) -> User {
    let template = user("Imported", email);
    let hash = PasswordHash::from_store(hash.into());
    User::new(template.name, template.email, Some(hash), template.created_at)
}
