//! The methods for an embedding app, from registration to deletion.

use std::time::Duration;

use super::{import::Imported, user_order::Order, *};
use crate::{
    Doorward, Settings,
    config::DatabaseUrl,
    credential::{
        factor::Factors,
        password::{Cost, Password, PasswordHash},
        totp::TotpSecret,
    },
    doorward::{MissingKey, OpenError},
    event::{Actor, Administrator, Event, EventKind, LoginRefusal, RegistrationRefusal},
    network::{ClientInfo, Network, Requester},
    session::{Method, Methods, Session},
    store::{AddFactor, Effects, Holder, NewPasswords, RemoveFactor},
    token::{
        cookie::{AttemptDigest, CodeId},
        one_time::OneTimeSecret,
    },
    user::{
        Email, EmailKey, FactorId, Identity, IdentityId, Name, Passkey, Role, Roles, StoredTotp,
        User, UserId,
    },
};

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "correct horse";

async fn open(folder: &std::path::Path) -> Doorward {
    let database = DatabaseUrl::Sqlite(folder.join("doorward.db"));
    let password_cost = Cost { memory_kib: 64, passes: 1 };
    Doorward::open(Settings { database, password_cost, ..Settings::default() }).await.unwrap()
}

fn client() -> ClientInfo {
    ClientInfo::new([192, 0, 2, 1].into(), "an app")
}

async fn register(doorward: &Doorward) -> NewSession {
    let ada = NewUser::new("Ada", EMAIL).password(PASSWORD);
    doorward.register(ada, client()).await.unwrap()
}

const CHECK: import::ImportOptions = import::ImportOptions { only_check: true, admin_roles: false };

/// A user of another system, whose password is "a".
fn user_to_import(doorward: &Doorward, email: &str) -> import::UserToImport {
    let hash = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe";
    let hash = PasswordHash::from_store(hash.to_owned());
    let name = Name::parse("Imported".to_owned()).unwrap();
    let email = Email::parse(email.to_owned()).unwrap();
    let user = User::new(name, email, Some(hash), doorward.now());
    import::UserToImport { user, totp: None, identities: Vec::new(), is_created_at_known: true }
}

async fn is_valid(doorward: &Doorward, token: &Token) -> bool {
    doorward.caller(token.as_str()).await.is_ok()
}

#[tokio::test]
async fn a_user_registers_and_signs_in() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let registered = register(&doorward).await;
    let caller = doorward.caller(registered.token.as_str()).await.unwrap();
    assert_eq!((caller.user.id, caller.session.id), (registered.user.id, registered.session.id));

    let signed_in = doorward.sign_in("ADA@example.com", PASSWORD, client()).await.unwrap();
    assert_eq!(signed_in.user.id, registered.user.id);
    assert_ne!(signed_in.session.id, registered.session.id);
    assert_eq!(signed_in.session.client, client());
    for (email, password) in [(EMAIL, "wrong horse"), ("bob@example.com", PASSWORD)] {
        let refused = doorward.sign_in(email, password, client()).await;
        assert!(matches!(refused, Err(Error::WrongCredentials)), "{refused:?}");
    }
}

#[tokio::test]
async fn the_first_invalid_value_of_a_registration_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let created = doorward.create_user(NewUser::new("Ada", EMAIL)).await.unwrap();
    assert!(created.password_hash.is_none());
    for (user, expected) in [
        (NewUser::new("A", "bob"), "name: String must contain at least 2 character(s)"),
        (NewUser::new("Bob", "bob").password("short"), "email: Invalid email"),
        (
            NewUser::new("Bob", "bob@example.com").password("short"),
            "password: String must contain at least 8 character(s)",
        ),
        (NewUser::new("Eve", "ADA@example.com"), "the e-mail address is taken"),
    ] {
        let refused = doorward.register(user, client()).await.unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
}

#[tokio::test]
async fn failed_logins_are_throttled_by_account() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    register(&doorward).await;
    let elsewhere = ClientInfo::new([192, 0, 2, 2].into(), "");
    for attempt in 0.. {
        match doorward.sign_in(EMAIL, "wrong horse", elsewhere.clone()).await.unwrap_err() {
            Error::WrongCredentials => assert!(attempt < 20),
            Error::Throttled { retry_after } => {
                assert_eq!(attempt, 20);
                assert!(retry_after > Duration::ZERO);
                break;
            }
            error => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn guesses_count_while_the_queue_of_imported_hashes_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    register(&doorward).await;
    let email = "imported@example.com";
    let user = user_to_import(&doorward, email);
    import::import(&doorward, &[user], import::ImportOptions::default(), &Administrator::APP)
        .await
        .unwrap();

    let elsewhere = ClientInfo::new([192, 0, 2, 2].into(), "");
    let network = Network::at(elsewhere.address);
    let release = doorward.hasher().fill_foreign_queue(network).await;
    doorward.sign_in(EMAIL, PASSWORD, client()).await.unwrap();
    for (email, password) in [(EMAIL, "wrong horse"), ("nobody@example.com", "a"), (email, "a")] {
        for attempt in 0.. {
            match doorward.sign_in(email, password, elsewhere.clone()).await.unwrap_err() {
                Error::Busy(_) => assert!(attempt < 20, "{email}"),
                Error::Throttled { .. } => {
                    assert_eq!(attempt, 20, "{email}");
                    break;
                }
                error => panic!("{email}: {error}"),
            }
        }
    }
    drop(release);
}

#[tokio::test]
async fn ending_the_sessions_of_a_user_invalidates_their_token() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let NewSession { user, mut token, .. } = register(&doorward).await;
    let mut password = PASSWORD;
    for step in ["end", "set password", "disable"] {
        assert!(is_valid(&doorward, &token).await, "before {step}");
        match step {
            "end" => assert_eq!(doorward.end_sessions(user.id).await.unwrap(), 1),
            "set password" => {
                password = "another horse";
                doorward.set_password(user.id, password).await.unwrap();
            }
            _ => {
                doorward.disable_user(user.id).await.unwrap();
                let refused = doorward.sign_in(EMAIL, password, client()).await;
                assert!(matches!(refused, Err(Error::WrongCredentials)), "{refused:?}");
                doorward.enable_user(user.id).await.unwrap();
            }
        }
        assert!(!is_valid(&doorward, &token).await, "after {step}");
        token = doorward.sign_in(EMAIL, password, client()).await.unwrap().token;
    }
    doorward.delete_user(user.id).await.unwrap();
    assert!(!is_valid(&doorward, &token).await);
    assert!(doorward.user_by_email(EMAIL).await.unwrap().is_none());
}

#[tokio::test]
async fn roles_are_granted_and_revoked_once() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let id = register(&doorward).await.user.id;
    assert!(doorward.grant_role(id, "staff").await.unwrap());
    assert!(!doorward.grant_role(id, "staff").await.unwrap());
    let user = doorward.user_by_id(id).await.unwrap().unwrap();
    assert_eq!(user.roles, Role::parse("staff").into_iter().collect());
    assert!(doorward.revoke_role(id, "staff").await.unwrap());
    assert!(!doorward.revoke_role(id, "staff").await.unwrap());
    let invalid = doorward.grant_role(id, "two words").await;
    assert!(matches!(invalid, Err(Error::Invalid(_))), "{invalid:?}");
}

#[tokio::test]
async fn only_the_current_address_of_a_user_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let id = register(&doorward).await.user.id;
    let old = doorward.verify_email(id, "old@example.com").await;
    assert!(matches!(old, Err(Error::UserChanged)), "{old:?}");
    assert!(doorward.verify_email(id, EMAIL).await.unwrap());
    assert!(!doorward.verify_email(id, &EMAIL.to_uppercase()).await.unwrap());
    assert!(doorward.user_by_id(id).await.unwrap().unwrap().email_verified);
}

/// The user is changed after they were read.
#[tokio::test]
async fn an_order_is_carried_out_on_what_others_have_written_but_no_other_address_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let read = register(&doorward).await.user;
    doorward.set_password(read.id, "another horse").await.unwrap();
    let by = &Administrator::APP;
    order::RequireNewPassword.carry_out(&doorward, &read, by).await.unwrap();
    let email = Email::parse("ada@elsewhere.example".to_owned()).unwrap();
    let now = doorward.now();
    let store = doorward.store();
    store.change_user(read.id, None, Some(&email), now, &Effects::NONE).await.unwrap();
    let refused = order::Edit::verified(true).carry_out(&doorward, &read, by).await;
    assert!(matches!(refused.map(|edited| edited.user), Err(Error::UserChanged)));
    order::Edit::disabled(true).carry_out(&doorward, &read, by).await.unwrap();
    let user = doorward.user_by_id(read.id).await.unwrap().unwrap();
    assert!(user.disabled && !user.has_password() && !user.email_verified);
    assert_eq!(user.email, email);
}

#[tokio::test]
async fn every_change_and_every_failed_login_is_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let published = || doorward.events().take_published();
    let kinds = || published().into_iter().map(|event| event.kind).collect::<Vec<_>>();
    let email = || EmailKey::of(EMAIL);

    let NewSession { user, session, .. } = register(&doorward).await;
    let registered = published();
    let expected = Event::by_user(
        user.id,
        &Requester::new(client()),
        session.created_at,
        EventKind::Registered {
            session: Some(session.id),
            roles: crate::user::Roles::default(),
            login: None,
        },
    );
    assert_eq!(registered, [expected]);

    // A change that is not made is no event: only its refusal is.
    doorward.register(NewUser::new("Eve", EMAIL), client()).await.unwrap_err();
    let taken = EventKind::RegistrationRefused(RegistrationRefusal::AddressTaken);
    assert_eq!(kinds(), [taken]);

    doorward.sign_in(EMAIL, "wrong horse", client()).await.unwrap_err();
    let [failed] = &published()[..] else { panic!("one event") };
    let reason = LoginRefusal::WrongPassword;
    assert_eq!(failed.kind, EventKind::SignInFailed { reason, email: email() });
    assert_eq!((failed.actor.clone(), failed.subject), (Actor::Unknown, Some(user.id)));

    let session = doorward.sign_in(EMAIL, PASSWORD, client()).await.unwrap().session;
    let methods = session.methods;
    assert_eq!(methods.names(), ["pwd"]);
    assert_eq!(kinds(), [EventKind::SignedIn { session: session.id, methods, login: None }]);

    doorward.grant_role(user.id, "staff").await.unwrap();
    let [granted] = &published()[..] else { panic!("one event") };
    assert_eq!(granted.kind, EventKind::RoleGranted(Role::parse("staff").unwrap()));
    assert_eq!((granted.actor.clone(), &granted.client), (Actor::Operator(None), &None));
    doorward.grant_role(user.id, "staff").await.unwrap();
    assert_eq!(kinds(), [], "the user has the role already");

    doorward.end_sessions(user.id).await.unwrap();
    assert_eq!(kinds(), [EventKind::SessionsEnded { count: Some(2) }]);
    doorward.end_sessions(user.id).await.unwrap();
    assert_eq!(kinds(), [], "there are no sessions");

    doorward.set_password(user.id, "another horse").await.unwrap();
    doorward.delete_user(user.id).await.unwrap();
    doorward.delete_user(user.id).await.unwrap_err();
    assert_eq!(kinds(), [EventKind::PasswordChanged, EventKind::UserDeleted]);

    // The store publishes nothing that it has rolled back.
    let (store, now) = (doorward.store(), doorward.now());
    let effects =
        Event::by_administrator(&Administrator::APP, Some(user.id), now, EventKind::UserDisabled)
            .into();
    assert!(!store.delete_user(user.id, now, &effects).await.unwrap());
    assert!(!store.end_session(user.id, session.id, now, &effects).await.unwrap());
    assert_eq!(kinds(), []);
}

#[tokio::test]
async fn a_change_by_the_operator_is_one_event_and_its_repetition_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let published = || doorward.events().take_published();
    let kinds = || published().into_iter().map(|event| event.kind).collect::<Vec<_>>();
    let user = register(&doorward).await.user;
    published();

    let new = user_to_import(&doorward, "new@example.com");
    let users = [new.clone(), user_to_import(&doorward, EMAIL)];
    import::import(&doorward, &users, CHECK, &Administrator::APP).await.unwrap();
    assert_eq!(kinds(), [], "the users were only checked");
    import::import(&doorward, &users, import::ImportOptions::default(), &Administrator::APP)
        .await
        .unwrap();
    let imported = EventKind::UserImported { roles: crate::user::Roles::default() };
    assert_eq!(kinds(), [EventKind::UsersImported { count: Some(1) }, imported]);
    import::import(&doorward, &users, import::ImportOptions::default(), &Administrator::APP)
        .await
        .unwrap();
    assert_eq!(kinds(), []);

    let ids = [new.user.id, user.id];
    assert_eq!(import::drop_hashes(&doorward, &ids, &Administrator::APP).await.unwrap(), 1);
    let [dropped] = &published()[..] else { panic!("one event") };
    assert_eq!(dropped.kind, EventKind::ImportedHashDropped);
    assert_eq!(
        (dropped.actor.clone(), dropped.subject),
        (Actor::Operator(None), Some(new.user.id))
    );
    assert_eq!(import::drop_hashes(&doorward, &ids, &Administrator::APP).await.unwrap(), 0);
    assert_eq!(kinds(), []);

    doorward.order(order::Unlock, user.id).await.unwrap();
    assert_eq!(kinds(), [EventKind::AccountUnlocked]);

    // An emergency also replaces the keys, so a repetition is one as well.
    for figure in [Some(1), Some(0)] {
        emergency::run(&doorward, &NewPasswords::All, &Administrator::APP).await.unwrap();
        let expected = EventKind::EverythingRevoked { sessions: figure, passwords: figure };
        assert_eq!(kinds(), [expected]);
    }
}

#[tokio::test]
async fn the_end_of_all_sessions_and_the_use_of_a_code_are_events_once() {
    const ORIGIN: &str = "https://app.example.com";
    const ATTEMPT: &str = "attempt-of-the-browser";
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let requester = Requester::new(client());
    let NewSession { user, session, .. } = register(&doorward).await;
    doorward.events().take_published();

    let new_code = || {
        let (attempt, url) = (AttemptDigest::of(ATTEMPT), ORIGIN.into());
        app_sign_in::create_code(&doorward, &session, attempt, url, ORIGIN).unwrap()
    };
    let use_code = async |code: &str, attempt: &str| {
        let used =
            app_sign_in::use_code(&doorward, code, ORIGIN, &[attempt], &requester).await.is_ok();
        (used, doorward.events().take_published())
    };
    let kind = EventKind::SignedInToApp { session: session.id };
    let (code, stolen) = (new_code(), new_code());
    let (_, published) = use_code(&code, ATTEMPT).await;
    let expected = Event::by_user(user.id, &requester, published[0].at, kind);
    assert_eq!(published, [expected]);
    assert_eq!(use_code(&code, ATTEMPT).await, (false, vec![]));
    assert_eq!(use_code(&stolen, "attempt-of-another-one").await, (false, vec![]));
    assert_eq!(use_code(&stolen, ATTEMPT).await, (false, vec![]), "it is void");

    let log_out = async || {
        sessions::log_out_everywhere(&doorward, user.id, &requester).await.unwrap();
        doorward.events().take_published()
    };
    let kind = EventKind::SessionsEnded { count: Some(1) };
    let published = log_out().await;
    let expected = Event::by_user(user.id, &requester, published[0].at, kind);
    assert_eq!(published, [expected]);
    assert_eq!(log_out().await, []);
}

/// Gives a user an authenticator app and eight recovery codes.
async fn add_totp(doorward: &Doorward, user: &User) {
    let totp = StoredTotp {
        user_id: user.id,
        secret: doorward.factor_key().encrypt(user.id, b"a secret of 20 bytes"),
        last_step: 0,
        created_at: doorward.now(),
        last_used_at: None,
    };
    let codes = [[1; 32]; 8];
    let added = doorward.store().add_totp(user, &totp, &codes, None, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddFactor::Added);
}

#[tokio::test]
async fn a_link_of_the_operator_and_the_password_remove_all_factors() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let NewSession { user, token, .. } = register(&doorward).await;
    add_totp(&doorward, &user).await;
    let kinds = || {
        let published = doorward.events().take_published().into_iter();
        published.map(|event| event.kind).collect::<Vec<_>>()
    };
    let requester = Requester::new(client());
    let use_link = async |secret: &str, password: Option<&str>| {
        let secret = OneTimeSecret::unchecked(secret.to_owned()).digest();
        let password = password.map(|password| Password::unchecked(password.to_owned()));
        factor_reset::use_link(&doorward, secret, password, &requester).await
    };
    let earlier = doorward.order(order::MakeFactorReset, user.id).await.unwrap();
    kinds();
    let ticket = doorward.order(order::MakeFactorReset, user.id).await.unwrap();
    assert_eq!(kinds(), [EventKind::FactorResetCreated]);
    let link = format!("http://localhost:3000/factors/reset?code={}", ticket.secret.as_str());
    assert_eq!(ticket.link, Some(link));
    let replaced = use_link(earlier.secret.as_str(), Some(PASSWORD)).await;
    assert!(matches!(replaced, Err(Error::WrongCode)), "{replaced:?}");
    for password in [None, Some("wrong horse")] {
        let refused = use_link(ticket.secret.as_str(), password).await;
        assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    }
    assert!(is_valid(&doorward, &token).await);
    kinds();
    let used = use_link(ticket.secret.as_str(), Some(PASSWORD)).await.unwrap();
    assert!(used.factors.is_empty());
    assert_eq!(kinds(), [EventKind::FactorsReset]);
    assert!(!is_valid(&doorward, &token).await);
    let held = doorward.store().factors_of(&used, doorward.now()).await.unwrap();
    assert!(held.totp.is_none() && held.recovery_codes == 0);
    let again = use_link(ticket.secret.as_str(), Some(PASSWORD)).await;
    assert!(matches!(again, Err(Error::WrongCode)), "{again:?}");
    doorward.sign_in(EMAIL, PASSWORD, client()).await.unwrap();

    // Who has no password needs the link alone.
    let grace = doorward.create_user(NewUser::new("Grace", "grace@example.com")).await.unwrap();
    add_totp(&doorward, &grace).await;
    let ticket = doorward.order(order::MakeFactorReset, grace.id).await.unwrap();
    assert!(use_link(ticket.secret.as_str(), None).await.unwrap().factors.is_empty());
}

#[tokio::test]
async fn an_imported_app_is_stored_encrypted_with_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let secret = TotpSecret::from_bytes(b"a secret of 20 bytes").unwrap();
    let with_app = import::UserToImport {
        totp: Some(secret.clone()),
        ..user_to_import(&doorward, "with@example.com")
    };
    let without = user_to_import(&doorward, "without@example.com");
    let users = [with_app.clone(), without.clone()];
    let factors_of = async |id| {
        let user = doorward.store().user_by_id(id).await.unwrap().unwrap();
        let held = doorward.store().factors_of(&user, doorward.now()).await.unwrap();
        (user.factors.to_text(), held)
    };
    import::import(&doorward, &users, import::ImportOptions::default(), &Administrator::APP)
        .await
        .unwrap();
    let (kinds, held) = factors_of(with_app.user.id).await;
    assert_eq!((kinds.as_str(), held.recovery_codes), ("totp", 0));
    let stored = held.totp.unwrap().secret;
    let read = doorward.factor_key().decrypt(with_app.user.id, &stored).unwrap();
    assert_eq!(read.as_slice(), secret.as_bytes());
    let (kinds, held) = factors_of(without.user.id).await;
    assert!(kinds.is_empty() && held.totp.is_none());

    // Who has removed the app since, or never had one, gets none by a second import.
    let (id, now, store) = (with_app.user.id, doorward.now(), doorward.store());
    let user = store.user_by_id(id).await.unwrap().unwrap();
    let methods = Methods::at(now, [Method::Password, Method::Totp]);
    let lifetime = doorward.settings().session_lifetime;
    let session = Session { methods, ..Session::new(id, client(), now, lifetime) };
    assert!(store.add_session(&user, &session, &Effects::NONE).await.unwrap());
    // Whoever does not know of the app has not proved it.
    let stale = User { factors: Factors::default(), ..user.clone() };
    let who = Holder { user: &stale, session: &session };
    let removed = store.remove_totp(who, now, &Effects::NONE).await.unwrap();
    assert_eq!(removed, RemoveFactor::Changed);
    assert!(!store.replace_recovery_codes(who, &[[1; 32]], now, &Effects::NONE).await.unwrap());
    let who = Holder { user: &user, session: &session };
    let removed = store.remove_totp(who, now, &Effects::NONE).await.unwrap();
    assert!(matches!(removed, RemoveFactor::Removed(own) if own.methods.names() == ["pwd"]));
    let late = import::UserToImport { totp: Some(secret), ..without.clone() };
    import::import(
        &doorward,
        &[with_app.clone(), late],
        import::ImportOptions::default(),
        &Administrator::APP,
    )
    .await
    .unwrap();
    for id in [with_app.user.id, without.user.id] {
        let (kinds, held) = factors_of(id).await;
        assert!(kinds.is_empty() && held.totp.is_none());
    }
}

#[tokio::test]
async fn identities_are_imported_with_new_users_and_those_of_others_refuse_their_user() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let with = |email: &str, subjects: &[&str]| {
        let imported = user_to_import(&doorward, email);
        let identity = |subject: &&str| {
            let identity = Identity {
                id: IdentityId::random(),
                user_id: imported.user.id,
                issuer: "https://sso.example.com".into(),
                subject: (*subject).into(),
                login: "work".into(),
                display: (*subject).into(),
                created_at: doorward.now(),
                last_used_at: None,
            };
            import::IdentityToImport { identity, gives: Roles::default() }
        };
        let identities = subjects.iter().map(identity).collect();
        import::UserToImport { identities, ..imported }
    };
    let import = async |users: &[import::UserToImport], options| {
        import::import(&doorward, users, options, &Administrator::APP).await.unwrap()
    };
    let mut ada = with("ada@example.com", &["1", "2"]);
    ada.user.roles = ["own", "staff"].into_iter().filter_map(Role::parse).collect();
    ada.identities[1].gives = [Role::parse("staff").unwrap()].into_iter().collect();
    let users = [
        ada.clone(),
        with("grace@example.com", &["2"]),
        with("eve@example.com", &["3"]),
        user_to_import(&doorward, "bob@example.com"),
    ];
    let taken = Imported::IdentityTaken(Email::parse("ada@example.com".into()).unwrap());
    let expected = [Imported::Added, taken.clone(), Imported::Added, Imported::Added];
    assert_eq!(import(&users, CHECK).await, expected);
    assert!(doorward.store().users(None, 1).await.unwrap().is_empty());
    doorward.events().take_published();
    assert_eq!(import(&users, import::ImportOptions::default()).await, expected);
    let mut linked = Vec::new();
    for event in doorward.events().take_published() {
        if let EventKind::IdentityLinked { login } = &event.kind {
            linked.push((event.subject, login.clone()));
        }
    }
    let ids = [ada.user.id, ada.user.id, users[2].user.id];
    assert_eq!(linked, ids.map(|id| (Some(id), "work".to_owned())));

    // Nothing is added twice, and who exists gets no other one.
    let expected = [Imported::Exists, taken, Imported::Exists, Imported::Exists];
    assert_eq!(import(&users, import::ImportOptions::default()).await, expected);
    let mut more = with("eve@example.com", &["3", "4"]);
    more.user = users[2].user.clone();
    let mut others = with("bob@example.com", &["1"]);
    others.user = users[3].user.clone();
    let differs = || Imported::Differs(vec!["identities"]);
    let outcomes = import(&[more, others], import::ImportOptions::default()).await;
    assert_eq!(outcomes, [differs(), differs()]);
    let count = async |id| doorward.store().identities_of(id).await.unwrap().len();
    assert_eq!([count(ada.user.id).await, count(users[2].user.id).await], [2, 1]);
    assert_eq!(count(users[3].user.id).await, 0);

    // A role that an identity gives goes with it, also after it was moved.
    let lines = async || {
        let (mut lines, by) = (Vec::new(), Administrator::APP);
        export::write_users(&doorward, export::Hashes::LeftOut, &by, &mut lines).await.unwrap();
        String::from_utf8(lines).unwrap()
    };
    let exported: serde_json::Value =
        serde_json::from_str(lines().await.lines().next().unwrap()).unwrap();
    assert_eq!(exported["roles"], serde_json::json!(["own", "staff"]));
    let roles = [0, 1].map(|place| exported["identities"][place]["roles"].clone());
    assert_eq!(roles, [serde_json::json!([]), serde_json::json!(["staff"])]);
    let (id, now) = (ada.identities[1].identity.id, doorward.now());
    let store = doorward.store();
    assert!(store.remove_identity(ada.user.id, id, now, &Effects::NONE).await.unwrap());
    let left = store.user_by_id(ada.user.id).await.unwrap().unwrap();
    assert_eq!(left.roles.to_text(), "own");
}

#[tokio::test]
async fn passwords_for_a_reset_link_are_throttled_as_logins() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let user = register(&doorward).await.user;
    add_totp(&doorward, &user).await;
    let ticket = doorward.order(order::MakeFactorReset, user.id).await.unwrap();
    let requester = Requester::new(ClientInfo::new([192, 0, 2, 2].into(), ""));
    for attempt in 0.. {
        let secret = OneTimeSecret::unchecked(ticket.secret.as_str().to_owned()).digest();
        let password = Some(Password::unchecked("wrong horse".to_owned()));
        match factor_reset::use_link(&doorward, secret, password, &requester).await.unwrap_err() {
            Error::WrongPassword => assert!(attempt < 20),
            Error::Throttled { .. } => {
                assert_eq!(attempt, 20);
                break;
            }
            error => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_start_without_the_secret_of_factors_is_refused_if_they_could_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let user = register(&doorward).await.user;
    let settings = doorward.settings().clone();
    let secret = folder.path().join("factor-secret");
    drop(doorward);
    // Nobody needs it yet.
    std::fs::remove_file(&secret).unwrap();
    let doorward = Doorward::open(settings.clone()).await.unwrap();
    add_totp(&doorward, &user).await;
    let totp = doorward.store().factors_of(&user, doorward.now()).await.unwrap().totp.unwrap();
    let read = doorward.factor_key().decrypt(user.id, &totp.secret).unwrap();
    assert_eq!(read.as_slice(), b"a secret of 20 bytes");
    drop(doorward);
    std::fs::remove_file(&secret).unwrap();
    let Err(refused) = Doorward::open(settings.clone()).await else { panic!("it has started") };
    assert!(matches!(refused, OpenError::FactorSecretMissing(_)), "{refused}");
    assert!(!secret.exists());
    let clock = crate::clock::Clock::system();
    let replaced = Doorward::open_with(settings, MissingKey::Replace, clock).await.unwrap();
    assert!(replaced.factor_key().decrypt(user.id, &totp.secret).is_none());
}

#[tokio::test]
async fn a_start_that_would_orphan_passkeys_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let user = register(&doorward).await.user;
    let passkey = Passkey {
        id: FactorId::random(),
        user_id: user.id,
        credential_id: b"credential".into(),
        rp_id: "old.example".into(),
        user_handle: vec![1; 32],
        public_key: b"key".into(),
        verifies_user: true,
        aaguid: uuid::Uuid::nil(),
        name: "iPhone".into(),
        transports: "internal".into(),
        sign_count: 0,
        backup_eligible: true,
        backed_up: true,
        created_at: doorward.now(),
        last_used_at: None,
    };
    let (store, setup) = (doorward.store(), (CodeId::random(), doorward.now()));
    let added = store.add_passkey(&user, &passkey, setup, &[], None, &Effects::NONE).await;
    assert_eq!(added.unwrap(), AddFactor::Added);
    let settings = doorward.settings().clone();
    drop(doorward);
    let start = async |file: &str| {
        let opened = Doorward::open(settings.clone().with_toml(file)).await;
        opened.map(drop).map_err(|error| error.to_string())
    };
    let moved = start("public_url = 'https://new.example'").await.unwrap_err();
    assert_eq!(
        moved,
        "users have passkeys for the domain old.example, which they could not use: with these settings passkeys belong to \
         new.example. Set sign_in.passkey_domain to \"old.example\" and add https://old.example to sign_in.passkey_origins, \
         and let that host still lead to this service; or, if public_url is a mistake, correct it"
    );
    let without = start("").await.unwrap_err();
    assert!(without.contains("old.example, which they could not use: public_url is not set"));
    start("public_url = 'https://old.example'").await.unwrap();
    let kept = "public_url = 'https://new.example'\n[sign_in]\npasskey_domain = 'old.example'\n\
                passkey_origins = ['https://old.example']";
    start(kept).await.unwrap();
}

#[tokio::test]
async fn every_method_reports_an_unknown_user() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let nobody = UserId::random();
    let errors = [
        doorward.disable_user(nobody).await.unwrap_err().to_string(),
        doorward.enable_user(nobody).await.unwrap_err().to_string(),
        doorward.delete_user(nobody).await.unwrap_err().to_string(),
        doorward.create_reset_code(nobody).await.unwrap_err().to_string(),
        doorward.set_password(nobody, PASSWORD).await.unwrap_err().to_string(),
        doorward.grant_role(nobody, "staff").await.unwrap_err().to_string(),
        doorward.revoke_role(nobody, "staff").await.unwrap_err().to_string(),
        doorward.verify_email(nobody, EMAIL).await.unwrap_err().to_string(),
        doorward.end_sessions(nobody).await.unwrap_err().to_string(),
    ];
    assert_eq!(errors, [(); 9].map(|()| "there is no such user"));
}

#[tokio::test]
async fn nothing_is_changed_in_a_session_that_has_ended_since_it_was_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let requester = Requester::new(client());
    let NewSession { user, token, .. } = register(&doorward).await;
    let caller = doorward.caller(token.as_str()).await.unwrap();
    let proof = || proof::Proof::of(&caller, Some(Password::unchecked(PASSWORD.to_owned())));
    sessions::log_out_everywhere(&doorward, user.id, &requester).await.unwrap();
    let is_refused = |error: &dyn std::fmt::Debug| {
        assert!(format!("{error:?}").contains("RightLost"), "{error:?}");
    };
    let new = Password::unchecked("another horse".to_owned());
    let changed = password::change(&doorward, &caller, proof(), new, &requester).await;
    is_refused(&changed.unwrap_err());
    let name = Name::parse("Eve".to_owned()).ok();
    let email = Email::parse("eve@example.com".to_owned()).ok();
    for new in [change::Change { name, email: None }, change::Change { name: None, email }] {
        let changed = change::change(&doorward, &caller, new, proof(), &requester).await;
        is_refused(&changed.map(|changed| changed.user).unwrap_err());
    }
    let key = keys::NewKey {
        name: Name::parse("A key".to_owned()).unwrap(),
        scopes: vec!["guard:*".to_owned()],
        lifetime: keys::LIFETIME,
        condition: None,
    };
    let made = keys::create_personal(&doorward, &caller, key, &requester).await;
    is_refused(&made.unwrap_err());
    is_refused(&leave::leave(&doorward, &caller, proof(), &requester).await.unwrap_err());
    let left = doorward.user_by_id(user.id).await.unwrap().unwrap();
    assert_eq!((left.name, left.email), (user.name, user.email));
    assert!(keys::of_user(&doorward, user.id).await.unwrap().is_empty());
    doorward.sign_in(EMAIL, PASSWORD, client()).await.unwrap();
}

/// The second of two requests to delete an account was admitted before the first was carried out.
#[tokio::test]
async fn who_has_no_account_any_more_is_not_told_that_the_password_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let doorward = open(folder.path()).await;
    let requester = Requester::new(client());
    let NewSession { token, .. } = register(&doorward).await;
    let caller = doorward.caller(token.as_str()).await.unwrap();
    let leave = async |password: &str| {
        let proof = proof::Proof::of(&caller, Some(Password::unchecked(password.to_owned())));
        leave::leave(&doorward, &caller, proof, &requester).await
    };
    assert!(matches!(leave("wrong horse").await, Err(Error::WrongPassword)));
    leave(PASSWORD).await.unwrap();
    assert!(matches!(leave(PASSWORD).await, Err(Error::SessionEnded)));
}
