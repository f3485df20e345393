//! Migration from one database to another: interruption, resumption, detected differences.

use std::{path::Path, sync::Arc, time::Duration};

use doorward::{
    Doorward, OpenError, Settings,
    internals::{
        backup::transfer::{Error, Inventory, Progress, migrate},
        clock::Timestamp,
        data_folder::DataFolder,
        mail::Message,
        network::ClientInfo,
        new_session, new_user,
        store::{
            AddFactor, Effects, PostgresOptions, PostgresUrl, Store,
            archive::{Installation, SESSIONS, USERS},
        },
        token::{
            Algorithm, SigningKey,
            cookie::CodeId,
            key_store::{shared_secret, stored_secrets},
            one_time::Purpose,
            shared_secret::SecretName,
        },
        user::{Email, FactorId, Name, Passkey, StoredTotp, User},
    },
};
use uuid::Uuid;

use crate::{edit, invitations::invitation, mail, one_time_secrets::one_time, postgres, rows};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// When all mail of these tests is due.
const MAIL_DUE: Timestamp = Timestamp::from_seconds(1_800_000_001);

fn place(folder: &Path) -> (Installation, Arc<Store>) {
    let key_store = Arc::new(DataFolder::open(folder).unwrap());
    let store = Arc::new(Store::open_sqlite(&folder.join("doorward.db"), None).unwrap());
    (Installation { store: Arc::clone(&store), key_store }, store)
}

async fn add_users(store: &Store, count: usize) {
    for number in 0..count {
        let email = Email::parse(format!("user{number}@example.com")).unwrap();
        let user = new_user(Name::parse("Ada".into()).unwrap(), email, None, NOW);
        let origin = ClientInfo::new([127, 0, 0, 1].into(), "");
        let session = new_session(user.id, origin, NOW, Duration::from_secs(60));
        let effects = Effects {
            mails: vec![mail(Some(user.id), Message::HasPassword)],
            secrets: vec![one_time(&user, Purpose::VerifyEmail)],
            ..Effects::NONE
        };
        store.add_user_with_session(&user, &session, &effects).await.unwrap();
        if number % 3 == 0 {
            let (purpose, key) = (Purpose::VerifyEmail, user.email.key());
            assert_eq!(store.charge_guess(purpose, &key, NOW).await.unwrap(), 1);
        }
        if number % 4 == 0 {
            add_factors(store, &user).await;
        }
        if number % 2 == 0 {
            let verify = |user: &mut User| user.email_verified = true;
            edit(store, user.id, NOW, verify, &Effects::NONE).await.unwrap();
            let (invitation, digest) =
                invitation(&format!("friend{number}@example.com"), Some(user.id));
            store.add_invitation(&invitation, &digest, &Effects::NONE).await.unwrap();
            let (purpose, key) = (Purpose::Invitation, invitation.email.key());
            assert_eq!(store.charge_guess(purpose, &key, NOW).await.unwrap(), 1);
        }
    }
}

/// Gives a user a passkey, an authenticator app and eight recovery codes.
pub async fn add_factors(store: &Store, user: &User) {
    let passkey = Passkey {
        id: FactorId::random(),
        user_id: user.id,
        credential_id: user.id.to_string().into_bytes(),
        rp_id: "auth.example.com".into(),
        user_handle: vec![1; 32],
        public_key: vec![2; 77],
        verifies_user: true,
        aaguid: Uuid::nil(),
        name: "Ada’s 📱".into(),
        transports: "hybrid internal".into(),
        sign_count: i64::from(u32::MAX),
        backup_eligible: true,
        backed_up: false,
        created_at: NOW,
        last_used_at: None,
    };
    let totp = StoredTotp {
        user_id: user.id,
        secret: vec![3; 49],
        last_step: 60_000_000,
        created_at: NOW,
        last_used_at: Some(NOW),
    };
    let (codes, none) = ([[4; 32]; 8], &Effects::NONE);
    let setup = (CodeId::random(), NOW);
    let added = store.add_passkey(user, &passkey, setup, &codes, None, none).await.unwrap();
    assert_eq!(added, AddFactor::Added);
    // Whoever knows the user without the passkey has not proved it.
    let added = store.add_totp(user, &totp, &codes, None, none).await.unwrap();
    assert_eq!(added, AddFactor::UserChanged);
    let user = store.user_by_id(user.id).await.unwrap().unwrap();
    let added = store.add_totp(&user, &totp, &[], None, none).await.unwrap();
    assert_eq!(added, AddFactor::Added);
}

/// Asserts that both have the same rows, and this many of users.
async fn compare(old: &Store, new: &Store, users: usize) {
    let expected = rows(old).await.unwrap();
    for (table, count) in [
        ("users", users),
        ("one_time_secrets", users),
        ("outbox", users),
        ("invitations", users.div_ceil(2)),
        ("passkeys", users.div_ceil(4)),
        ("totp_secrets", users.div_ceil(4)),
        ("recovery_codes", 8 * users.div_ceil(4)),
    ] {
        let start = format!("{{\"{table}\":");
        assert_eq!(expected.iter().filter(|row| row.starts_with(&start)).count(), count, "{table}");
    }
    assert!(rows(new).await.unwrap() == expected);
}

#[tokio::test]
async fn an_interrupted_migration_resumes_and_is_not_served_before() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    for name in SecretName::ALL {
        shared_secret(&*old.key_store, name).await.unwrap();
    }
    let secrets = stored_secrets(&*old.key_store).await.unwrap();
    add_users(&store, 1200).await;

    let cut = {
        let (new, _) = place(there.path());
        for name in SecretName::ALL {
            let own = shared_secret(&*new.key_store, name).await.unwrap();
            assert_ne!(own, secrets[&name], "a server was started with the new database before");
        }
        let old =
            Installation { store: Arc::clone(&old.store), key_store: Arc::clone(&old.key_store) };
        tokio::spawn(async move {
            let mut cut_short = |progress: Progress| assert!(progress.done < 1000, "cut");
            migrate(&old, &new, NOW, &mut cut_short).await.map(drop)
        })
    };
    assert!(cut.await.unwrap_err().is_panic());
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", there.path().display()))
        .with("public_url", "https://auth.example.com");
    let opened = Doorward::open(settings.clone()).await;
    assert!(matches!(opened, Err(OpenError::Unfinished(_))));
    drop(opened);

    let (new, moved) = place(there.path());
    let users = new.store.users(None, 2000).await.unwrap().len();
    assert!((500..1200).contains(&users), "cut in the middle");
    let inventory = migrate(&old, &new, NOW, &mut |_| {}).await.unwrap();
    let Inventory { counts, .. } = inventory;
    assert_eq!((counts.of(&USERS), counts.of(&SESSIONS)), (1200, 1200));
    compare(&store, &moved, 1200).await;
    assert_eq!(stored_secrets(&*new.key_store).await.unwrap(), secrets);
    let again = migrate(&old, &new, NOW, &mut |_| {}).await;
    assert!(matches!(again, Err(Error::NotEmpty)), "it may be in use");
    drop((new, moved));
    Doorward::open(settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_during_a_migration_are_detected() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    add_users(&store, 3).await;
    let (new, moved) = place(there.path());
    let id = store.users(None, 1).await.unwrap()[0].id;
    let mut meddle = |progress: Progress| {
        if progress.step.contains("old") {
            let moved = Arc::clone(&moved);
            let meddling =
                async move { moved.end_sessions(id, NOW, &Effects::NONE).await.unwrap() };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_in_verified_addresses_is_detected() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    add_users(&store, 3).await;
    let (new, moved) = place(there.path());
    let user = store.users(None, 1).await.unwrap().remove(0);
    let mut meddle = |progress: Progress| {
        if progress.step.contains("old") {
            let (moved, user) = (Arc::clone(&moved), user.clone());
            let meddling = async move {
                // The time of the change stays the same, so that nothing else differs.
                let verified = !user.email_verified;
                let other = |edited: &mut User| edited.email_verified = verified;
                edit(&moved, user.id, user.updated_at, other, &Effects::NONE).await.unwrap();
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_in_mail_is_detected() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    add_users(&store, 3).await;
    let (new, moved) = place(there.path());
    let id = store.mail_queue(None, 1).await.unwrap()[0].mail.id;
    let mut meddle = |progress: Progress| {
        if progress.step.contains("old") {
            let moved = Arc::clone(&moved);
            let meddling =
                async move { moved.give_up_mail(id, "no", NOW, &Effects::NONE).await.unwrap() };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })), "{outcome:?}");
}

#[tokio::test]
async fn mail_moves_to_postgres_and_back() {
    let Some(url) = postgres::fresh_database() else { return };
    let url = PostgresUrl::parse(&url).unwrap();
    let (postgres, key_store) =
        Store::open_postgres(&url, PostgresOptions::default()).await.unwrap();
    let postgres = Arc::new(postgres);
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    add_users(&store, 3).await;
    let queue = store.mail_queue(None, 10).await.unwrap();
    store.postpone_mail(queue[0].mail.id, NOW, "later").await.unwrap();
    store.give_up_mail(queue[1].mail.id, "no", NOW, &Effects::NONE).await.unwrap();
    // A claim by the old installation does not hold in the new one.
    assert_eq!(store.claim_mail(MAIL_DUE, Duration::from_secs(300), 10).await.unwrap().len(), 2);
    let between = Installation { store: Arc::clone(&postgres), key_store };
    migrate(&old, &between, NOW, &mut |_| {}).await.unwrap();
    compare(&store, &postgres, 3).await;
    let (new, moved) = place(there.path());
    migrate(&between, &new, NOW, &mut |_| {}).await.unwrap();
    compare(&store, &moved, 3).await;
    let stores: [&Store; 2] = [&*postgres, &*moved];
    for store in stores {
        let claimed = store.claim_mail(MAIL_DUE, Duration::from_secs(300), 10).await.unwrap();
        assert_eq!(claimed.iter().map(|claimed| claimed.attempts).sum::<u32>(), 1);
        assert_eq!(claimed.len(), 2);
    }
}
