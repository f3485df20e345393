//! One-time secrets on every store: each use, and each way in which a secret is not valid.

use std::{slice, sync::Arc, time::Duration};

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Message,
    session::{Method, Methods, Session},
    store::{
        AddFactor, Effects, Error, MAX_CODES, MAX_SESSIONS, OneTimeUse, PasswordCondition,
        Requirement, SignIn, SignInWritten, Store,
    },
    token::one_time::{MAX_GUESSES, OneTime, OneTimeId, OneTimeSecret, Purpose},
    user::{Email, StoredTotp, User, UserId},
};

use crate::{
    NOW, edit, mail, operations::wait_until_listed, outbox::queued, postgres_store, session, user,
};

const LATER: Timestamp = Timestamp::from_millis(1_800_000_005_123);

/// A secret for this user that was sent to their address.
pub fn one_time(user: &User, purpose: Purpose) -> OneTime {
    one_time_to(user, &user.email, purpose)
}

fn one_time_to(user: &User, email: &Email, purpose: Purpose) -> OneTime {
    let id = OneTimeId::random();
    OneTime {
        id,
        purpose,
        user_id: user.id,
        email: email.clone(),
        user_email: user.email.clone(),
        password_version: user.password_version(),
        digest: OneTimeSecret::unchecked(format!("secret of {id}")).digest(),
        expires_at: NOW + Duration::from_secs(60),
        guesses: 0,
    }
}

fn email(text: &str) -> Email {
    Email::parse(text.into()).unwrap()
}

fn hash(text: &str) -> PasswordHash {
    PasswordHash::from_store(text.into())
}

/// Every use but a sign-in.
fn one_time_uses() -> [OneTimeUse; 7] {
    [
        OneTimeUse::VerifyEmail,
        OneTimeUse::ChangeEmail,
        OneTimeUse::RestoreEmail(hash("restored")),
        OneTimeUse::ResetPassword(hash("reset")),
        OneTimeUse::OperatorReset(hash("reset by the operator")),
        OneTimeUse::ResetFactors,
        OneTimeUse::FirstFactor,
    ]
}

/// Signs in with a mailed code or link at this time. Returns the user after it.
async fn sign_in_with(
    store: &Store,
    user: &User,
    code: &OneTime,
    session: &Session,
    effects: &Effects,
) -> Option<User> {
    let requires = vec![Requirement::MailedCode(Box::new(code.clone()))];
    let sign_in = SignIn { requires, ..SignIn::new(user, session.clone()) };
    match store.sign_in(sign_in, effects).await.unwrap() {
        SignInWritten::Begun(user) => Some(*user),
        SignInWritten::Refused(_) => None,
    }
}

fn session_at(user: &User, now: Timestamp) -> Session {
    let mut session = session(user, 60);
    session.authenticated_at = now;
    session
}

/// Adds a secret to the store.
async fn add(store: &Store, one_time: &OneTime) {
    let effects = Effects { secrets: vec![one_time.clone()], ..Effects::NONE };
    store.queue_mail(&effects).await.unwrap();
}

async fn add_user(store: &Store, name: &str) -> User {
    let user = user(name, &format!("{name}@example.com"));
    store.add_user(&user, &Effects::NONE).await.unwrap();
    user
}

async fn change_password(store: &Store, user: &User, new: &str) {
    let (any, new) = (PasswordCondition::Unconditional, hash(new));
    assert!(store.set_password(user.id, any, &new, None, NOW, &Effects::NONE).await.unwrap());
}

async fn stored(store: &Store, id: UserId) -> User {
    store.user_by_id(id).await.unwrap().unwrap()
}

/// Whether the secret is still there.
async fn exists(store: &Store, one_time: &OneTime) -> bool {
    let found = store.one_time_by_digest(one_time.purpose, &one_time.digest).await.unwrap();
    found.is_some_and(|(found, _)| found == *one_time)
}

async fn run_all(store: &Store) {
    find_secrets(store).await;
    count_guesses(store).await;
    verify(store).await;
    change_email(store).await;
    restore_email(store).await;
    reset_password(store).await;
    reset_password_by_operator(store).await;
    reset_factors(store).await;
    sign_in(store).await;
    refuse_secrets_that_are_not_valid(store).await;
}

async fn find_secrets(store: &Store) {
    let (ada, bob) = (add_user(store, "find-ada").await, add_user(store, "find-bob").await);
    let reset = one_time(&ada, Purpose::ResetPassword);
    add(store, &reset).await;
    let by_digest = async |purpose, digest| store.one_time_by_digest(purpose, digest).await;
    let found = by_digest(Purpose::ResetPassword, &reset.digest).await.unwrap();
    assert_eq!(found, Some((reset.clone(), ada.clone())));
    assert_eq!(by_digest(Purpose::SignIn, &reset.digest).await.unwrap(), None);
    let unknown = OneTimeSecret::unchecked(String::new()).digest();
    assert_eq!(by_digest(Purpose::ResetPassword, &unknown).await.unwrap(), None);

    // By address: the latest ones that have not expired, of one purpose, in any letter case.
    let mut codes = Vec::new();
    for second in 1..=MAX_CODES as u64 + 2 {
        let mut code = one_time(&ada, Purpose::SignIn);
        code.expires_at = NOW + Duration::from_secs(second);
        codes.insert(0, (code, ada.clone()));
    }
    for (code, _) in codes.iter().rev() {
        add(store, code).await;
    }
    add(store, &one_time(&bob, Purpose::SignIn)).await;
    let key = email("FIND-ada@example.com").key();
    let by_email =
        async |now| store.one_time_secrets_by_email(Purpose::SignIn, &key, now).await.unwrap();
    assert_eq!(by_email(NOW).await, codes[..MAX_CODES]);
    let end_of_second = codes[1].0.expires_at;
    assert_eq!(by_email(end_of_second).await, codes[..1]);
    let secrets = store.one_time_secrets_by_email(Purpose::VerifyEmail, &key, NOW).await.unwrap();
    assert_eq!(secrets, []);

    // A secret of an unknown user is stored and not found.
    let nobody = user("Nobody", "nobody@example.com");
    let decoy = one_time(&nobody, Purpose::SignIn);
    add(store, &decoy).await;
    assert_eq!(by_digest(Purpose::SignIn, &decoy.digest).await.unwrap(), None);
    let of_nobody =
        store.one_time_secrets_by_email(Purpose::SignIn, &nobody.email.key(), NOW).await;
    assert_eq!(of_nobody.unwrap(), []);
    let used = store.use_one_time(&decoy, OneTimeUse::VerifyEmail, &Effects::NONE, NOW).await;
    assert_eq!(used.unwrap(), None);

    // A secret can be deleted. Expired ones are deleted with the others.
    assert!(store.delete_one_time(reset.id).await.unwrap());
    assert!(!store.delete_one_time(reset.id).await.unwrap());
    assert!(!exists(store, &reset).await);
    store.delete_expired(end_of_second, 100).await.unwrap();
    assert_eq!(by_email(NOW).await, codes[..1]);
}

/// The guesses of the secrets of a purpose that were sent to an address.
async fn guesses(store: &Store, purpose: Purpose, email: &Email, now: Timestamp) -> Vec<u32> {
    let found = store.one_time_secrets_by_email(purpose, &email.key(), now).await.unwrap();
    found.iter().map(|(found, _)| found.guesses).collect()
}

async fn count_guesses(store: &Store) {
    let (ada, bob) = (add_user(store, "guess-ada").await, add_user(store, "guess-bob").await);
    let charge = async |purpose, email: &Email, now| {
        store.charge_guess(purpose, &email.key(), now).await.unwrap()
    };
    assert_eq!(charge(Purpose::VerifyEmail, &ada.email, NOW).await, 0);
    let mut later = one_time(&ada, Purpose::VerifyEmail);
    later.expires_at = later.expires_at + Duration::from_secs(60);
    let earlier = one_time(&ada, Purpose::VerifyEmail);
    let decoy =
        one_time_to(&user("Nobody", "nobody@example.com"), &ada.email, Purpose::VerifyEmail);
    let (other, of_bob) = (one_time(&ada, Purpose::SignIn), one_time(&bob, Purpose::VerifyEmail));
    for secret in [&later, &earlier, &decoy, &other, &of_bob] {
        add(store, secret).await;
    }
    let capitals = email("GUESS-ada@example.com");
    assert_eq!(charge(Purpose::VerifyEmail, &capitals, NOW).await, 3);
    assert_eq!(charge(Purpose::VerifyEmail, &ada.email, earlier.expires_at).await, 1);
    for _ in 0..20 {
        charge(Purpose::VerifyEmail, &ada.email, NOW).await;
    }
    assert_eq!(guesses(store, Purpose::VerifyEmail, &ada.email, NOW).await, [22, 21]);
    assert_eq!(guesses(store, Purpose::SignIn, &ada.email, NOW).await, [0]);
    assert_eq!(guesses(store, Purpose::VerifyEmail, &bob.email, NOW).await, [0]);
    // The link still works.
    let usage = OneTimeUse::VerifyEmail;
    let used = store.use_one_time(&later, usage, &Effects::NONE, NOW).await.unwrap();
    assert!(used.is_some());
}

async fn verify(store: &Store) {
    let ada = add_user(store, "verify-ada").await;
    let secret = one_time(&ada, Purpose::VerifyEmail);
    add(store, &secret).await;
    let notice = mail(Some(ada.id), Message::Nothing);
    let effects = Effects { mails: vec![notice.clone()], ..Effects::NONE };
    let stamp = store.changes().stamp(ada.id);
    let verify = || store.use_one_time(&secret, OneTimeUse::VerifyEmail, &effects, LATER);
    let mut verified = ada.clone();
    (verified.email_verified, verified.updated_at) = (true, LATER);
    assert_eq!(verify().await.unwrap().as_ref(), Some(&verified));
    assert!(!store.changes().is_current(stamp));
    assert_eq!(stored(store, ada.id).await, verified);
    assert!(!exists(store, &secret).await);
    assert_eq!(queued(store, ada.id).await, slice::from_ref(&notice));

    // It works once, and its mail is queued once.
    store.delete_mail(notice.id).await.unwrap();
    assert_eq!(verify().await.unwrap(), None);
    assert_eq!(queued(store, ada.id).await, []);

    // Another one for a verified address changes nothing and is used up.
    let again = one_time(&ada, Purpose::VerifyEmail);
    add(store, &again).await;
    let used = store.use_one_time(&again, OneTimeUse::VerifyEmail, &Effects::NONE, NOW).await;
    assert_eq!(used.unwrap(), Some(verified));
    assert!(!exists(store, &again).await);
}

async fn change_email(store: &Store) {
    let (ada, bob) = (add_user(store, "change-ada").await, add_user(store, "change-bob").await);
    let first = one_time_to(&ada, &email("first@example.com"), Purpose::ChangeEmail);
    let mut second = one_time_to(&ada, &email("Second@Example.com"), Purpose::ChangeEmail);
    second.expires_at = second.expires_at + Duration::from_secs(1);
    let (reset, of_bob) =
        (one_time(&ada, Purpose::ResetPassword), one_time(&bob, Purpose::ChangeEmail));
    for secret in [&first, &second, &reset, &of_bob] {
        add(store, secret).await;
    }
    let pending = async |user: &User, now| {
        store.pending_one_time(user, Purpose::ChangeEmail, now).await.unwrap()
    };
    assert_eq!(pending(&ada, NOW).await.as_ref(), Some(&second));
    assert_eq!(pending(&ada, second.expires_at).await, None);
    let mut elsewhere = ada.clone();
    elsewhere.email = email("elsewhere@example.com");
    assert_eq!(pending(&elsewhere, NOW).await, None, "it is void");

    // A taken address changes nothing, and the secret stays.
    let taken = one_time_to(&ada, &email("CHANGE-bob@example.com"), Purpose::ChangeEmail);
    add(store, &taken).await;
    let effects = Effects { mails: vec![mail(Some(ada.id), Message::Nothing)], ..Effects::NONE };
    let refused = store.use_one_time(&taken, OneTimeUse::ChangeEmail, &effects, LATER).await;
    assert!(matches!(refused, Err(Error::EmailTaken)), "{refused:?}");
    assert_eq!(stored(store, ada.id).await, ada);
    assert_eq!(queued(store, ada.id).await, []);
    assert!(exists(store, &taken).await);

    // The new address is verified. Other changes of the address are deleted, and the effects is stored.
    let restore = one_time(&ada, Purpose::RestoreEmail);
    let effects = Effects { secrets: vec![restore.clone()], ..Effects::NONE };
    let changed = store.use_one_time(&second, OneTimeUse::ChangeEmail, &effects, LATER).await;
    let mut expected = ada.clone();
    (expected.email, expected.email_verified) = (second.email.clone(), true);
    expected.updated_at = LATER;
    assert_eq!(changed.unwrap(), Some(expected.clone()));
    assert_eq!(store.user_by_email(&second.email.key()).await.unwrap(), Some(expected.clone()));
    for (secret, stays) in [(&first, false), (&taken, false), (&reset, true), (&of_bob, true)] {
        let found = store.one_time_by_digest(secret.purpose, &secret.digest).await.unwrap();
        assert_eq!(found.is_some(), stays);
    }
    assert_eq!(pending(&expected, NOW).await, None);
    let kept = store.one_time_by_digest(Purpose::RestoreEmail, &restore.digest).await.unwrap();
    assert_eq!(kept, Some((restore, expected)));
}

async fn restore_email(store: &Store) {
    let ada = add_user(store, "restore-ada").await;
    let restore = one_time(&ada, Purpose::RestoreEmail);
    add(store, &restore).await;
    // An intruder changes everything.
    let moved = store
        .change_user(ada.id, None, Some(&email("intruder@example.com")), NOW, &Effects::NONE)
        .await;
    let moved = moved.unwrap().unwrap();
    change_password(store, &ada, "intruder").await;
    let intruder = stored(store, ada.id).await;
    let of_intruder = session(&intruder, 60);
    assert!(store.add_session(&intruder, &of_intruder, &Effects::NONE).await.unwrap());
    let code = one_time(&intruder, Purpose::OperatorReset);
    add(store, &code).await;
    let other = one_time(&moved, Purpose::RestoreEmail);
    add(store, &other).await;

    let effects = Effects { secrets: vec![one_time(&ada, Purpose::VerifyEmail)], ..Effects::NONE };
    let usage = OneTimeUse::RestoreEmail(hash("restored"));
    let restored = store.use_one_time(&restore, usage, &effects, LATER).await.unwrap().unwrap();
    assert_eq!((&restored.email, restored.email_verified), (&ada.email, true));
    assert_eq!((restored.password_hash(), restored.updated_at), (Some(&hash("restored")), LATER));
    assert!(restored.password_version() != intruder.password_version());
    assert_eq!(stored(store, ada.id).await, restored);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
    wait_until_listed(store, [&of_intruder]).await;
    assert!(!exists(store, &code).await);
    assert!(!exists(store, &other).await && exists(store, &effects.secrets[0]).await);

    // The way back of a later change does not end that of an earlier one.
    let first = one_time(&ada, Purpose::RestoreEmail);
    let mut later = one_time_to(&ada, &email("intruder@example.com"), Purpose::RestoreEmail);
    later.expires_at = first.expires_at + Duration::from_millis(1);
    add(store, &first).await;
    add(store, &later).await;
    let usage = OneTimeUse::RestoreEmail(hash("of an intruder"));
    assert!(store.use_one_time(&later, usage, &Effects::NONE, LATER).await.unwrap().is_some());
    assert!(exists(store, &first).await);
    let usage = OneTimeUse::RestoreEmail(hash("of the owner"));
    assert!(store.use_one_time(&first, usage, &Effects::NONE, LATER).await.unwrap().is_some());

    // Another user may have the address by now.
    let lost = one_time(&ada, Purpose::RestoreEmail);
    add(store, &lost).await;
    store
        .change_user(ada.id, None, Some(&email("moved@example.com")), NOW, &Effects::NONE)
        .await
        .unwrap();
    store.add_user(&user("Eve", ada.email.as_str()), &Effects::NONE).await.unwrap();
    let before = stored(store, ada.id).await;
    let usage = OneTimeUse::RestoreEmail(hash("again"));
    let refused = store.use_one_time(&lost, usage, &Effects::NONE, LATER).await;
    assert!(matches!(refused, Err(Error::EmailTaken)), "{refused:?}");
    assert_eq!(stored(store, ada.id).await, before);
}

async fn reset_factors(store: &Store) {
    let (ada, bob) = (add_user(store, "factors-ada").await, add_user(store, "factors-bob").await);
    for user in [&ada, &bob] {
        let totp = StoredTotp {
            user_id: user.id,
            secret: b"encrypted".into(),
            last_step: 0,
            created_at: NOW,
            last_used_at: None,
        };
        let added = store.add_totp(user, &totp, &[[7; 32]; 8], None, &Effects::NONE).await;
        assert_eq!(added.unwrap(), AddFactor::Added);
    }
    let held = stored(store, ada.id).await;
    assert_eq!(held.factors.to_text(), "totp");
    let mut open = session(&ada, 60);
    open.methods = Methods::at(NOW, [Method::Passkey]);
    assert!(store.add_session(&held, &open, &Effects::NONE).await.unwrap());
    let secret = one_time(&held, Purpose::FactorReset);
    add(store, &secret).await;
    let usage = OneTimeUse::ResetFactors;
    let reset = store.use_one_time(&secret, usage.clone(), &Effects::NONE, LATER).await;
    let reset = reset.unwrap().unwrap();
    assert!(reset.factors.is_empty() && reset.updated_at == LATER);
    assert_eq!(reset.password_version(), ada.password_version());
    assert_eq!(stored(store, ada.id).await, reset);
    let left = store.factors_of(&reset, NOW).await.unwrap();
    assert!(left.totp.is_none() && left.recovery_codes == 0);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
    wait_until_listed(store, [&open]).await;
    let again = store.use_one_time(&secret, usage, &Effects::NONE, LATER).await;
    assert_eq!(again.unwrap(), None);
    let other = store.factors_of(&bob, NOW).await.unwrap();
    assert!(other.totp.is_some() && other.recovery_codes == 8);
}

async fn reset_password(store: &Store) {
    let ada = add_user(store, "reset-ada").await;
    let open = session(&ada, 60);
    assert!(store.add_session(&ada, &open, &Effects::NONE).await.unwrap());
    let (secret, other) = (one_time(&ada, Purpose::ResetPassword), one_time(&ada, Purpose::SignIn));
    let code = one_time(&ada, Purpose::OperatorReset);
    let way_back = one_time(&ada, Purpose::RestoreEmail);
    let of_another = one_time_to(&ada, &email("another@example.com"), Purpose::RestoreEmail);
    for secret in [&secret, &other, &code, &way_back, &of_another] {
        add(store, secret).await;
    }
    let usage = OneTimeUse::ResetPassword(hash("reset"));
    let reset = store.use_one_time(&secret, usage, &Effects::NONE, LATER).await;
    let reset = reset.unwrap().unwrap();
    assert_eq!((reset.password_hash(), reset.updated_at), (Some(&hash("reset")), LATER));
    assert!(reset.email_verified && reset.password_version() != ada.password_version());
    assert_eq!(stored(store, ada.id).await, reset);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
    wait_until_listed(store, [&open]).await;
    // A way back stays only if it was sent to the same address.
    assert!(exists(store, &way_back).await && !exists(store, &of_another).await);
    // The other secrets stay and are void.
    let by_operator = OneTimeUse::OperatorReset(hash("by the operator"));
    for (secret, usage) in [(&other, OneTimeUse::FirstFactor), (&code, by_operator)] {
        assert!(exists(store, secret).await);
        let used = store.use_one_time(secret, usage, &Effects::NONE, LATER).await;
        assert_eq!(used.unwrap(), None);
    }
    let begun = session_at(&ada, LATER);
    assert_eq!(sign_in_with(store, &reset, &other, &begun, &Effects::NONE).await, None);
    assert_eq!(stored(store, ada.id).await, reset);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
}

/// A code of the operator verifies no address, and another one replaces it.
async fn reset_password_by_operator(store: &Store) {
    let ada = add_user(store, "operator-ada").await;
    let open = session(&ada, 60);
    assert!(store.add_session(&ada, &open, &Effects::NONE).await.unwrap());
    let [replaced, code] = [(); 2].map(|()| one_time(&ada, Purpose::OperatorReset));
    let mailed = one_time(&ada, Purpose::ResetPassword);
    add(store, &mailed).await;
    let replace = async |id, one_time: &OneTime| {
        let effects = Effects { secrets: vec![one_time.clone()], ..Effects::NONE };
        store.replace_one_time(id, Purpose::OperatorReset, &effects).await.unwrap()
    };
    assert!(replace(ada.id, &replaced).await && replace(ada.id, &code).await);
    assert!(!exists(store, &replaced).await);
    assert!(exists(store, &code).await && exists(store, &mailed).await);
    let nobody = user("Nobody", "no-reset@example.com");
    let unused = one_time(&nobody, Purpose::OperatorReset);
    assert!(!replace(nobody.id, &unused).await);

    let usage = OneTimeUse::OperatorReset(hash("by the operator"));
    let reset = store.use_one_time(&code, usage, &Effects::NONE, LATER).await;
    let reset = reset.unwrap().unwrap();
    assert_eq!((reset.password_hash(), reset.updated_at), (Some(&hash("by the operator")), LATER));
    assert!(!reset.email_verified && reset.password_version() != ada.password_version());
    assert_eq!(stored(store, ada.id).await, reset);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), []);
    wait_until_listed(store, [&open]).await;
    assert!(!exists(store, &code).await);
}

async fn sign_in(store: &Store) {
    let ada = add_user(store, "sign-in-ada").await;
    let sign_in = async |session: &Session| {
        let secret = one_time(&ada, Purpose::SignIn);
        add(store, &secret).await;
        sign_in_with(store, &ada, &secret, session, &Effects::NONE).await.unwrap()
    };
    // The first sign-in verifies the address and ends the sessions of whoever has registered it.
    let (of_stranger, mut first) = (session(&ada, 60), session_at(&ada, LATER));
    first.created_at = NOW + Duration::from_secs(1);
    assert!(store.add_session(&ada, &of_stranger, &Effects::NONE).await.unwrap());
    let change = one_time_to(&ada, &email("stranger@example.com"), Purpose::ChangeEmail);
    add(store, &change).await;
    let signed_in = sign_in(&first).await;
    assert!(!exists(store, &change).await, "the stranger does not get the address changed");
    assert!(signed_in.email_verified && signed_in.updated_at == LATER);
    assert_eq!(signed_in.last_login_at, Some(first.created_at));
    assert_eq!(stored(store, ada.id).await, signed_in);
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), slice::from_ref(&first));
    wait_until_listed(store, [&of_stranger]).await;
    let known = store.known_networks(&ada.email.key()).await.unwrap();
    assert_ne!(known.to_text(), "");

    // Later ones keep the other sessions, up to the maximum, and a change of the address.
    add(store, &change).await;
    let mut sessions = vec![first];
    for second in 2..=MAX_SESSIONS as u64 + 1 {
        let mut next = session_at(&ada, LATER);
        next.created_at = NOW + Duration::from_secs(second);
        sign_in(&next).await;
        sessions.push(next);
    }
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), sessions[1..]);
    wait_until_listed(store, &sessions[..1]).await;
    assert!(exists(store, &change).await);
}

async fn refuse_secrets_that_are_not_valid(store: &Store) {
    for number in 0..one_time_uses().len() {
        let ada = add_user(store, &format!("refuse-ada-{number}")).await;
        let bob = add_user(store, &format!("refuse-bob-{number}")).await;
        let usage = &one_time_uses()[number];
        let secret = one_time(&ada, usage.purpose());
        add(store, &secret).await;
        let notice = mail(Some(ada.id), Message::Nothing);
        let effects = Effects { mails: vec![notice], ..Effects::NONE };
        let refused = async |usage: &OneTimeUse, now| {
            let before = stored(store, ada.id).await;
            let sessions = store.sessions_by_user(ada.id, NOW).await.unwrap();
            let used = store.use_one_time(&secret, usage.clone(), &effects, now).await.unwrap();
            assert_eq!(used, None, "{usage:?}");
            if usage.purpose() == Purpose::SignIn {
                let begun = session_at(&before, now);
                assert_eq!(sign_in_with(store, &before, &secret, &begun, &effects).await, None);
            }
            assert_eq!(stored(store, ada.id).await, before);
            assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), sessions);
            assert_eq!(queued(store, ada.id).await, []);
            assert!(exists(store, &secret).await, "{usage:?}");
        };
        // For another purpose, or after its end.
        for other in one_time_uses().iter().filter(|other| other.purpose() != usage.purpose()) {
            refused(other, NOW).await;
        }
        refused(usage, secret.expires_at).await;
        // After a change of the address, except that one takes such a change back.
        let takes_back = usage.purpose() == Purpose::RestoreEmail;
        let moved = email(&format!("moved-{number}@example.com"));
        store.change_user(ada.id, None, Some(&moved), NOW, &Effects::NONE).await.unwrap();
        if !takes_back {
            refused(usage, NOW).await;
        }
        store.change_user(ada.id, None, Some(&ada.email), NOW, &Effects::NONE).await.unwrap();
        // While the user is disabled.
        let set = async |disabled| {
            edit(store, ada.id, NOW, |user| user.disabled = disabled, &Effects::NONE).await.unwrap()
        };
        assert!(set(true).await);
        refused(usage, NOW).await;
        assert!(set(false).await);
        // After a change of the password.
        change_password(store, &ada, "new").await;
        if !takes_back {
            refused(usage, NOW).await;
        }
        // For another user.
        let mut of_bob = secret.clone();
        of_bob.user_id = bob.id;
        of_bob.password_version = bob.password_version();
        of_bob.user_email = bob.email.clone();
        let used = store.use_one_time(&of_bob, usage.clone(), &effects, NOW).await;
        assert_eq!(used.unwrap(), None, "{usage:?}");
        let begun = session(&bob, 60);
        assert_eq!(sign_in_with(store, &bob, &of_bob, &begun, &effects).await, None);
        assert_eq!(stored(store, bob.id).await, bob);
        // After the user is deleted.
        assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
        assert!(!exists(store, &secret).await);
        let used = store.use_one_time(&secret, usage.clone(), &effects, NOW).await;
        assert_eq!(used.unwrap(), None, "{usage:?}");
    }
}

#[tokio::test]
async fn one_time_secrets_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn one_time_secrets_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_uses_of_one_secret_exactly_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    use_at_once(Arc::new(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()))
        .await;
    if let Some(store) = postgres_store().await {
        use_at_once(Arc::new(store)).await;
    }
}

/// Each guess is counted before the count is read, so of many at once at most ten find a count of ten or less.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_guesses_at_once_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    guess_at_once(Arc::new(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()))
        .await;
    if let Some(store) = postgres_store().await {
        guess_at_once(Arc::new(store)).await;
    }
}

async fn guess_at_once(store: Arc<Store>) {
    let ada = add_user(&store, "ada").await;
    for _ in 0..3 {
        add(&store, &one_time(&ada, Purpose::SignIn)).await;
    }
    let guessing: Vec<_> = (0..40)
        .map(|_| {
            let (store, email) = (Arc::clone(&store), ada.email.clone());
            tokio::spawn(async move {
                store.charge_guess(Purpose::SignIn, &email.key(), NOW).await.unwrap();
                guesses(&store, Purpose::SignIn, &email, NOW).await
            })
        })
        .collect();
    let mut compared = 0;
    for guess in guessing {
        let found = guess.await.unwrap();
        compared += usize::from(found.iter().any(|guesses| *guesses <= MAX_GUESSES));
    }
    assert!(compared <= MAX_GUESSES as usize, "{compared}");
    // PostgreSQL counts a guess twice if the outcome of its commit is lost.
    let counted = guesses(&store, Purpose::SignIn, &ada.email, NOW).await;
    assert!(counted.iter().all(|guesses| *guesses >= 40), "{counted:?}");
}

async fn use_at_once(store: Arc<Store>) {
    let ada = add_user(&store, "ada").await;
    for round in 0..20 {
        let secret = one_time(&ada, Purpose::SignIn);
        add(&store, &secret).await;
        let racing: Vec<_> = (0..8)
            .map(|_| {
                let (store, secret, ada) = (Arc::clone(&store), secret.clone(), ada.clone());
                tokio::spawn(async move {
                    let begun = session(&ada, 60);
                    sign_in_with(&store, &ada, &secret, &begun, &Effects::NONE).await.is_some()
                })
            })
            .collect();
        let (deleting, id) = (Arc::clone(&store), secret.id);
        let deleting =
            tokio::spawn(
                async move { round % 2 == 0 && deleting.delete_one_time(id).await.unwrap() },
            );
        let mut used = 0;
        for outcome in racing {
            used += usize::from(outcome.await.unwrap());
        }
        let deleted = deleting.await.unwrap();
        assert_eq!(used + usize::from(deleted), 1, "it is used or deleted");
        assert_eq!(store.end_sessions(ada.id, NOW, &Effects::NONE).await.unwrap(), used);
    }
}
