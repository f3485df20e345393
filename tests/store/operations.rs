//! One sequence of operations on users and sessions, run on every store.

use std::{collections::HashSet, time::Duration};

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    new_user,
    session::{Session, SessionId, TokenId},
    store::{Conditional, Effects, Error, MAX_SESSIONS, PasswordCondition, ReusedToken, Store},
    token::cookie::CodeId,
    user::{Email, EmailKey, Name, Role, User, UserId},
};

use crate::{NOW, edit, open_postgres, postgres, session, user};

pub async fn run_all(store: &Store) {
    assert!(!store.has_users().await.unwrap());

    // A user is found by id and by any letter case of the address, unchanged.
    let ada = user("Ada \"λ\" '; DROP TABLE users --", "Ada@Example.com");
    let first = session(&ada, 60);
    store.add_user_with_session(&ada, &first, &Effects::NONE).await.unwrap();
    assert!(store.has_users().await.unwrap());
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    let key = EmailKey::of("aDA@eXAMPLE.COM");
    assert_eq!(store.user_by_email(&key).await.unwrap().as_ref(), Some(&ada));
    assert_eq!(
        store.session_with_user(first.id).await.unwrap(),
        Some((first.clone(), ada.clone()))
    );

    // Unknown users are not found.
    assert_eq!(store.user_by_id(UserId::random()).await.unwrap(), None);
    assert_eq!(store.user_by_email(&EmailKey::of("x@example.com")).await.unwrap(), None);
    assert_eq!(store.session_with_user(SessionId::random()).await.unwrap(), None);

    // An address is unique. A refused registration stores neither user nor session.
    let eve = user("Eve", "ADA@example.com");
    let refused = session(&eve, 60);
    assert!(matches!(
        store.add_user_with_session(&eve, &refused, &Effects::NONE).await,
        Err(Error::EmailTaken)
    ));
    assert_eq!(store.user_by_id(eve.id).await.unwrap(), None);
    assert_eq!(store.session_with_user(refused.id).await.unwrap(), None);

    // Users are listed by address, page by page.
    let bob = user("Bob", "bob@example.com");
    let bob = new_user(bob.name, bob.email, None, NOW);
    store.add_user_with_session(&bob, &session(&bob, 60), &Effects::NONE).await.unwrap();
    assert_eq!(store.users(None, 10).await.unwrap(), [ada.clone(), bob.clone()]);
    assert_eq!(store.users(None, 1).await.unwrap(), std::slice::from_ref(&ada));
    assert_eq!(store.users(Some(&ada.email.key()), 10).await.unwrap(), std::slice::from_ref(&bob));

    // A hash is replaced only if it is still the expected one.
    let hash = |text: &str| PasswordHash::from_store(text.into());
    let old = ada.password_hash().cloned().unwrap();
    store.replace_password_hash(ada.id, &hash("another"), &hash("new")).await.unwrap();
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap().password_hash(), Some(&old));
    store.replace_password_hash(ada.id, &old, &hash("new")).await.unwrap();
    assert_eq!(
        store.user_by_id(ada.id).await.unwrap().unwrap().password_hash(),
        Some(&hash("new"))
    );

    // Granting and revoking a role change the record once.
    let role = |text| Role::parse(text).unwrap();
    let later = NOW + Duration::from_secs(5);
    let before = store.changes().stamp(ada.id);
    assert!(store.grant_role(ada.id, &role("staff"), later, &Effects::NONE).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.grant_role(ada.id, &role("staff"), NOW, &Effects::NONE).await.unwrap());
    assert!(store.grant_role(ada.id, &role("admin"), later, &Effects::NONE).await.unwrap());
    assert!(!store.revoke_role(ada.id, &role("boss"), NOW, &Effects::NONE).await.unwrap());
    let promoted = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert_eq!((promoted.roles.to_text().as_str(), promoted.updated_at), ("admin staff", later));
    assert!(store.revoke_role(ada.id, &role("admin"), later, &Effects::NONE).await.unwrap());
    assert!(
        !store.grant_role(UserId::random(), &role("staff"), NOW, &Effects::NONE).await.unwrap()
    );

    // Sessions can end together, expired ones are deleted, and every end counts as a change.
    let second = session(&ada, 3600);
    assert!(store.add_session(&ada, &second, &Effects::NONE).await.unwrap());
    let (_, owner) = store.session_with_user(second.id).await.unwrap().unwrap();
    assert_eq!(owner.last_login_at, Some(second.created_at));
    assert_eq!(store.delete_expired(NOW + Duration::from_secs(59), 10).await.unwrap(), 0);
    assert_eq!(store.delete_expired(NOW + Duration::from_secs(60), 1).await.unwrap(), 1);
    assert_eq!(store.delete_expired(NOW + Duration::from_secs(60), 10).await.unwrap(), 1);
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
    let before = store.changes().stamp(ada.id);
    assert!(store.changes().is_current(before));
    assert_eq!(store.end_sessions(ada.id, NOW, &Effects::NONE).await.unwrap(), 1);
    wait_until_listed(store, [&second]).await;
    assert!(!store.changes().is_current(before));
    assert_eq!(store.session_with_user(second.id).await.unwrap(), None);

    // The oldest sessions end when there are too many.
    let many = user("Many", "many@example.com");
    let at = |second: u64| {
        let mut session = session(&many, 3600);
        session.created_at = NOW + Duration::from_secs(second);
        session
    };
    let oldest = at(0);
    store.add_user_with_session(&many, &oldest, &Effects::NONE).await.unwrap();
    let mut latest = Vec::new();
    for second in 1..=MAX_SESSIONS as u64 + 5 {
        latest.push(at(second));
        assert!(store.add_session(&many, latest.last().unwrap(), &Effects::NONE).await.unwrap());
    }
    assert_eq!(store.sessions_by_user(many.id, NOW).await.unwrap(), latest[5..]);
    wait_until_listed(store, latest[..5].iter().chain([&oldest])).await;
    assert!(store.delete_user(many.id, NOW, &Effects::NONE).await.unwrap());
    wait_until_listed(store, &latest).await;

    // A session is renewed once per token, and only before it expires.
    let third = session(&ada, 60);
    assert!(store.add_session(&ada, &third, &Effects::NONE).await.unwrap());
    let mut renewed = third.clone();
    renewed.token_id = TokenId::random();
    let before = store.changes().stamp(ada.id);
    assert!(store.renew_session(&third, renewed.token_id, NOW).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.renew_session(&third, TokenId::random(), NOW).await.unwrap());
    assert_eq!(store.session_with_user(third.id).await.unwrap().unwrap().0, renewed);
    wait_until_listed(store, [&third]).await;

    // Recording its last use does not count as a change.
    let seen_at = NOW + Duration::from_secs(30);
    let before = store.changes().stamp(ada.id);
    store.set_last_seen(&[(third.id, seen_at), (SessionId::random(), seen_at)]).await.unwrap();
    assert!(store.changes().is_current(before));
    let mut seen = renewed;
    seen.last_seen_at = seen_at;
    assert_eq!(store.sessions_by_user(ada.id, seen_at).await.unwrap(), std::slice::from_ref(&seen));
    assert_eq!(store.sessions_by_user(ada.id, seen.expires_at).await.unwrap(), []);

    // The idle timeout is stored with the session.
    let mut idle = session(&ada, 60);
    idle.idle_timeout = Some(Duration::from_secs(15 * 60));
    assert!(store.add_session(&ada, &idle, &Effects::NONE).await.unwrap());
    assert_eq!(store.session_with_user(idle.id).await.unwrap().unwrap().0, idle);
    assert!(store.end_session(ada.id, idle.id, NOW, &Effects::NONE).await.unwrap());
    wait_until_listed(store, [&idle]).await;

    // A sign-in code is used once, also after expired codes have been deleted.
    let (code, other) = (CodeId::random(), CodeId::random());
    assert!(store.use_code(code, NOW, &Effects::NONE).await.unwrap());
    assert!(!store.use_code(code, NOW, &Effects::NONE).await.unwrap());
    assert!(store.use_code(other, NOW + Duration::from_secs(1), &Effects::NONE).await.unwrap());
    store.delete_expired(NOW, 10).await.unwrap();
    assert!(
        store.use_code(code, NOW, &Effects::NONE).await.unwrap(),
        "an expired code is forgotten"
    );
    assert!(!store.use_code(other, NOW + Duration::from_secs(1), &Effects::NONE).await.unwrap());

    // Only its owner can end a session.
    assert!(!store.end_session(bob.id, third.id, NOW, &Effects::NONE).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.end_session(ada.id, third.id, NOW, &Effects::NONE).await.unwrap());
    assert!(!store.changes().is_current(before));
    wait_until_listed(store, [&seen]).await;
    assert!(!store.end_session(ada.id, third.id, NOW, &Effects::NONE).await.unwrap());
    assert!(!store.renew_session(&seen, TokenId::random(), NOW).await.unwrap());

    verify_addresses(store, &ada).await;
    end_reused_sessions(store, &ada, &bob).await;
    change_names_and_addresses(store, &ada, &bob).await;
    set_passwords(store, &ada).await;
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    disable_and_enable(store, &ada).await;

    // Deleting a user deletes their sessions, and none can be added afterwards.
    let last = session(&ada, 60);
    assert!(store.add_session(&ada, &last, &Effects::NONE).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert!(!store.changes().is_current(before));
    assert!(!store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(store.session_with_user(last.id).await.unwrap(), None);
    wait_until_listed(store, [&last]).await;
    assert!(!store.add_session(&ada, &session(&ada, 60), &Effects::NONE).await.unwrap());
    assert_eq!(store.users(None, 10).await.unwrap(), [bob]);

    // The address can be registered again.
    let again = user("Ada again", "ada@example.com");
    store.add_user(&again, &Effects::NONE).await.unwrap();

    // Old ended tokens are deleted in batches.
    assert!(
        !ended_tokens(store).contains(&first.token_id),
        "an expired session is not listed as ended"
    );
    let kept = ended_tokens(store);
    assert_eq!(store.delete_endings(NOW, 10).await.unwrap(), 0);
    assert_eq!(ended_tokens(store), kept);
    let waiting = store.endings().count();
    let late_one = session(&again, 60);
    assert!(store.add_session(&again, &late_one, &Effects::NONE).await.unwrap());
    assert!(!waiting.has_changed().unwrap());
    let late = NOW + Duration::from_secs(3600);
    assert_eq!(store.end_sessions(again.id, late, &Effects::NONE).await.unwrap(), 1);
    wait_until_listed(store, [&late_one]).await;
    assert!(waiting.has_changed().unwrap());
    while store.delete_endings(late, 10).await.unwrap() > 0 {}
    assert_eq!(ended_tokens(store), HashSet::from([late_one.token_id]));
}

/// The tokens that have ended.
fn ended_tokens(store: &Store) -> HashSet<TokenId> {
    let endings = store.endings();
    endings.tokens(endings.since_start()).unwrap().0.into_iter().collect()
}

/// Waits until the tokens of these sessions are listed as ended.
pub async fn wait_until_listed(store: &Store, ended: impl IntoIterator<Item = &Session> + Clone) {
    let mut count = store.endings().count();
    let all_listed = async {
        while !ended
            .clone()
            .into_iter()
            .all(|session| ended_tokens(store).contains(&session.token_id))
        {
            count.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_listed)
        .await
        .expect("the tokens are listed as ended");
}

async fn verify_addresses(store: &Store, ada: &User) {
    let verified = async || store.user_by_id(ada.id).await.unwrap().unwrap().email_verified;
    let later = NOW + Duration::from_secs(4);
    assert!(!ada.email_verified && !verified().await, "a new address is not verified");

    // It is set for the record that was read only, and changes the record.
    let set = async |verified| {
        let set = |user: &mut User| user.email_verified = verified;
        assert!(edit(store, ada.id, later, set, &Effects::NONE).await.unwrap());
    };
    let before = store.changes().stamp(ada.id);
    set(true).await;
    assert!(!store.changes().is_current(before));
    let noted = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert!(noted.email_verified && noted.updated_at == later);
    set(false).await;
    assert!(!verified().await);
    let elsewhere = Email::parse("ada@elsewhere.example".into()).unwrap();
    store.change_user(ada.id, None, Some(&elsewhere), later, &Effects::NONE).await.unwrap();
    let stale = store.edit_user(&noted, &noted, &Effects::NONE).await.unwrap();
    assert_eq!((stale, verified().await), (Conditional::Changed, false));
    let nobody = user("Nobody", "nobody@example.com");
    let gone = store.edit_user(&nobody, &nobody, &Effects::NONE).await.unwrap();
    assert_eq!(gone, Conditional::Gone);

    // A new name or the same address keeps it. A new address or another spelling resets it.
    let other_spelling = Email::parse(ada.email.as_str().to_ascii_uppercase()).unwrap();
    for (name, email, stays) in [
        (Some(&ada.name), None, true),
        (None, Some(&ada.email), true),
        (None, Some(&elsewhere), false),
        (Some(&ada.name), Some(&other_spelling), false),
    ] {
        store.change_user(ada.id, None, Some(&ada.email), later, &Effects::NONE).await.unwrap();
        set(true).await;
        let changed =
            store.change_user(ada.id, name, email, later, &Effects::NONE).await.unwrap().unwrap();
        assert_eq!((changed.email_verified, verified().await), (stays, stays), "{email:?}");
        set(false).await;
    }
    store.change_user(ada.id, None, Some(&ada.email), later, &Effects::NONE).await.unwrap();
}

/// The token of this session as a reused one, which expires with the session.
pub fn reused(session: &Session) -> ReusedToken {
    ReusedToken {
        user_id: session.user_id,
        session_id: session.id,
        token_id: session.token_id,
        expires_at: session.expires_at,
    }
}

/// A session that has been renewed at `NOW`, and as it was before.
pub async fn renewed_session(store: &Store, ada: &User) -> (Session, Session) {
    let first = session(ada, 60);
    assert!(store.add_session(ada, &first, &Effects::NONE).await.unwrap());
    let mut second = first.clone();
    second.token_id = TokenId::random();
    assert!(store.renew_session(&first, second.token_id, NOW).await.unwrap());
    (first, second)
}

async fn end_reused_sessions(store: &Store, ada: &User, bob: &User) {
    let (first, second) = renewed_session(store, ada).await;
    let before = Timestamp::from_millis(NOW.millis() - 1);
    let end = async |reused: ReusedToken, replaced_by, now| {
        store.end_reused_session(&reused, replaced_by, now, &Effects::NONE).await.unwrap()
    };
    // The current token, an unknown one, one replaced just now, or another user's does not end it.
    assert!(!end(reused(&second), NOW, NOW).await);
    assert!(!end(ReusedToken { token_id: TokenId::random(), ..reused(&first) }, NOW, NOW).await);
    assert!(!end(reused(&first), before, NOW).await);
    assert!(!end(ReusedToken { user_id: bob.id, ..reused(&first) }, NOW, NOW).await);
    assert!(!end(reused(&first), NOW, first.expires_at).await, "it has expired");
    assert_eq!(store.session_with_user(first.id).await.unwrap().unwrap().0, second);
    // The replaced token ends the session once, and the current token is listed as ended.
    let stamp = store.changes().stamp(ada.id);
    assert!(end(reused(&first), NOW, NOW).await);
    assert!(!store.changes().is_current(stamp));
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
    wait_until_listed(store, [&first, &second]).await;
    assert!(!end(reused(&first), NOW, NOW).await);

    // An expired token that is not listed as ended any more was replaced long ago. The current one was not.
    let (first, second) = renewed_session(store, ada).await;
    let expired = |session: &Session| ReusedToken { expires_at: NOW, ..reused(session) };
    assert!(!end(expired(&first), before, NOW).await, "it was replaced just now");
    let unlisted = ReusedToken { token_id: TokenId::random(), ..reused(&first) };
    assert!(!end(unlisted, NOW, NOW).await, "it has not expired");
    assert!(!end(expired(&second), NOW, NOW).await);
    assert!(!end(ReusedToken { user_id: bob.id, ..expired(&first) }, NOW, NOW).await);
    assert!(end(ReusedToken { expires_at: NOW, ..unlisted }, before, NOW).await);
    assert_eq!(store.session_with_user(first.id).await.unwrap(), None);
}

async fn change_names_and_addresses(store: &Store, ada: &User, bob: &User) {
    let later = NOW + Duration::from_secs(5);
    let (name, email) = (Name::parse("Augusta".into()), Email::parse("augusta@example.com".into()));
    let (name, email) = (name.unwrap(), email.unwrap());
    let before = store.changes().stamp(ada.id);
    let renamed =
        store.change_user(ada.id, Some(&name), None, later, &Effects::NONE).await.unwrap().unwrap();
    assert!(!store.changes().is_current(before));
    assert_eq!((&renamed.name, &renamed.email), (&name, &ada.email));
    assert_eq!((renamed.created_at, renamed.updated_at), (NOW, later));
    let moved = store
        .change_user(ada.id, None, Some(&email), later, &Effects::NONE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.user_by_email(&email.key()).await.unwrap(), Some(moved));
    assert_eq!(store.user_by_email(&ada.email.key()).await.unwrap(), None);

    // A taken address changes nothing.
    let taken =
        store.change_user(ada.id, Some(&ada.name), Some(&bob.email), later, &Effects::NONE).await;
    assert!(matches!(taken, Err(Error::EmailTaken)));
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap().name, name);
    assert_eq!(
        store
            .change_user(UserId::random(), Some(&name), None, later, &Effects::NONE)
            .await
            .unwrap(),
        None
    );
}

async fn set_passwords(store: &Store, ada: &User) {
    let hash = |text: &str| PasswordHash::from_store(text.into());
    let later = NOW + Duration::from_secs(7);
    let (kept, other) = (session(ada, 60), session(ada, 60));
    for session in [&kept, &other] {
        assert!(store.add_session(ada, session, &Effects::NONE).await.unwrap());
    }

    // A new password ends the other sessions.
    let set = async |old, new: &str| {
        store
            .set_password(ada.id, old, &hash(new), Some(kept.id), later, &Effects::NONE)
            .await
            .unwrap()
    };
    let before = store.changes().stamp(ada.id);
    assert!(set(PasswordCondition::Unchanged(ada.password_version()), "newer").await);
    assert!(!store.changes().is_current(before));
    let changed = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert_eq!((changed.password_hash(), changed.updated_at), (Some(&hash("newer")), later));
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), std::slice::from_ref(&kept));
    wait_until_listed(store, [&other]).await;

    // The previous password neither changes it nor signs in.
    assert!(!set(PasswordCondition::Unchanged(ada.password_version()), "stolen").await);
    assert_eq!(store.user_by_id(ada.id).await.unwrap().unwrap(), changed);
    assert!(!store.add_session(ada, &session(ada, 60), &Effects::NONE).await.unwrap());

    // The operator needs no password.
    let overrule = async |id| {
        let old = PasswordCondition::Unconditional;
        store.set_password(id, old, &hash("overruled"), None, later, &Effects::NONE).await.unwrap()
    };
    assert!(overrule(ada.id).await);
    assert!(!overrule(UserId::random()).await);
}

async fn disable_and_enable(store: &Store, ada: &User) {
    let set = async |id, disabled| {
        edit(store, id, NOW, |user| user.disabled = disabled, &Effects::NONE).await.unwrap()
    };
    let disabled = session(ada, 60);
    assert!(store.add_session(ada, &disabled, &Effects::NONE).await.unwrap());
    let before = store.changes().stamp(ada.id);
    assert!(set(ada.id, true).await);
    wait_until_listed(store, [&disabled]).await;
    assert!(!store.changes().is_current(before));
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
    assert!(!store.add_session(ada, &session(ada, 60), &Effects::NONE).await.unwrap());
    assert!(set(ada.id, false).await);
    assert!(store.add_session(ada, &session(ada, 60), &Effects::NONE).await.unwrap());
    assert!(!set(UserId::random(), true).await);
}

#[tokio::test]
async fn users_and_sessions_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doorward.db");
    let store = Store::open_sqlite(&file, None).unwrap();
    run_all(&store).await;
    let ended = ended_tokens(&store);
    drop(store);
    let reopened = Store::open_sqlite(&file, None).unwrap();
    assert_eq!(ended_tokens(&reopened), ended);
    assert_eq!(reopened.users(None, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn users_and_sessions_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let store = open_postgres(&url).await;
    run_all(&store).await;
    let reopened = open_postgres(&url).await;
    assert_eq!(ended_tokens(&reopened), ended_tokens(&store));
    assert_eq!(reopened.users(None, 10).await.unwrap().len(), 2);
}
