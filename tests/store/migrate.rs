//! Migration from one database to another: interruption, resumption, detected differences.

use std::{path::Path, sync::Arc, time::Duration};

use doorward::{
    Doorward, OpenError, Settings,
    internals::{
        backup::transfer::{Error, Progress, migrate},
        clock::Timestamp,
        data_folder::DataFolder,
        mail::{Mailing, Message},
        session::{Origin, Session},
        store::{
            InvitationStore, OneTimeStore, OutboxStore, SessionStore, SqliteStore, Store,
            UserStore,
            archive::{Archive, Installation},
        },
        token::{Algorithm, SigningKey, key_store::cookie_secret, one_time::Purpose},
        user::{Email, Name, User},
    },
};

use crate::{invitations::invitation, mail, one_times::one_time, postgres_store};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// When all mail of these tests is due.
const MAIL_DUE: Timestamp = Timestamp::from_seconds(1_800_000_001);

fn place(folder: &Path) -> (Installation, Arc<SqliteStore>) {
    let key_store = Arc::new(DataFolder::open(folder).unwrap());
    let store = Arc::new(SqliteStore::open(&folder.join("doorward.db"), None).unwrap());
    (Installation { archive: Arc::clone(&store) as _, key_store }, store)
}

async fn add_users(store: &SqliteStore, count: usize) {
    for number in 0..count {
        let email = Email::parse(format!("user{number}@example.com")).unwrap();
        let user = User::new(Name::parse("Ada".into()).unwrap(), email, None, NOW);
        let origin = Origin::new([127, 0, 0, 1].into(), "");
        let session = Session::new(user.id, origin, NOW, Duration::from_secs(60));
        let mailing = Mailing {
            mails: vec![mail(Some(user.id), Message::HasPassword)],
            one_times: vec![one_time(&user, Purpose::VerifyEmail)],
            ..Mailing::NONE
        };
        store.add_user(&user, Some(&session), None, &mailing).await.unwrap();
        if number % 3 == 0 {
            let (purpose, key) = (Purpose::VerifyEmail, user.email.key());
            assert_eq!(store.charge_guess(purpose, &key, NOW).await.unwrap(), 1);
        }
        if number % 2 == 0 {
            store.set_email_verified(user.id, &user.email, true, NOW).await.unwrap();
            let (invitation, digest) =
                invitation(&format!("friend{number}@example.com"), Some(user.id));
            store.add_invitation(&invitation, &digest, &Mailing::NONE).await.unwrap();
            let (purpose, key) = (Purpose::Invitation, invitation.email.key());
            assert_eq!(store.charge_guess(purpose, &key, NOW).await.unwrap(), 1);
        }
    }
}

/// Asserts that both have the same one-time secrets, mail and invitations.
async fn compare_mailings(old: &dyn Archive, new: &dyn Archive, count: usize) {
    let one_times = old.one_time_records(None, 2000).await.unwrap();
    let mails = old.mail_records(None, 2000).await.unwrap();
    let invitations = old.invitation_records(None, 2000).await.unwrap();
    let counts = (one_times.len(), mails.len(), invitations.len());
    assert_eq!(counts, (count, count, count.div_ceil(2)));
    assert_eq!(new.one_time_records(None, 2000).await.unwrap(), one_times);
    assert_eq!(new.mail_records(None, 2000).await.unwrap(), mails);
    assert_eq!(new.invitation_records(None, 2000).await.unwrap(), invitations);
}

#[tokio::test]
async fn an_interrupted_migration_resumes_and_is_not_served_before() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    let secret = cookie_secret(&*old.key_store).await.unwrap();
    add_users(&store, 1200).await;

    let cut = {
        let (new, _) = place(there.path());
        let own = cookie_secret(&*new.key_store).await.unwrap();
        assert_ne!(own, secret, "a server was started with the new database before");
        let old = Installation {
            archive: Arc::clone(&old.archive),
            key_store: Arc::clone(&old.key_store),
        };
        tokio::spawn(async move {
            let mut cut_short = |progress: Progress| assert!(progress.done < 1000, "cut");
            migrate(&old, &new, NOW, &mut cut_short).await.map(drop)
        })
    };
    assert!(cut.await.unwrap_err().is_panic());
    let settings = Settings::new().with_sqlite_file(there.path().join("doorward.db"));
    let opened = Doorward::open(settings.clone()).await;
    assert!(matches!(opened, Err(OpenError::Unfinished(_))));
    drop(opened);

    let (new, moved) = place(there.path());
    assert!((500..1200).contains(&new.archive.size().await.unwrap().users), "cut in the middle");
    let inventory = migrate(&old, &new, NOW, &mut |_| {}).await.unwrap();
    assert_eq!((inventory.size.users, inventory.size.sessions), (1200, 1200));
    assert_eq!(moved.users(None, 2000).await.unwrap(), store.users(None, 2000).await.unwrap());
    compare_mailings(&*store, &*moved, 1200).await;
    assert_eq!(cookie_secret(&*new.key_store).await.unwrap(), secret);
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
                async move { moved.end_sessions(id, NOW, &Mailing::NONE).await.unwrap() };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })));
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
                let (id, email, at) = (user.id, user.email, user.updated_at);
                moved.set_email_verified(id, &email, !user.email_verified, at).await.unwrap();
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })));
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
            let meddling = async move { moved.give_up_mail(id, "no", NOW).await.unwrap() };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(meddling));
        }
    };
    let outcome = migrate(&old, &new, NOW, &mut meddle).await;
    assert!(matches!(outcome, Err(Error::Differs { .. })));
}

#[tokio::test]
async fn mail_moves_to_postgres_and_back() {
    let Some(postgres) = postgres_store().await else { return };
    let postgres = Arc::new(postgres);
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, store) = place(here.path());
    old.key_store.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.unwrap();
    add_users(&store, 3).await;
    let queue = store.mail_queue(None, 10).await.unwrap();
    store.postpone_mail(queue[0].mail.id, NOW, "later").await.unwrap();
    store.give_up_mail(queue[1].mail.id, "no", NOW).await.unwrap();
    // A claim by the old installation does not hold in the new one.
    assert_eq!(store.claim_mail(MAIL_DUE, Duration::from_secs(300), 10).await.unwrap().len(), 2);
    let between =
        Installation { archive: Arc::clone(&postgres) as _, key_store: Arc::clone(&postgres) as _ };
    migrate(&old, &between, NOW, &mut |_| {}).await.unwrap();
    compare_mailings(&*store, &*postgres, 3).await;
    let (new, moved) = place(there.path());
    migrate(&between, &new, NOW, &mut |_| {}).await.unwrap();
    compare_mailings(&*store, &*moved, 3).await;
    let stores: [&dyn Store; 2] = [&*postgres, &*moved];
    for store in stores {
        let claimed = store.claim_mail(MAIL_DUE, Duration::from_secs(300), 10).await.unwrap();
        assert_eq!(claimed.iter().map(|claimed| claimed.attempts).sum::<u32>(), 1);
        assert_eq!(claimed.len(), 2);
    }
}
