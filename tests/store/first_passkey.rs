//! A user who registers with a passkey, on every store: all or nothing.

use doorward::internals::{
    clock::Timestamp,
    credential::factor::FactorKind,
    new_user,
    store::{
        Effects, Error, FirstPasskey, Requirement, SignIn, SignInRefusal, SignInWritten, Store,
    },
    token::cookie::CodeId,
    user::{Email, FactorId, InvitationId, Name, Passkey, User},
};
use uuid::Uuid;

use crate::{NOW, postgres_store, session};

fn passkey(user: &User, credential_id: &[u8]) -> Passkey {
    Passkey {
        id: FactorId::random(),
        user_id: user.id,
        credential_id: credential_id.to_vec(),
        rp_id: "auth.example.com".into(),
        user_handle: vec![1; 32],
        public_key: vec![2; 77],
        verifies_user: true,
        aaguid: Uuid::nil(),
        name: "Phone".into(),
        transports: "internal".into(),
        sign_count: 0,
        backup_eligible: true,
        backed_up: true,
        created_at: NOW,
        last_used_at: None,
    }
}

fn registering(email: &str) -> User {
    let (name, email) = (Name::parse("Ada".into()).unwrap(), Email::parse(email.into()).unwrap());
    let mut user = new_user(name, email, None, NOW);
    user.factors = [FactorKind::Passkey].into_iter().collect();
    user
}

async fn run_all(store: &Store) {
    let add =
        async |user: &User, credential: &[u8], setup: CodeId, invitation: Option<InvitationId>| {
            let later = Timestamp::from_millis(NOW.millis() + 3_600_000);
            let first = FirstPasskey::new(passkey(user, credential), &[[4; 32]; 8], (setup, later));
            let open = session(user, 60);
            let mut requires = vec![Requirement::NewPasskey(Box::new(first))];
            requires.extend(invitation.map(Requirement::Invitation));
            let sign_in = SignIn { requires, ..SignIn::of_new_user(user, open.clone()) };
            let added = store.sign_in(sign_in, &Effects::NONE).await;
            let is_there = store.user_by_id(user.id).await.unwrap().is_some();
            let is_open = store.session_with_user(open.id).await.unwrap().is_some();
            let held = store.factors_of(user, NOW).await.unwrap();
            let counts = (held.passkeys.len(), held.recovery_codes);
            // Nothing without the rest.
            assert_eq!(is_there, is_open);
            assert_eq!(counts, if is_there { (1, 8) } else { (0, 0) });
            added
        };
    let (ada, eve) = (registering("ada@example.com"), registering("eve@example.com"));
    let setup = CodeId::random();
    // An invitation that is gone admits nobody, and leaves the setup as it was.
    let gone = add(&ada, b"one", setup, Some(InvitationId::random())).await.unwrap();
    assert_eq!(gone, SignInWritten::Refused(SignInRefusal::InvitationGone));
    let begun = |user: &User| SignInWritten::Begun(Box::new(user.clone()));
    assert_eq!(add(&ada, b"one", setup, None).await.unwrap(), begun(&ada));
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    let found = store.passkey_by_credential_id(b"one").await.unwrap().unwrap();
    assert_eq!(found.1, ada);
    // A setup counts once, and so does a passkey.
    let taken = SignInWritten::Refused(SignInRefusal::PasskeyTaken);
    assert_eq!(add(&eve, b"two", setup, None).await.unwrap(), taken);
    assert_eq!(add(&eve, b"one", CodeId::random(), None).await.unwrap(), taken);
    // So does an address.
    let other = registering("ADA@example.com");
    let taken = add(&other, b"three", CodeId::random(), None).await;
    assert!(matches!(taken, Err(Error::EmailTaken)), "{taken:?}");
    assert_eq!(add(&eve, b"two", CodeId::random(), None).await.unwrap(), begun(&eve));
}

#[tokio::test]
async fn a_user_registers_with_a_passkey_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn a_user_registers_with_a_passkey_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(&store).await;
    }
}
