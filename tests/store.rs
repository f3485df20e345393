//! One story about users and sessions, told to every store.

mod postgres;

use std::{collections::HashSet, iter, sync::Arc, time::Duration};

use doorward::internals::{
    clock::Timestamp,
    config::Settings,
    credential::{password::PasswordHash, reset_code::ResetCode},
    session::{Origin, Session, SessionId, TokenId},
    store::{
        Error, LoginFailureStore, MAX_SESSIONS, OldPassword, PostgresStore, PostgresUrl,
        ReusedToken, SqliteStore, Stamp, Store,
    },
    throttle::{AccountChange, AccountKey},
    user::{Email, EmailKey, Name, Role, User, UserId},
};
use futures_util::future::{join, join_all};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

fn user(name: &str, email: &str) -> User {
    let hash = PasswordHash::from_store(format!("hash of {name}"));
    let (name, email) = (Name::parse(name.into()).unwrap(), Email::parse(email.into()).unwrap());
    User::new(name, email, Some(hash), NOW)
}

fn session(user: &User, lifetime: u64) -> Session {
    let origin = Origin::new([192, 0, 2, 7].into(), "curl/8 \u{7f}(λ)");
    Session::new(user.id, origin, NOW, Duration::from_secs(lifetime))
}

async fn tell(store: &dyn Store) {
    assert!(!store.has_users().await.unwrap());

    // Whoever registers is found by id and by any spelling of their address, to the last character.
    let ada = user("Ada \"λ\" '; DROP TABLE users --", "Ada@Example.com");
    let first = session(&ada, 60);
    store.add_user(&ada, Some(&first)).await.unwrap();
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
    assert!(matches!(store.add_user(&eve, Some(&refused)).await, Err(Error::EmailTaken)));
    assert_eq!(store.user_by_id(eve.id).await.unwrap(), None);
    assert_eq!(store.session_with_user(refused.id).await.unwrap(), None);

    // Users are listed by address, page by page.
    let mut bob = user("Bob", "bob@example.com");
    bob.password_hash = None;
    store.add_user(&bob, Some(&session(&bob, 60))).await.unwrap();
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
    assert!(store.add_session(&ada, &second).await.unwrap());
    let (_, owner) = store.session_with_user(second.id).await.unwrap().unwrap();
    assert_eq!(owner.last_login_at, Some(second.created_at));
    assert_eq!(store.sweep(NOW + Duration::from_secs(59), 10).await.unwrap(), 0);
    assert_eq!(store.sweep(NOW + Duration::from_secs(60), 1).await.unwrap(), 1);
    assert_eq!(store.sweep(NOW + Duration::from_secs(60), 10).await.unwrap(), 1);
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
    let before = store.changes().stamp(ada.id);
    assert!(store.changes().is_current(before));
    assert_eq!(store.end_sessions(ada.id, NOW).await.unwrap(), 1);
    tells(store, [&second]).await;
    assert!(!store.changes().is_current(before));
    assert_eq!(store.session_with_user(second.id).await.unwrap(), None);

    // The oldest sessions make room for new ones.
    let many = user("Many", "many@example.com");
    let at = |second: u64| Session {
        created_at: NOW + Duration::from_secs(second),
        ..session(&many, 3600)
    };
    let oldest = at(0);
    store.add_user(&many, Some(&oldest)).await.unwrap();
    let mut latest = Vec::new();
    for second in 1..=MAX_SESSIONS as u64 + 5 {
        latest.push(at(second));
        assert!(store.add_session(&many, latest.last().unwrap()).await.unwrap());
    }
    assert_eq!(store.sessions_of(many.id, NOW).await.unwrap(), latest[5..]);
    tells(store, latest[..5].iter().chain([&oldest])).await;
    assert!(store.delete_user(many.id, NOW).await.unwrap());
    tells(store, &latest).await;

    // A session is renewed once for each token, and only while it lasts.
    let third = session(&ada, 60);
    assert!(store.add_session(&ada, &third).await.unwrap());
    let renewed = Session { token_id: TokenId::random(), ..third.clone() };
    let before = store.changes().stamp(ada.id);
    assert!(store.renew_session(&third, renewed.token_id, NOW).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.renew_session(&third, TokenId::random(), NOW).await.unwrap());
    assert_eq!(store.session_with_user(third.id).await.unwrap().unwrap().0, renewed);
    tells(store, [&third]).await;

    // Its last use is written down without being a change.
    let seen_at = NOW + Duration::from_secs(30);
    let before = store.changes().stamp(ada.id);
    store.note_sightings(&[(third.id, seen_at), (SessionId::random(), seen_at)]).await.unwrap();
    assert!(store.changes().is_current(before));
    let seen = Session { last_seen_at: seen_at, ..renewed };
    assert_eq!(store.sessions_of(ada.id, seen_at).await.unwrap(), std::slice::from_ref(&seen));
    assert_eq!(store.sessions_of(ada.id, seen.expires_at).await.unwrap(), []);

    // A session is ended by its owner alone.
    assert!(!store.end_session(bob.id, third.id, NOW).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.end_session(ada.id, third.id, NOW).await.unwrap());
    assert!(!store.changes().is_current(before));
    tells(store, [&seen]).await;
    assert!(!store.end_session(ada.id, third.id, NOW).await.unwrap());
    assert!(!store.renew_session(&seen, TokenId::random(), NOW).await.unwrap());

    verify_addresses(store, &ada).await;
    end_reused_sessions(store, &ada, &bob).await;
    change_names_and_addresses(store, &ada, &bob).await;
    set_passwords(store, &ada).await;
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    disable_and_enable(store, &ada).await;

    // A user goes with everything that is theirs, once, and no session can be added for them any more.
    let last = session(&ada, 60);
    assert!(store.add_session(&ada, &last).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.delete_user(ada.id, NOW).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.delete_user(ada.id, NOW).await.unwrap());
    assert_eq!(store.session_with_user(last.id).await.unwrap(), None);
    tells(store, [&last]).await;
    assert!(!store.add_session(&ada, &session(&ada, 60)).await.unwrap());
    assert_eq!(store.users(None, 10).await.unwrap(), [bob]);

    // The freed address is anybody's.
    let again = user("Ada again", "ada@example.com");
    store.add_user(&again, None).await.unwrap();

    // Endings are forgotten when they are old, some at a time.
    assert!(!told(store).contains(&first.token_id), "sessions that expire are no endings");
    let kept = told(store);
    assert_eq!(store.forget_endings(NOW, 10).await.unwrap(), 0);
    assert_eq!(told(store), kept);
    let waiting = store.endings().count();
    let late_one = session(&again, 60);
    assert!(store.add_session(&again, &late_one).await.unwrap());
    assert!(!waiting.has_changed().unwrap());
    let late = NOW + Duration::from_secs(3600);
    assert_eq!(store.end_sessions(again.id, late).await.unwrap(), 1);
    tells(store, [&late_one]).await;
    assert!(waiting.has_changed().unwrap());
    while store.forget_endings(late, 10).await.unwrap() > 0 {}
    assert_eq!(told(store), HashSet::from([late_one.token_id]));
}

/// The tokens that have ended.
fn told(store: &dyn Store) -> HashSet<TokenId> {
    let endings = store.endings();
    endings.tokens(endings.since_start()).unwrap().0.into_iter().collect()
}

/// The tokens of these sessions have ended, or will be heard to have.
async fn tells(store: &dyn Store, ended: impl IntoIterator<Item = &Session> + Clone) {
    let mut count = store.endings().count();
    let all_told = async {
        while !ended.clone().into_iter().all(|session| told(store).contains(&session.token_id)) {
            count.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_told).await.expect("they are told");
}

async fn verify_addresses(store: &dyn Store, ada: &User) {
    let verified = async || store.user_by_id(ada.id).await.unwrap().unwrap().email_verified;
    let later = NOW + Duration::from_secs(4);
    assert!(!ada.email_verified && !verified().await, "anybody can register any address");

    // It is noted once, for the address that was looked at, and each time the record changes.
    let elsewhere = Email::parse("ada@elsewhere.example".into()).unwrap();
    assert!(!store.set_email_verified(ada.id, &elsewhere, true, later).await.unwrap());
    assert!(!store.set_email_verified(UserId::random(), &ada.email, true, later).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.set_email_verified(ada.id, &ada.email, true, later).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.set_email_verified(ada.id, &ada.email, true, NOW).await.unwrap());
    let noted = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert!(noted.email_verified && noted.updated_at == later);
    assert!(store.set_email_verified(ada.id, &ada.email, false, later).await.unwrap());
    assert!(!store.set_email_verified(ada.id, &ada.email, false, later).await.unwrap());
    assert!(!verified().await);

    // Another name or the same address changes nothing about it, another address or another spelling of it does.
    let other_spelling = Email::parse(ada.email.as_str().to_ascii_uppercase()).unwrap();
    for (name, email, stays) in [
        (Some(&ada.name), None, true),
        (None, Some(&ada.email), true),
        (None, Some(&elsewhere), false),
        (Some(&ada.name), Some(&other_spelling), false),
    ] {
        store.change_user(ada.id, None, Some(&ada.email), later).await.unwrap();
        assert!(store.set_email_verified(ada.id, &ada.email, true, later).await.unwrap());
        let changed = store.change_user(ada.id, name, email, later).await.unwrap().unwrap();
        assert_eq!((changed.email_verified, verified().await), (stays, stays), "{email:?}");
        store.set_email_verified(ada.id, &ada.email, false, later).await.unwrap();
    }
    store.change_user(ada.id, None, Some(&ada.email), later).await.unwrap();
}

/// The token of this session, as it is used again.
fn reused(session: &Session) -> ReusedToken {
    ReusedToken { user_id: session.user_id, session_id: session.id, token_id: session.token_id }
}

/// A session that has been renewed at `NOW`, and as it was before.
async fn renewed_session(store: &dyn Store, ada: &User) -> (Session, Session) {
    let first = session(ada, 60);
    assert!(store.add_session(ada, &first).await.unwrap());
    let second = Session { token_id: TokenId::random(), ..first.clone() };
    assert!(store.renew_session(&first, second.token_id, NOW).await.unwrap());
    (first, second)
}

async fn end_reused_sessions(store: &dyn Store, ada: &User, bob: &User) {
    let (first, second) = renewed_session(store, ada).await;
    let before = Timestamp::from_millis(NOW.millis() - 1);
    let end = async |reused: ReusedToken, replaced_by, now| {
        store.end_reused_session(&reused, replaced_by, now).await.unwrap()
    };
    // Neither the good token, nor one that was never replaced or just now, nor one of somebody else ends it.
    assert!(!end(reused(&second), NOW, NOW).await);
    assert!(!end(ReusedToken { token_id: TokenId::random(), ..reused(&first) }, NOW, NOW).await);
    assert!(!end(reused(&first), before, NOW).await);
    assert!(!end(ReusedToken { user_id: bob.id, ..reused(&first) }, NOW, NOW).await);
    assert!(!end(reused(&first), NOW, first.expires_at).await, "it has expired");
    assert_eq!(store.session_with_user(first.id).await.unwrap().unwrap().0, second);
    // The one that was replaced does, once, and everybody hears of the good one's end.
    let stamp = store.changes().stamp(ada.id);
    assert!(end(reused(&first), NOW, NOW).await);
    assert!(!store.changes().is_current(stamp));
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
    tells(store, [&first, &second]).await;
    assert!(!end(reused(&first), NOW, NOW).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn reuse_ends_a_session_once_whatever_happens_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    reuse_at_once(Arc::new(SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap()))
        .await;
    if let Some(store) = postgres_store().await {
        reuse_at_once(Arc::new(store)).await;
    }
}

async fn reuse_at_once(store: Arc<dyn Store>) {
    let ada = user("Ada", "ada@example.com");
    store.add_user(&ada, None).await.unwrap();
    for round in 0..20 {
        let (first, second) = renewed_session(&*store, &ada).await;
        let third = Session { token_id: TokenId::random(), ..second.clone() };
        let reusing: Vec<_> = (0..3)
            .map(|_| {
                let (store, reused) = (Arc::clone(&store), reused(&first));
                tokio::spawn(async move { store.end_reused_session(&reused, NOW, NOW).await })
            })
            .collect();
        let (beside, token_id) = (Arc::clone(&store), third.token_id);
        let (renewing, id) = (round % 2 == 0, second.id);
        let current = second.clone();
        let beside = tokio::spawn(async move {
            if renewing {
                beside.renew_session(&current, token_id, NOW).await
            } else {
                beside.end_session(current.user_id, id, NOW).await
            }
        });
        let mut ended = 0;
        for outcome in reusing {
            ended += usize::from(outcome.await.unwrap().unwrap());
        }
        let beside = beside.await.unwrap().unwrap();
        // A renewal saves nothing; a logout may have been first.
        assert_eq!(ended, if renewing { 1 } else { usize::from(!beside) });
        assert_eq!(store.session_with_user(id).await.unwrap(), None);
        tells(&*store, if renewing && beside { vec![&second, &third] } else { vec![&second] })
            .await;
    }
}

async fn change_names_and_addresses(store: &dyn Store, ada: &User, bob: &User) {
    let later = NOW + Duration::from_secs(5);
    let (name, email) = (Name::parse("Augusta".into()), Email::parse("augusta@example.com".into()));
    let (name, email) = (name.unwrap(), email.unwrap());
    let before = store.changes().stamp(ada.id);
    let renamed = store.change_user(ada.id, Some(&name), None, later).await.unwrap().unwrap();
    assert!(!store.changes().is_current(before));
    assert_eq!((&renamed.name, &renamed.email), (&name, &ada.email));
    assert_eq!((renamed.created_at, renamed.updated_at), (NOW, later));
    let moved = store.change_user(ada.id, None, Some(&email), later).await.unwrap().unwrap();
    assert_eq!(store.user_by_email(&email.key()).await.unwrap(), Some(moved));
    assert_eq!(store.user_by_email(&ada.email.key()).await.unwrap(), None);

    // A taken address leaves everything as it was.
    let taken = store.change_user(ada.id, Some(&ada.name), Some(&bob.email), later).await;
    assert!(matches!(taken, Err(Error::EmailTaken)));
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap().name, name);
    assert_eq!(store.change_user(UserId::random(), Some(&name), None, later).await.unwrap(), None);
}

async fn set_passwords(store: &dyn Store, ada: &User) {
    let hash = |text: &str| PasswordHash::from_store(text.into());
    let later = NOW + Duration::from_secs(7);
    let (kept, other) = (session(ada, 60), session(ada, 60));
    for session in [&kept, &other] {
        assert!(store.add_session(ada, session).await.unwrap());
    }
    let code = ResetCode::random().digest();
    let end = later + ResetCode::LIFETIME;
    assert!(store.add_reset_code(ada.id, &code, end).await.unwrap());
    assert!(!store.add_reset_code(UserId::random(), &code, end).await.unwrap());

    // A new password ends the other sessions and voids the code.
    let set = async |old, new: &str| {
        store.set_password(ada.id, old, &hash(new), Some(kept.id), later).await.unwrap()
    };
    let before = store.changes().stamp(ada.id);
    assert!(set(OldPassword::Known(ada.password_version), "newer").await);
    assert!(!store.changes().is_current(before));
    let changed = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert_eq!((&changed.password_hash, changed.updated_at), (&Some(hash("newer")), later));
    assert_eq!(store.sessions_of(ada.id, NOW).await.unwrap(), std::slice::from_ref(&kept));
    tells(store, [&other]).await;
    assert_eq!(store.user_by_reset_code(&code, later).await.unwrap(), None);

    // Somebody who knew the one before neither changes it nor signs in.
    assert!(!set(OldPassword::Known(ada.password_version), "stolen").await);
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap(), changed);
    assert!(!store.add_session(ada, &session(ada, 60)).await.unwrap());

    // A code is good once, until it expires or another takes its place.
    let [replaced, code] = [ResetCode::random().digest(), ResetCode::random().digest()];
    for code in [&replaced, &code] {
        assert!(store.add_reset_code(ada.id, code, end).await.unwrap());
    }
    assert_eq!(store.user_by_reset_code(&replaced, later).await.unwrap(), None);
    assert_eq!(store.user_by_reset_code(&code, later).await.unwrap().unwrap().id, ada.id);
    assert_eq!(store.user_by_reset_code(&code, end).await.unwrap(), None);
    let reset = async |now| {
        let old = OldPassword::Forgotten(code.clone());
        store.set_password(ada.id, old, &hash("reset"), None, now).await.unwrap()
    };
    assert!(!reset(end).await);
    assert!(reset(later).await);
    assert!(!reset(later).await);
    assert_eq!(store.sessions_of(ada.id, NOW).await.unwrap(), []);

    // The operator needs neither.
    let overrule = async |id| {
        let old = OldPassword::Overruled;
        store.set_password(id, old, &hash("overruled"), None, later).await.unwrap()
    };
    assert!(overrule(ada.id).await);
    assert!(!overrule(UserId::random()).await);
}

async fn disable_and_enable(store: &dyn Store, ada: &User) {
    let disabled = session(ada, 60);
    assert!(store.add_session(ada, &disabled).await.unwrap());
    let code = ResetCode::random().digest();
    assert!(store.add_reset_code(ada.id, &code, NOW + ResetCode::LIFETIME).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.disable_user(ada.id, NOW).await.unwrap());
    tells(store, [&disabled]).await;
    assert!(!store.changes().is_current(before));
    assert_eq!(store.sessions_of(ada.id, NOW).await.unwrap(), []);
    assert!(!store.add_session(ada, &session(ada, 60)).await.unwrap());
    assert_eq!(store.user_by_reset_code(&code, NOW).await.unwrap(), None);
    assert!(store.enable_user(ada.id).await.unwrap());
    assert!(store.add_session(ada, &session(ada, 60)).await.unwrap());
    assert!(store.user_by_reset_code(&code, NOW).await.unwrap().is_some());
    store.sweep(NOW + ResetCode::LIFETIME, 10).await.unwrap();
    assert_eq!(store.user_by_reset_code(&code, NOW).await.unwrap(), None);
    for unknown in [store.disable_user(UserId::random(), NOW), store.enable_user(UserId::random())]
    {
        assert!(!unknown.await.unwrap());
    }
}

/// Failed logins that still count at this time, as days until the account has recovered.
async fn days(store: &dyn Store, account: AccountKey, now: Timestamp) -> i64 {
    let stored = store.all_failures().await.unwrap();
    let found = stored.iter().find(|stored| stored.account == account);
    let millis = found.map_or(0, |found| found.recovered_at.millis() - now.millis());
    assert_eq!(millis % 86_400_000, 0, "{millis}");
    millis.max(0) / 86_400_000
}

async fn tell_of_failures(store: &dyn Store) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    assert_eq!(store.account_secret().await.unwrap(), store.account_secret().await.unwrap());
    let account = |number: u8| AccountKey::from_store(&[number; 16]).unwrap();
    let change =
        |number, cleared, failures| AccountChange { account: account(number), cleared, failures };
    let save = async |now, changes: &[AccountChange]| {
        store.save_failures(changes, DAY, now).await.unwrap();
    };

    // Each failure adds the time that forgives it, from now on if everything was forgiven.
    save(NOW, &[change(1, false, 3), change(2, false, 1)]).await;
    save(NOW + DAY, &[change(1, false, 2)]).await;
    assert_eq!(days(store, account(1), NOW).await, 5);
    save(NOW + DAY * 4, &[change(2, false, 2)]).await;
    assert_eq!(days(store, account(2), NOW + DAY * 4).await, 2);

    // A success forgives all failures before it, and none after it.
    save(NOW + DAY, &[change(1, true, 0), change(2, true, 4), change(3, true, 0)]).await;
    for (number, left) in [(1, 0), (2, 4), (3, 0)] {
        assert_eq!(days(store, account(number), NOW + DAY).await, left, "{number}");
    }

    // The networks of a user are known from the first sign-in on, and those of a stranger never.
    let ada = user("Ada", "failing@example.com");
    let known = async |email: &str| {
        let known = store.known_networks(&EmailKey::of(email)).await.unwrap();
        known.iter().map(|(network, at)| (network.to_string(), at)).collect::<Vec<_>>()
    };
    store.add_user(&ada, Some(&session(&ada, 60))).await.unwrap();
    assert_eq!(known("Failing@example.com").await, [("192.0.2.7".to_owned(), NOW)]);
    assert_eq!(known("nobody@example.com").await, []);
    assert_eq!(known("nobody\0@example.com").await, []);
    let mut elsewhere = session(&ada, 60);
    elsewhere.origin = Origin::new("2001:db8::7".parse().unwrap(), "");
    assert!(store.add_session(&ada, &elsewhere).await.unwrap());
    assert!(store.add_session(&ada, &session(&ada, 60)).await.unwrap());
    let both = [("2001:db8::".to_owned(), NOW), ("192.0.2.7".to_owned(), NOW)];
    assert_eq!(known("failing@example.com").await, both);
    let mut later = session(&ada, 60);
    later.created_at = NOW + DAY;
    assert!(store.add_session(&ada, &later).await.unwrap());
    assert_eq!(known("failing@example.com").await[0], ("192.0.2.7".to_owned(), NOW + DAY));
    assert!(store.delete_user(ada.id, NOW).await.unwrap());
    assert_eq!(known("failing@example.com").await, []);
}

#[tokio::test]
async fn failed_logins_and_known_networks_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap();
    tell_of_failures(&store).await;
    let five_days = NOW + Duration::from_secs(5 * 24 * 60 * 60);
    assert_eq!(store.forget_failures(NOW, 10).await.unwrap(), 0);
    assert_eq!(store.forget_failures(five_days, 10).await.unwrap(), 1);
    assert_eq!(store.all_failures().await.unwrap(), []);
}

#[tokio::test]
async fn failed_logins_and_known_networks_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let (here, there) = (open_postgres(&url).await, open_postgres(&url).await);
    tell_of_failures(&here).await;
    assert_eq!(there.account_secret().await.unwrap(), here.account_secret().await.unwrap());
    assert_eq!(there.all_failures().await.unwrap(), here.all_failures().await.unwrap());
    let account = AccountKey::from_store(&[9; 16]).unwrap();
    let change = AccountChange { account, cleared: false, failures: 1 };
    let mut heard = Vec::new();
    // A machine may be so slow that what was just written is no longer recent.
    for _ in 0..100 {
        there.save_failures(&[change], Duration::from_secs(60), NOW).await.unwrap();
        heard = here.recent_failures().await.unwrap();
        if heard.iter().any(|heard| heard.account == account) {
            break;
        }
    }
    assert!(heard.iter().any(|heard| heard.account == account), "{heard:?}");
    // What was just written is kept, so that others can hear of it.
    assert_eq!(here.forget_failures(NOW + Duration::from_secs(100), 10).await.unwrap(), 0);
}

#[tokio::test]
async fn the_story_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doorward.db");
    let store = SqliteStore::open(&file, None).unwrap();
    tell(&store).await;
    let ended = told(&store);
    drop(store);
    let reopened = SqliteStore::open(&file, None).unwrap();
    assert_eq!(told(&reopened), ended);
    assert_eq!(reopened.users(None, 10).await.unwrap().len(), 2);
}

/// A store on an empty database, unless there is no PostgreSQL here.
async fn postgres_store() -> Option<PostgresStore> {
    Some(open_postgres(&postgres::fresh_database()?).await)
}

async fn open_postgres(url: &str) -> PostgresStore {
    let options = Settings::default().postgres;
    PostgresStore::open(&PostgresUrl::parse(url).unwrap(), options).await.unwrap()
}

#[tokio::test]
async fn the_story_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let store = open_postgres(&url).await;
    tell(&store).await;
    let reopened = open_postgres(&url).await;
    assert_eq!(told(&reopened), told(&store));
    assert_eq!(reopened.users(None, 10).await.unwrap().len(), 2);
}

/// As distributed engines have it: whoever comes second is turned away with a serialisation failure.
#[tokio::test(flavor = "multi_thread")]
async fn conflicts_between_transactions_are_tried_again() {
    let Some(url) = postgres::fresh_database() else { return };
    let (operator, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = url.rsplit('/').next().unwrap();
    let strict =
        format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'");
    operator.batch_execute(&strict).await.unwrap();
    tell(&open_postgres(&url).await).await;

    let store = Arc::new(open_postgres(&url).await);
    let busy = user("Busy", "busy@example.com");
    store.add_user(&busy, None).await.unwrap();
    assert!(conflicts(&url).await, "the database does not turn anybody away");
    let granting: Vec<_> = (0..24)
        .map(|number| {
            let (store, id) = (Arc::clone(&store), busy.id);
            let role = Role::parse(&format!("role{number}")).unwrap();
            tokio::spawn(async move { store.grant_role(id, &role, NOW).await })
        })
        .collect();
    for granted in granting {
        assert!(granted.await.unwrap().unwrap());
    }
    let roles = store.user_by_id(busy.id).await.unwrap().unwrap().roles;
    assert_eq!(roles.to_text().split(' ').count(), 24);
}

/// Whether the second of two transactions about one row is turned away.
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
        SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap(),
    ))
    .await;
    if let Some(store) = postgres_store().await {
        register_at_once(Arc::new(store)).await;
    }
}

async fn register_at_once(store: Arc<dyn Store>) {
    for round in 0..20 {
        let racing: Vec<_> = (0..50)
            .map(|_| {
                let store = Arc::clone(&store);
                let user = user("Somebody", &format!("round{round}@example.com"));
                tokio::spawn(async move { store.add_user(&user, Some(&session(&user, 60))).await })
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
async fn who_reads_together_gets_what_each_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    read_at_once(&SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap()).await;
    if let Some(store) = postgres_store().await {
        read_at_once(&store).await;
    }
}

async fn read_at_once(store: &dyn Store) {
    let users: Vec<_> =
        (0..40).map(|number| user("Ada", &format!("user{number}@example.com"))).collect();
    let sessions: Vec<_> = users.iter().map(|user| session(user, 60)).collect();
    for (user, session) in users.iter().zip(&sessions) {
        store.add_user(user, Some(session)).await.unwrap();
    }
    let (nobody, none) = (UserId::random(), SessionId::random());
    // Everybody three times, with strangers in between.
    let everybody = users.iter().zip(&sessions).cycle().take(120);
    join_all(everybody.map(async |(user, session)| {
        let (found, stranger) = join(store.user_by_id(user.id), store.user_by_id(nobody)).await;
        assert_eq!((found.unwrap().as_ref(), stranger.unwrap()), (Some(user), None));
        let both = join(store.session_with_user(session.id), store.session_with_user(none)).await;
        let (known, unknown) = (both.0.unwrap(), both.1.unwrap());
        assert_eq!((known, unknown), (Some((session.clone(), user.clone())), None));
    }))
    .await;
}

#[tokio::test]
async fn what_was_changed_here_is_no_news() {
    let Some(url) = postgres::fresh_database() else { return };
    let (here, elsewhere) = (open_postgres(&url).await, open_postgres(&url).await);
    let ada = user("Ada", "ada@example.com");
    // Another whose changes are counted in another place.
    let stamp = |user: &User| here.changes().stamp(user.id);
    let mut bobs = iter::repeat_with(|| user("Bob", "bob@example.com"));
    let bob = bobs.find(|bob| stamp(bob) != stamp(&ada)).unwrap();
    here.add_user(&ada, None).await.unwrap();
    let of_bob = stamp(&bob);
    elsewhere.add_user(&bob, None).await.unwrap();
    until_it_has_changed(&here, of_bob).await;
    for number in 0..5 {
        let before = stamp(&ada);
        let role = Role::parse(&format!("role{number}")).unwrap();
        assert!(here.grant_role(ada.id, &role, NOW).await.unwrap());
        assert!(!here.changes().is_current(before), "it has changed");
        let (of_ada, of_bob) = (stamp(&ada), stamp(&bob));
        assert!(elsewhere.grant_role(bob.id, &role, NOW).await.unwrap());
        until_it_has_changed(&here, of_bob).await;
        assert!(here.changes().is_current(of_ada), "and not once more when that is heard");
    }
}

async fn until_it_has_changed(store: &PostgresStore, since: Stamp) {
    let changed = async {
        while store.changes().is_current(since) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), changed).await.expect("a change is heard of");
}
