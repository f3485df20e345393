//! A browser that its user does not trust any more opens no session, also for a sign-in that has begun before: it is decided in the
//! transaction that writes.

use std::time::Duration;

use doorward::internals::{
    network::ClientInfo,
    session::{Method, Methods, Session},
    store::{
        AddFactor, Effects, Holder, RemoveFactor, Requirement, SignIn, SignInRefusal,
        SignInWritten, Store,
    },
    token::{cookie::CodeId, one_time::Purpose},
    user::{FactorId, StoredTotp, TrustedDevice, User},
};

use crate::{NOW, limits::passkey, one_time_secrets::one_time, postgres_store, session, user};

/// A session that begins with these proofs.
fn proved(user: &User, methods: &[Method]) -> Session {
    let mut session = session(user, 60);
    session.methods = Methods::at(NOW, methods.iter().copied());
    session
}

/// A user with a verified address, an authenticator app and a passkey.
async fn holder(store: &Store, email: &str) -> User {
    let mut ada = user("Ada", email);
    // The first mailed code would end the other sessions.
    ada.email_verified = true;
    store.add_user(&ada, &Effects::NONE).await.unwrap();
    let totp = StoredTotp {
        user_id: ada.id,
        secret: vec![1; 48],
        last_step: 0,
        created_at: NOW,
        last_used_at: None,
    };
    let added = store.add_totp(&ada, &totp, &[], None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    let (passkey, setup) = (passkey(&ada), (CodeId::random(), NOW));
    let added = store.add_passkey(&ada, &passkey, setup, &[], None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
    store.user_by_id(ada.id).await.unwrap().unwrap()
}

/// Signs in with both factors, and trusts the browser from then on.
async fn trust(store: &Store, user: &User) -> (Session, FactorId) {
    let device = TrustedDevice {
        id: FactorId::random(),
        user_id: user.id,
        password_version: user.password_version(),
        client: ClientInfo::new([192, 0, 2, 7].into(), "curl/8"),
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(60),
    };
    let (id, own) = (device.id, proved(user, &[Method::Password, Method::Totp]));
    let sign_in = SignIn { new_trusted_device: Some(device), ..SignIn::new(user, own.clone()) };
    let written = store.sign_in(sign_in, &Effects::NONE).await.unwrap();
    assert!(matches!(written, SignInWritten::Begun(_)), "{written:?}");
    (own, id)
}

/// Signs in with the password, and with a mailed code, in the browser that was trusted when both began. Tells whether they open
/// a session.
async fn sign_in(store: &Store, user: &User, device: FactorId) -> [bool; 2] {
    let is_open =
        async |session: &Session| store.session_with_user(session.id).await.unwrap().is_some();
    let by_password = proved(user, &[Method::Password, Method::TrustedDevice]);
    let requires = vec![Requirement::TrustedDevice(device)];
    let begun = SignIn { requires, ..SignIn::new(user, by_password.clone()) };
    let written = store.sign_in(begun, &Effects::NONE).await.unwrap();
    let is_begun = is_open(&by_password).await;
    assert_eq!(is_begun, written != SignInWritten::Refused(SignInRefusal::UserChanged));

    let by_mail = proved(user, &[Method::MailedCode, Method::TrustedDevice]);
    let code = one_time(user, Purpose::SignIn);
    let mailed = Effects { secrets: vec![code.clone()], ..Effects::NONE };
    store.queue_mail(&mailed).await.unwrap();
    let mailed = Requirement::MailedCode(Box::new(code.clone()));
    let requires = vec![mailed, Requirement::TrustedDevice(device)];
    let begun = SignIn { requires, ..SignIn::new(user, by_mail.clone()) };
    let written = store.sign_in(begun, &Effects::NONE).await.unwrap();
    let is_used = is_open(&by_mail).await;
    assert_eq!(is_used, written != SignInWritten::Refused(SignInRefusal::UserChanged));
    // The code still counts for a sign-in with the second factor.
    let left = store.one_time_by_digest(Purpose::SignIn, &code.digest).await.unwrap();
    assert_eq!(left.is_some(), !is_used);
    [is_begun, is_used]
}

async fn run_all(store: &Store) {
    let ada = holder(store, "ada@example.com").await;
    let (own, device) = trust(store, &ada).await;
    let (_, other) = trust(store, &ada).await;
    assert_eq!(sign_in(store, &ada, device).await, [true, true]);
    let who = Holder { user: &ada, session: &own };
    let removed = store.remove_trusted_device(who, device, NOW, &Effects::NONE).await.unwrap();
    assert!(matches!(removed, RemoveFactor::Removed(_)), "{removed:?}");
    assert_eq!(sign_in(store, &ada, device).await, [false, false]);
    assert_eq!(sign_in(store, &ada, other).await, [true, true], "another browser");

    // Nobody else trusts it.
    let bob = holder(store, "bob@example.com").await;
    assert_eq!(sign_in(store, &bob, other).await, [false, false]);

    // A factor takes the browsers along, also if another one is left.
    let (own, device) = trust(store, &bob).await;
    let who = Holder { user: &bob, session: &own };
    let removed = store.remove_totp(who, NOW, &Effects::NONE).await.unwrap();
    assert!(matches!(removed, RemoveFactor::Removed(_)), "{removed:?}");
    let bob = store.user_by_id(bob.id).await.unwrap().unwrap();
    assert_eq!(sign_in(store, &bob, device).await, [false, false]);
}

#[tokio::test]
async fn a_browser_that_is_not_trusted_any_more_opens_no_session_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn a_browser_that_is_not_trusted_any_more_opens_no_session_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}
