//! Revoking everything, on every store: what is void afterwards, and what stays.

use doorward::internals::{
    mail::{EndedBy, Message},
    store::{AddKey, Effects, NewPasswords, Revoked, Store},
    token::one_time::Purpose,
    user::Role,
};

use crate::{
    NOW, api_keys::api_key, mail, one_time_secrets::one_time, operations::wait_until_listed,
    postgres_store, session, user,
};

/// Two users with a session each, a link, a mail with it, a notice and a reset code. Ada is an admin.
async fn everything_is_revoked(store: &Store) {
    let (ada, bob) = (user("Ada", "ada@example.com"), user("Bob", "bob@example.com"));
    let sessions = [session(&ada, 60), session(&bob, 60)];
    for (user, session) in [&ada, &bob].into_iter().zip(&sessions) {
        store.add_user_with_session(user, session, &Effects::NONE).await.unwrap();
    }
    let role = |text| Role::parse(text).unwrap();
    store.grant_role(ada.id, &role("admin"), NOW, &Effects::NONE).await.unwrap();
    store.grant_role(bob.id, &role("administrator"), NOW, &Effects::NONE).await.unwrap();
    let link = one_time(&ada, Purpose::ResetPassword);
    let code = one_time(&bob, Purpose::OperatorReset);
    // Somebody has chosen the name of their program to look like a mail with a secret.
    let user_agent = r#"{"one_time":"x"}"#.to_owned();
    let notice = Message::NewSignIn { user_agent, address: [192, 0, 2, 7].into(), at: 0 };
    let mails = vec![
        mail(Some(ada.id), Message::ResetPassword { one_time: link.id, target: None }),
        mail(Some(ada.id), notice),
        mail(None, Message::SessionsEnded { by: EndedBy::Operator, at: 0 }),
    ];
    let effects = Effects { mails, secrets: vec![link.clone(), code.clone()], ..Effects::NONE };
    store.queue_mail(&effects).await.unwrap();
    let (machine, machine_digest) = api_key(None);
    store.add_machine_key(&machine, &machine_digest, &Effects::NONE).await.unwrap();
    let (key, digest) = api_key(Some(ada.id));
    let added = store.add_personal_key(&ada, &key, &digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);
    let stamps = [&ada, &bob].map(|user| store.changes().stamp(user.id));

    let admins = NewPasswords::WithRole(role("admin"));
    let revoked = store.revoke_everything(&admins, NOW, &Effects::NONE).await.unwrap();
    let none = Revoked::default();
    let expected =
        Revoked { sessions: 2, one_time_secrets: 2, mails: 1, api_keys: 2, passwords: 1, ..none };
    assert_eq!(revoked, expected);
    for digest in [&machine_digest, &digest] {
        let (key, _) = store.api_key_by_digest(digest).await.unwrap().unwrap();
        assert_eq!((key.revoked_at, key.expires_at), (Some(NOW), NOW));
    }
    assert!(stamps.iter().all(|stamp| !store.changes().is_current(*stamp)), "callers are cached");
    for session in &sessions {
        assert!(store.session_with_user(session.id).await.unwrap().is_none());
    }
    wait_until_listed(store, &sessions).await;
    for secret in [&link, &code] {
        let found = store.one_time_by_digest(secret.purpose, &secret.digest).await.unwrap();
        assert!(found.is_none());
    }
    assert_eq!(store.mail_queue(None, 10).await.unwrap().len(), 2, "the notices stay");
    let now = async |id| store.user_by_id(id).await.unwrap().unwrap();
    let (ada_now, bob_now) = (now(ada.id).await, now(bob.id).await);
    assert!(ada_now.password_hash().is_none());
    assert_eq!(bob_now.password_hash(), bob.password_hash());
    // A login that has verified the old password opens no session.
    assert!(!store.add_session(&ada, &session(&ada, 60), &Effects::NONE).await.unwrap());
    assert!(store.add_session(&bob, &session(&bob, 60), &Effects::NONE).await.unwrap());

    for (new_passwords, passwords) in [(NewPasswords::None, 0), (NewPasswords::All, 1)] {
        let revoked = store.revoke_everything(&new_passwords, NOW, &Effects::NONE).await.unwrap();
        assert_eq!(revoked.passwords, passwords);
    }
    let revoked = store.revoke_everything(&NewPasswords::All, NOW, &Effects::NONE).await.unwrap();
    assert_eq!(revoked, Revoked::default(), "it can be repeated");
}

#[tokio::test]
async fn everything_is_revoked_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    everything_is_revoked(&store).await;
}

#[tokio::test]
async fn everything_is_revoked_on_postgres() {
    let Some(store) = postgres_store().await else { return };
    everything_is_revoked(&store).await;
}
