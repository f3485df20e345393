//! Invitations on every store: replaced, used, revoked, expired and deleted with their users.

use std::{slice, sync::Arc, time::Duration};

use doorward::internals::{
    mail::Message,
    session::Session,
    store::{Effects, Error, Requirement, SignIn, SignInRefusal, SignInWritten, Store},
    token::one_time::{OneTimeSecret, Purpose, SecretDigest},
    user::{Email, EmailKey, Invitation, InvitationId, Role, Roles, User, UserId},
};

use crate::{NOW, edit, mail, outbox::queued, postgres_store, session, user};

pub fn invitation(email: &str, invited_by: Option<UserId>) -> (Invitation, SecretDigest) {
    let id = InvitationId::random();
    let invitation = Invitation {
        id,
        email: Email::parse(email.into()).unwrap(),
        roles: ["staff", "a:b"].iter().map(|role| Role::parse(role).unwrap()).collect::<Roles>(),
        invited_by,
        is_mailed: invited_by.is_some(),
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(60),
        guesses: 0,
    };
    (invitation, OneTimeSecret::unchecked(format!("secret of {id}")).digest())
}

/// Adds a user whom an invitation admits. Returns false if it does not.
async fn add_invited(
    store: &Store,
    user: &User,
    session: &Session,
    invitation: InvitationId,
    effects: &Effects,
) -> Result<bool, Error> {
    let requires = vec![Requirement::Invitation(invitation)];
    let sign_in = SignIn { requires, ..SignIn::of_new_user(user, session.clone()) };
    let written = store.sign_in(sign_in, effects).await?;
    if let SignInWritten::Refused(reason) = written {
        assert_eq!(reason, SignInRefusal::InvitationGone);
        return Ok(false);
    }
    Ok(true)
}

async fn invite(
    store: &Store,
    email: &str,
    invited_by: Option<UserId>,
) -> (Invitation, SecretDigest) {
    let (invitation, digest) = invitation(email, invited_by);
    store.add_invitation(&invitation, &digest, &Effects::NONE).await.unwrap();
    (invitation, digest)
}

/// The unexpired invitation to this address.
async fn to(store: &Store, email: &str) -> Option<Invitation> {
    store.invitation_by_email(&EmailKey::of(email), NOW).await.unwrap()
}

async fn run_all(store: &Store) {
    find_replace_and_revoke(store).await;
    list(store).await;
    register(store).await;
    delete_with_users(store).await;
}

async fn find_replace_and_revoke(store: &Store) {
    let inviter = UserId::random();
    let (first, digest) = invitation("Ada@Example.com", Some(inviter));
    let notice = mail(Some(inviter), Message::Nothing);
    let effects = Effects { mails: vec![notice.clone()], ..Effects::NONE };
    store.add_invitation(&first, &digest, &effects).await.unwrap();
    assert_eq!(queued(store, inviter).await, slice::from_ref(&notice));
    store.delete_mail(notice.id).await.unwrap();
    let by_digest = async |digest, now| store.invitation_by_digest(digest, now).await.unwrap();
    assert_eq!(by_digest(&digest, NOW).await.as_ref(), Some(&first));
    assert_eq!(by_digest(&digest, first.expires_at).await, None);
    assert_eq!(to(store, "aDA@example.com").await.as_ref(), Some(&first));
    let key = first.email.key();
    assert_eq!(store.invitation_by_email(&key, first.expires_at).await.unwrap(), None);
    assert_eq!(to(store, "ada\0@example.com").await, None);

    // Codes are counted, and those for an address without an invitation are not.
    let charge = async |email: &str, now| {
        store.charge_guess(Purpose::Invitation, &EmailKey::of(email), now).await.unwrap()
    };
    assert_eq!(charge("aDA@example.com", NOW).await, 1);
    assert_eq!(charge("ada@example.com", NOW).await, 1);
    assert_eq!(charge("ada@example.com", first.expires_at).await, 0);
    assert_eq!(charge("bob@example.com", NOW).await, 0);
    let counted = Invitation { guesses: 2, ..first.clone() };
    assert_eq!(to(store, "ada@example.com").await, Some(counted));

    // A later one replaces it.
    let (second, newer) = invite(store, "ADA@example.com", None).await;
    assert_eq!(by_digest(&digest, NOW).await, None);
    assert_eq!(by_digest(&newer, NOW).await.as_ref(), Some(&second));
    assert!(!store.delete_invitation(first.id, &Effects::NONE).await.unwrap());
    assert!(store.delete_invitation(second.id, &Effects::NONE).await.unwrap());
    assert!(!store.delete_invitation(second.id, &Effects::NONE).await.unwrap());
    assert_eq!(by_digest(&newer, NOW).await, None);
    assert_eq!(to(store, "ada@example.com").await, None);

    // Expired ones are deleted with the others.
    let (third, _) = invite(store, "ada@example.com", None).await;
    store.delete_expired(NOW, 10).await.unwrap();
    assert!(to(store, "ada@example.com").await.is_some());
    assert_eq!(store.delete_expired(third.expires_at, 10).await.unwrap(), 1);
    assert_eq!(to(store, "ada@example.com").await, None);
}

async fn list(store: &Store) {
    let (ada, bob) = (UserId::random(), UserId::random());
    let (second, _) = invite(store, "b-2@example.com", Some(bob)).await;
    let (third, _) = invite(store, "C@example.com", Some(ada)).await;
    let (first, _) = invite(store, "b.1@example.com", Some(ada)).await;
    let (mut expired, digest) = invitation("b@example.com", Some(ada));
    expired.expires_at = NOW;
    store.add_invitation(&expired, &digest, &Effects::NONE).await.unwrap();
    let page = async |invited_by, after: Option<&Invitation>, limit| {
        let after = after.map(|invitation| invitation.email.key());
        store.invitations(invited_by, after.as_ref(), limit, NOW).await.unwrap()
    };
    let all = [second.clone(), first.clone(), third.clone()];
    assert_eq!(page(None, None, 10).await, all);
    assert_eq!(page(None, None, 2).await, all[..2]);
    assert_eq!(page(None, Some(&all[1]), 10).await, all[2..]);
    assert_eq!(page(Some(ada), None, 10).await, [first, third]);
    assert_eq!(page(Some(bob), None, 10).await, [second]);
    assert_eq!(page(Some(UserId::random()), None, 10).await, []);
    for invitation in all {
        assert!(store.delete_invitation(invitation.id, &Effects::NONE).await.unwrap());
    }
}

async fn register(store: &Store) {
    let ada = user("Ada", "Invited@Example.com");
    let open = session(&ada, 60);
    let notice = mail(Some(ada.id), Message::Nothing);
    let effects = Effects { mails: vec![notice.clone()], ..Effects::NONE };
    let (invited, _) = invite(store, "invited@example.com", None).await;
    let (other, _) = invite(store, "other@example.com", None).await;

    // One that is gone, has expired or is to another address is refused, and nothing is written.
    let mut late = ada.clone();
    late.created_at = invited.expires_at;
    for (user, id) in [(&ada, InvitationId::random()), (&ada, other.id), (&late, invited.id)] {
        assert!(!add_invited(store, user, &open, id, &effects).await.unwrap());
    }
    assert_eq!(store.user_by_id(ada.id).await.unwrap(), None);
    assert_eq!(store.session_with_user(open.id).await.unwrap(), None);
    assert_eq!(queued(store, ada.id).await, []);
    assert!(to(store, "invited@example.com").await.is_some());
    assert!(to(store, "other@example.com").await.is_some());

    // The right one is used once.
    assert!(add_invited(store, &ada, &open, invited.id, &effects).await.unwrap());
    assert_eq!(store.session_with_user(open.id).await.unwrap(), Some((open, ada.clone())));
    assert_eq!(queued(store, ada.id).await, [notice]);
    assert_eq!(to(store, "invited@example.com").await, None);

    // A taken address is reported as one, with and without an invitation to it.
    let eve = user("Eve", "INVITED@example.com");
    let of_eve = session(&eve, 60);
    for id in [invited.id, invite(store, "invited@example.com", None).await.0.id] {
        let refused = add_invited(store, &eve, &of_eve, id, &Effects::NONE).await;
        assert!(matches!(refused, Err(Error::EmailTaken)), "{refused:?}");
    }
    assert!(to(store, "invited@example.com").await.is_some());
    assert!(store.delete_invitation(other.id, &Effects::NONE).await.unwrap());
    let none = &Effects::NONE;
    assert!(edit(store, ada.id, NOW, |user| user.email_verified = true, none).await.unwrap());
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
}

async fn delete_with_users(store: &Store) {
    let (mut ada, bob) = (user("Ada", "from@example.com"), user("Bob", "bob@example.com"));
    ada.email_verified = true;
    // Somebody who has registered the address of another, and not verified it.
    let eve = user("Eve", "by-operator@example.com");
    for user in [&ada, &bob, &eve] {
        store.add_user(user, &Effects::NONE).await.unwrap();
    }
    for (email, invited_by) in [
        ("by-ada@example.com", Some(ada.id)),
        ("FROM@example.com", Some(bob.id)),
        ("by-bob@example.com", Some(bob.id)),
        ("by-operator@example.com", None),
    ] {
        invite(store, email, invited_by).await;
    }
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert!(store.delete_user(eve.id, NOW, &Effects::NONE).await.unwrap());
    let left = store.invitations(None, None, 10, NOW).await.unwrap();
    let left: Vec<_> = left.iter().map(|invitation| invitation.email.as_str()).collect();
    assert_eq!(left, ["by-bob@example.com", "by-operator@example.com"]);
}

#[tokio::test]
async fn invitations_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn invitations_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_used_or_revoked_once() {
    let folder = tempfile::tempdir().unwrap();
    use_at_once(Arc::new(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()))
        .await;
    if let Some(store) = postgres_store().await {
        use_at_once(Arc::new(store)).await;
    }
}

async fn use_at_once(store: Arc<Store>) {
    for round in 0..20 {
        let email = format!("round{round}@example.com");
        let (invited, _) = invite(&store, &email, None).await;
        let racing: Vec<_> = (0..8)
            .map(|_| {
                let (store, id, user) = (Arc::clone(&store), invited.id, user("Ada", &email));
                tokio::spawn(async move {
                    let open = session(&user, 60);
                    match add_invited(&store, &user, &open, id, &Effects::NONE).await {
                        Ok(is_added) => is_added,
                        Err(Error::EmailTaken) => false,
                        Err(other) => panic!("{other}"),
                    }
                })
            })
            .collect();
        let (revoking, id) = (Arc::clone(&store), invited.id);
        let revoking =
            tokio::spawn(
                async move { revoking.delete_invitation(id, &Effects::NONE).await.unwrap() },
            );
        let mut used = 0;
        for outcome in racing {
            used += usize::from(outcome.await.unwrap());
        }
        assert_eq!(used + usize::from(revoking.await.unwrap()), 1);
        let registered = store.user_by_email(&EmailKey::of(&email)).await.unwrap();
        assert_eq!(registered.is_some(), used == 1);
    }
}
