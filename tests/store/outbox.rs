//! The outbox on every store: mail is queued with what it tells of, claimed by one sender at a time, retried and given up.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    language::Language,
    mail::{DeletedBy, EndedBy, Mail, MailId, Message},
    store::{ClaimedMail, Effects, Error, KEEP_GIVEN_UP, PasswordCondition, QueuedMail, Store},
    token::one_time::{OneTimeId, Purpose},
    user::{User, UserId},
};
use futures_util::future::join_all;

use crate::{
    NOW, mail,
    one_time_secrets::one_time,
    open_postgres,
    operations::{renewed_session, reused},
    postgres, postgres_store, session, user,
};

const LEASE: Duration = Duration::from_secs(300);

fn after(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

/// The queued mail of a user, the oldest first.
pub async fn queued(store: &Store, user: UserId) -> Vec<Mail> {
    let all = store.mail_queue(None, 10_000).await.unwrap();
    all.into_iter().map(|queued| queued.mail).filter(|mail| mail.user_id == Some(user)).collect()
}

async fn claim(store: &Store, now: Timestamp) -> Vec<ClaimedMail> {
    store.claim_mail(now, LEASE, 100).await.unwrap()
}

async fn only(store: &Store) -> QueuedMail {
    let mut all = store.mail_queue(None, 10).await.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

async fn run_all(store: &Store) {
    store_every_message(store).await;
    claim_and_retry(store).await;
    wait_for_its_time(store).await;
    list_in_pages(store).await;
    give_way_to_others(store).await;
    queue_with_writes(store).await;
}

/// One of every message.
fn messages() -> Vec<Message> {
    let one_time = OneTimeId::random();
    let at = NOW.millis();
    vec![
        Message::VerifyEmail { one_time, target: None },
        Message::ChangeEmail { one_time },
        Message::EmailChanged { one_time },
        Message::ResetPassword { one_time, target: None },
        Message::SignIn { one_time, target: None },
        Message::HasPassword,
        Message::AlreadyRegistered,
        Message::Invitation {
            one_time,
            invited_by: Some("a'b\"@example.com".into()),
            expires_at: Some(at),
        },
        Message::Invitation { one_time, invited_by: None, expires_at: None },
        Message::NewSignIn {
            user_agent: "curl/8 \0\u{7f}(λ)".into(),
            address: "2001:db8::1".parse().unwrap(),
            at,
        },
        Message::PasswordChanged { at },
        Message::SessionsEnded { by: EndedBy::Reuse, at },
        Message::SessionsEnded { by: EndedBy::Operator, at },
        Message::AccountDeleted { by: DeletedBy::User, kept_days: Some(365), at },
        Message::AccountDeleted { by: DeletedBy::Operator, kept_days: None, at },
        Message::Nothing,
    ]
}

async fn store_every_message(store: &Store) {
    assert_eq!(claim(store, NOW).await, []);
    let mut mails: Vec<_> = messages().into_iter().map(|message| mail(None, message)).collect();
    for (second, mail) in (0..).zip(&mut mails) {
        mail.created_at = after(second);
    }
    mails[1].language = Language::German;
    mails[2].user_id = Some(UserId::random());
    let effects = Effects { mails: mails.clone(), ..Effects::NONE };
    store.queue_mail(&effects).await.unwrap();
    // What people wait for first, and of that the longest due first.
    let claimed = claim(store, after(100)).await;
    let mut in_order = mails.clone();
    in_order.sort_by_key(|mail| match mail.message {
        Message::ResetPassword { .. }
        | Message::SignIn { .. }
        | Message::HasPassword
        | Message::Nothing => 0,
        Message::VerifyEmail { .. } | Message::ChangeEmail { .. } | Message::AlreadyRegistered => 1,
        Message::Invitation { .. } => 2,
        _ => 3,
    });
    let expected: Vec<_> = in_order
        .iter()
        .map(|mail| ClaimedMail { mail: mail.clone(), attempts: 0, failure: None })
        .collect();
    assert_eq!(claimed, expected);
    for mail in &mails {
        store.delete_mail(mail.id).await.unwrap();
        store.delete_mail(mail.id).await.unwrap();
    }
    assert_eq!(store.mail_queue(None, 10).await.unwrap(), []);
}

async fn claim_and_retry(store: &Store) {
    let mut mail = mail(None, Message::HasPassword);
    mail.expires_at = after(86_400);
    let effects = Effects { mails: vec![mail.clone()], ..Effects::NONE };
    store.queue_mail(&effects).await.unwrap();
    // Queuing it again, as after a lost commit, does not duplicate it.
    store.queue_mail(&effects).await.unwrap();
    assert_eq!(only(store).await.mail, mail);

    // It is due at once. A claim lasts until the lease ends.
    assert_eq!(store.claim_mail(NOW, LEASE, 0).await.unwrap(), []);
    let claimed = |attempts| {
        let failure = ["", "450 later λ", "550 no"][attempts as usize];
        let failure = (!failure.is_empty()).then(|| failure.to_owned());
        [ClaimedMail { mail: mail.clone(), attempts, failure }]
    };
    assert_eq!(claim(store, NOW).await, claimed(0));
    assert_eq!(claim(store, NOW).await, []);
    assert_eq!(claim(store, Timestamp::from_millis((NOW + LEASE).millis() - 1)).await, []);
    assert_eq!(claim(store, NOW + LEASE).await, claimed(0));

    // Only a failure counts as an attempt, and postpones it.
    store.release_mail(mail.id).await.unwrap();
    assert_eq!(claim(store, after(700)).await, claimed(0));
    store.postpone_mail(mail.id, after(900), "450 later\0λ").await.unwrap();
    assert_eq!(claim(store, after(899)).await, []);
    let QueuedMail { attempts, due_at, failure, given_up_at, .. } = only(store).await;
    assert_eq!((attempts, due_at, given_up_at), (1, after(900), None));
    assert_eq!(failure.as_deref(), Some("450 later λ"));
    assert_eq!(claim(store, after(900)).await, claimed(1));
    store.release_mail(mail.id).await.unwrap();
    let QueuedMail { attempts, failure, .. } = only(store).await;
    assert_eq!((attempts, failure.as_deref()), (1, Some("450 later λ")));

    // Mail that was given up stays until it is retried.
    assert_eq!(claim(store, after(1000)).await, claimed(1));
    store.give_up_mail(mail.id, "550 no", after(1001), &Effects::NONE).await.unwrap();
    let QueuedMail { attempts, failure, given_up_at, .. } = only(store).await;
    assert_eq!((attempts, given_up_at), (2, Some(after(1001))));
    assert_eq!(failure.as_deref(), Some("550 no"));
    assert_eq!(claim(store, after(80_000)).await, []);
    assert_eq!(store.retry_mail(after(2000)).await.unwrap(), 1);
    assert_eq!(only(store).await.given_up_at, None);
    assert_eq!(claim(store, after(2000)).await, claimed(2));

    // Mail that has expired is not retried, and giving it up is no attempt.
    store.give_up_mail(mail.id, "expired", mail.expires_at, &Effects::NONE).await.unwrap();
    assert_eq!(only(store).await.attempts, 2);
    assert_eq!(store.retry_mail(mail.expires_at).await.unwrap(), 0);
    let kept_until = mail.expires_at + KEEP_GIVEN_UP;
    let before = Timestamp::from_millis(kept_until.millis() - 1);
    assert_eq!(store.delete_expired(before, 10).await.unwrap(), 0);
    assert_eq!(only(store).await.mail, mail);
    assert_eq!(store.delete_expired(kept_until, 10).await.unwrap(), 1);
    assert_eq!(store.mail_queue(None, 10).await.unwrap(), []);

    // A mail that is gone is not brought back.
    store.release_mail(mail.id).await.unwrap();
    store.postpone_mail(mail.id, NOW, "late").await.unwrap();
    store.give_up_mail(mail.id, "late", NOW, &Effects::NONE).await.unwrap();
    assert_eq!(store.retry_mail(NOW).await.unwrap(), 0);
    assert_eq!(store.mail_queue(None, 10).await.unwrap(), []);
}

async fn wait_for_its_time(store: &Store) {
    let mail = mail(None, Message::HasPassword);
    let claimed = [ClaimedMail { mail: mail.clone(), attempts: 0, failure: None }];
    let waiting = async || store.sizes(NOW).await.unwrap().mail_waiting;
    // It is not due, and nobody waits for it.
    store.queue_mail_for(mail.clone(), after(600)).await.unwrap();
    store.queue_mail_for(mail.clone(), after(600)).await.unwrap();
    assert_eq!(only(store).await.due_at, after(600));
    assert_eq!(store.retry_mail(NOW).await.unwrap(), 0);
    assert_eq!((claim(store, after(599)).await, waiting().await), (vec![], 0));
    assert_eq!((claim(store, after(600)).await, waiting().await), (claimed.to_vec(), 1));
    // It is due, and cannot be hurried any more.
    assert!(!store.hurry_mail(mail.id, NOW).await.unwrap());
    store.delete_mail(mail.id).await.unwrap();
    assert!(!store.hurry_mail(mail.id, NOW).await.unwrap(), "it is gone");

    store.queue_mail_for(mail.clone(), after(600)).await.unwrap();
    assert!(store.hurry_mail(mail.id, after(5)).await.unwrap());
    assert_eq!(claim(store, after(4)).await, []);
    assert_eq!(claim(store, after(5)).await, claimed);
    store.delete_mail(mail.id).await.unwrap();
}

async fn list_in_pages(store: &Store) {
    let mut mails: Vec<_> = (0..7).map(|_| mail(None, Message::HasPassword)).collect();
    // Some are queued at the same moment.
    for (number, mail) in (0..).zip(&mut mails) {
        mail.created_at = after(number / 3);
    }
    mails.sort_unstable_by_key(|mail| (mail.created_at, mail.id));
    let effects = Effects { mails: mails.iter().rev().cloned().collect(), ..Effects::NONE };
    store.queue_mail(&effects).await.unwrap();
    let page = async |after: Option<MailId>| {
        let page = store.mail_queue(after, 2).await.unwrap();
        page.into_iter().map(|queued| queued.mail).collect::<Vec<_>>()
    };
    let (mut listed, mut last) = (Vec::new(), None);
    loop {
        let page = page(last).await;
        let Some(end) = page.last() else { break };
        last = Some(end.id);
        listed.extend(page);
    }
    assert_eq!(listed, mails);
    store.delete_mail(mails[3].id).await.unwrap();
    assert_eq!(page(Some(mails[3].id)).await, mails[..2], "from the oldest one");
    // A claim takes the longest due ones.
    let claimed = store.claim_mail(after(100), LEASE, 2).await.unwrap();
    assert_eq!(claimed.into_iter().map(|claimed| claimed.mail).collect::<Vec<_>>(), mails[..2]);
    for mail in &mails {
        store.delete_mail(mail.id).await.unwrap();
    }
}

/// A flood of one network gives way to others, and mail that was refused for now to what people wait for.
async fn give_way_to_others(store: &Store) {
    let one_time = OneTimeId::random();
    let queue = async |message: Message, second: u64, earlier: u32| {
        let mail = Mail { created_at: after(second), ..mail(None, message) };
        let effects = Effects { mails: vec![mail.clone()], earlier, ..Effects::NONE };
        store.queue_mail(&effects).await.unwrap();
        mail.id
    };
    let sign_up = || Message::VerifyEmail { one_time, target: None };
    let mut flood = Vec::new();
    for earlier in 0..10 {
        flood.push(queue(sign_up(), 0, earlier).await);
    }
    // One of them was refused for now.
    let first = store.claim_mail(after(1), LEASE, 1).await.unwrap();
    assert_eq!(first[0].mail.id, flood[0]);
    store.postpone_mail(flood[0], after(60), "451 later").await.unwrap();
    let other = queue(sign_up(), 30, 0).await;
    let reset = queue(Message::ResetPassword { one_time, target: None }, 100, 3).await;
    let mut sent = Vec::new();
    for second in [50, 55, 61, 62] {
        let claimed = store.claim_mail(after(second), LEASE, 1).await.unwrap();
        sent.extend(claimed.into_iter().map(|claimed| claimed.mail.id));
    }
    assert_eq!(sent, [reset, other, flood[0], flood[1]]);
    let left = store.claim_mail(after(100), LEASE, 100).await.unwrap();
    let left: Vec<_> = left.into_iter().map(|claimed| claimed.mail.id).collect();
    assert_eq!(left, flood[2..]);
    for id in flood.into_iter().chain([other, reset]) {
        store.delete_mail(id).await.unwrap();
    }
}

/// Mail is queued by a write that changes something, and by no other.
async fn queue_with_writes(store: &Store) {
    let (ada, eve) = (user("Ada", "queue@example.com"), user("Eve", "QUEUE@example.com"));
    let notice = |user: &User| {
        let mails = vec![mail(Some(user.id), Message::Nothing)];
        Effects { mails, secrets: vec![one_time(user, Purpose::VerifyEmail)], ..Effects::NONE }
    };
    let expect = async |effects: &Effects, is_queued: bool| {
        let mails = queued(store, ada.id).await;
        let secret = &effects.secrets[0];
        let found = store.one_time_by_digest(secret.purpose, &secret.digest).await.unwrap();
        assert_eq!((mails == effects.mails, found.is_some()), (is_queued, is_queued));
        assert!(is_queued || mails.is_empty());
        for mail in mails {
            store.delete_mail(mail.id).await.unwrap();
        }
    };
    let effects = notice(&ada);
    store.add_user(&ada, &effects).await.unwrap();
    expect(&effects, true).await;
    let of_eve = notice(&eve);
    let refused = store.add_user(&eve, &of_eve).await;
    assert!(matches!(refused, Err(Error::EmailTaken)));
    assert_eq!(queued(store, eve.id).await, []);

    let effects = notice(&ada);
    assert_eq!(store.end_sessions(ada.id, NOW, &effects).await.unwrap(), 0);
    expect(&effects, false).await;
    let mut outdated = ada.clone();
    outdated.id = UserId::random();
    assert!(!store.add_session(&outdated, &session(&outdated, 60), &effects).await.unwrap());
    expect(&effects, false).await;
    assert!(store.add_session(&ada, &session(&ada, 60), &effects).await.unwrap());
    expect(&effects, true).await;
    let effects = notice(&ada);
    assert_eq!(store.end_sessions(ada.id, NOW, &effects).await.unwrap(), 1);
    expect(&effects, true).await;

    let (first, second) = renewed_session(store, &ada).await;
    let effects = notice(&ada);
    assert!(!store.end_reused_session(&reused(&second), NOW, NOW, &effects).await.unwrap());
    expect(&effects, false).await;
    assert!(store.end_reused_session(&reused(&first), NOW, NOW, &effects).await.unwrap());
    expect(&effects, true).await;

    let effects = notice(&ada);
    let new = PasswordHash::from_store("new".into());
    let unchanged = || PasswordCondition::Unchanged(ada.password_version());
    assert!(store.set_password(ada.id, unchanged(), &new, None, NOW, &effects).await.unwrap());
    expect(&effects, true).await;
    let effects = notice(&ada);
    assert!(!store.set_password(ada.id, unchanged(), &new, None, NOW, &effects).await.unwrap());
    expect(&effects, false).await;

    // Deleting the user deletes their mail and no other.
    let (effects, other) = (notice(&ada), mail(None, Message::Nothing));
    store.queue_mail(&effects).await.unwrap();
    store.queue_mail(&Effects { mails: vec![other.clone()], ..Effects::NONE }).await.unwrap();
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(only(store).await.mail, other);
    store.delete_mail(other.id).await.unwrap();
}

#[tokio::test]
async fn mail_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn mail_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}

#[tokio::test]
async fn claims_of_an_earlier_process_are_released_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doorward.db");
    let store = Store::open_sqlite(&file, None).unwrap();
    queue(&store, 2).await;
    assert_eq!(claim(&store, NOW).await.len(), 2);
    drop(store);
    let store = Store::open_sqlite(&file, None).unwrap();
    assert_eq!(claim(&store, NOW).await, []);
    store.release_abandoned_mail().await.unwrap();
    assert_eq!(claim(&store, NOW).await.len(), 2);
}

#[tokio::test]
async fn claims_of_other_instances_stay_on_postgres() {
    let Some(store) = postgres_store().await else { return };
    queue(&store, 1).await;
    assert_eq!(claim(&store, NOW).await.len(), 1);
    store.release_abandoned_mail().await.unwrap();
    assert_eq!(claim(&store, NOW).await, []);
}

async fn queue(store: &Store, count: usize) {
    let mails = (0..count).map(|_| mail(None, Message::HasPassword)).collect();
    store.queue_mail(&Effects { mails, ..Effects::NONE }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mail_is_claimed_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    claim_at_once(&[Arc::new(store)]).await;
    let Some(url) = postgres::fresh_database() else { return };
    let stores = [Arc::new(open_postgres(&url).await), Arc::new(open_postgres(&url).await)];
    claim_at_once(&stores).await;
}

/// Several senders on every store claim until all mail is claimed.
async fn claim_at_once(stores: &[Arc<Store>]) {
    const MAILS: usize = 200;
    queue(&stores[0], MAILS).await;
    let count = Arc::new(AtomicUsize::new(0));
    let senders = (0..4).flat_map(|_| stores).map(|store| {
        let (store, count) = (Arc::clone(store), Arc::clone(&count));
        tokio::spawn(async move {
            let mut claimed = Vec::new();
            // A batch may be empty although mail is due, because another sender was faster.
            while count.load(Ordering::Relaxed) < MAILS {
                let batch = store.claim_mail(NOW, LEASE, 7).await.unwrap();
                count.fetch_add(batch.len(), Ordering::Relaxed);
                claimed.extend(batch.into_iter().map(|claimed| claimed.mail.id));
            }
            claimed
        })
    });
    let all = tokio::time::timeout(Duration::from_secs(60), join_all(senders)).await;
    let all = all.expect("all mail is claimed");
    let claimed: Vec<_> = all.into_iter().flat_map(|claimed| claimed.unwrap()).collect();
    let distinct: HashSet<_> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (MAILS, MAILS));
    assert_eq!(claim(&stores[0], NOW).await, []);
}
