//! Securing an account that was taken over, on every store: what ends, what stays, and that nothing does if the user has changed.

use std::time::Duration;

use doorward::internals::{
    event::AccessEnded,
    mail::{EndedBy, Message},
    store::{AddFactor, AddKey, Conditional, Effects, Store},
    token::{cookie::CodeId, one_time::Purpose},
    user::{Email, StoredTotp},
};

use crate::{
    NOW, api_keys::api_key, invitations::invitation, limits::passkey, mail,
    one_time_secrets::one_time, operations::wait_until_listed, postgres_store, session, user,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn an_account_is_secured(store: &Store) {
    let (ada, bob) = (user("Ada", "ada@example.com"), user("Bob", "bob@example.com"));
    let sessions = [session(&ada, 60), session(&bob, 60)];
    for (user, session) in [&ada, &bob].into_iter().zip(&sessions) {
        store.add_user_with_session(user, session, &Effects::NONE).await.unwrap();
    }
    let mut keys = Vec::new();
    for owner in [&ada, &bob] {
        let (key, digest) = api_key(Some(owner.id));
        let added = store.add_personal_key(owner, &key, &digest, &Effects::NONE).await.unwrap();
        assert_eq!(added, AddKey::Added);
        keys.push(key.id);
    }
    let link = one_time(&ada, Purpose::ChangeEmail);
    let back = one_time(&ada, Purpose::RestoreEmail);
    let of_bob = one_time(&bob, Purpose::ResetPassword);
    let mails = vec![
        mail(Some(ada.id), Message::ChangeEmail { one_time: link.id }),
        mail(Some(ada.id), Message::SessionsEnded { by: EndedBy::Operator, at: 0 }),
        mail(Some(bob.id), Message::ResetPassword { one_time: of_bob.id, target: None }),
    ];
    let secrets = vec![link.clone(), back.clone(), of_bob.clone()];
    store.queue_mail(&Effects { mails, secrets, ..Effects::NONE }).await.unwrap();
    for (inviter, guest) in [(&ada, "x@example.com"), (&bob, "y@example.com")] {
        let (made, digest) = invitation(guest, Some(inviter.id));
        store.add_invitation(&made, &digest, &Effects::NONE).await.unwrap();
    }
    let totp = StoredTotp {
        user_id: ada.id,
        secret: vec![1; 48],
        last_step: 0,
        created_at: NOW - 40 * DAY,
        last_used_at: None,
    };
    let added = store.add_totp(&ada, &totp, &[], None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    let (passkey, setup) = (passkey(&ada), (CodeId::random(), NOW));
    let added = store.add_passkey(&ada, &passkey, setup, &[], None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert_eq!(store.earlier_emails(&ada, NOW).await.unwrap(), std::slice::from_ref(&back.email));

    // Somebody else has written since this was read.
    let mut stale = ada.clone();
    stale.email = Email::parse("earlier@example.com".into()).unwrap();
    let before = crate::rows(store).await.unwrap();
    let unchanged = store.secure_user(&stale, None, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(unchanged, (Conditional::Changed, AccessEnded::default()));
    assert_eq!(crate::rows(store).await.unwrap(), before);

    let stamp = store.changes().stamp(ada.id);
    let since = Some(NOW - 30 * DAY);
    let (done, ended) = store.secure_user(&ada, since, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(done, Conditional::Done);
    let expected = AccessEnded {
        sessions: 1,
        api_keys: 1,
        trusted_devices: 0,
        factors: 1,
        codes: 2,
        invitations: 1,
        password: true,
    };
    assert_eq!(ended, expected);
    assert!(!store.changes().is_current(stamp), "callers are cached");
    wait_until_listed(store, &sessions[..1]).await;
    let now = store.user_by_id(ada.id).await.unwrap().unwrap();
    assert!(now.password_hash().is_none());
    assert_eq!(now.factors.to_text(), "totp", "the older one stays");
    // A sign-in with the old password that has begun before opens no session.
    assert!(!store.add_session(&ada, &session(&ada, 60), &Effects::NONE).await.unwrap());

    // Others keep what they have.
    assert!(store.session_with_user(sessions[1].id).await.unwrap().is_some());
    assert_eq!(store.api_key_by_id(keys[1]).await.unwrap().unwrap().revoked_at, None);
    let left = store.one_time_by_digest(of_bob.purpose, &of_bob.digest).await.unwrap();
    assert!(left.is_some());
    assert_eq!(store.mail_queue(None, 10).await.unwrap().len(), 2, "the notice, and Bob's");

    let again = store.secure_user(&now, since, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(again, (Conditional::Done, AccessEnded::default()), "it can be repeated");
    store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap();
    let gone = store.secure_user(&now, since, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(gone, (Conditional::Gone, AccessEnded::default()));
}

#[tokio::test]
async fn an_account_is_secured_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    an_account_is_secured(&store).await;
}

#[tokio::test]
async fn an_account_is_secured_on_postgres() {
    if let Some(store) = postgres_store().await {
        an_account_is_secured(&store).await;
    }
}
