//! Nobody changes those who may do more than themselves, or gives more than they have: it is decided in the transaction that writes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use doorward::internals::{
    credential::password::PasswordHash,
    event::{Administrator, Authority, Event, EventKind, Right},
    network::{ClientInfo, Requester},
    store::{
        AddKey, Conditional, Effects, Error, GivenRoles, Holder, ImportedWays, LinkIdentity,
        PasswordCondition, Store,
    },
    throttle::AccountKey,
    token::one_time::{OneTime, Purpose},
    user::{Identity, IdentityId, Role, Roles, User, UserId},
};

use crate::{
    NOW, api_keys::api_key, edit, invitations::invitation, one_time_secrets::one_time,
    postgres_store, seed::Chance, session, size, user,
};

const ADMIN: &str = "admin";

fn admin() -> Role {
    Role::parse(ADMIN).unwrap()
}

/// What is ordered by this right about a user, by somebody who may not change administrators.
fn ordered(right: Right, subject: UserId, kind: EventKind) -> Effects {
    let requester = Requester::new(ClientInfo::new([192, 0, 2, 7].into(), "curl/8"));
    let by = Administrator::by_right(Authority::new(right, [admin()].into()), &requester);
    Event::by_administrator(&by, Some(subject), NOW, kind).into()
}

/// What somebody with fewer rights may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    SetPassword,
    RemovePassword,
    Secure,
    Disable,
    MakeResetCode,
    MakeFactorReset,
    VerifyEmail,
    EndSessions,
    RevokeRole,
    Unlock,
    RevokeKey,
    RemoveIdentity,
    Delete,
}

impl Order {
    const ALL: &[Self] = &[
        Self::SetPassword,
        Self::RemovePassword,
        Self::Secure,
        Self::Disable,
        Self::MakeResetCode,
        Self::MakeFactorReset,
        Self::VerifyEmail,
        Self::EndSessions,
        Self::RevokeRole,
        Self::Unlock,
        Self::RevokeKey,
        Self::RemoveIdentity,
        Self::Delete,
    ];

    /// Orders it about a user as they are stored, and tells whether it was carried out.
    async fn give(self, store: &Store, right: &Right, user: UserId) -> Result<bool, Error> {
        let by_helpdesk = |id, kind| ordered(right.clone(), id, kind);
        let user = store.user_by_id(user).await.unwrap().unwrap();
        let id = user.id;
        match self {
            Self::SetPassword => {
                let hash = PasswordHash::from_store("known to the helpdesk".into());
                let effects = by_helpdesk(id, EventKind::PasswordChanged);
                let any = PasswordCondition::Unconditional;
                store.set_password(id, any, &hash, None, NOW, &effects).await
            }
            Self::RemovePassword => {
                let effects = by_helpdesk(id, EventKind::PasswordRemoved);
                store.remove_password(id, user.password_version(), NOW, &effects).await
            }
            Self::Secure => {
                let made = one_time(&user, Purpose::OperatorReset);
                let effects = by_helpdesk(id, EventKind::UserSecured { ended: None });
                let effects = Effects { secrets: vec![made], ..effects };
                let since = Some(NOW);
                let (outcome, _) = store.secure_user(&user, since, NOW, &effects).await?;
                Ok(outcome == Conditional::Done)
            }
            Self::Disable => {
                let effects = by_helpdesk(id, EventKind::UserDisabled);
                edit(store, id, NOW, |user| user.disabled = true, &effects).await
            }
            Self::MakeResetCode => {
                let made = one_time(&user, Purpose::OperatorReset);
                give_one_time(store, right, &made, EventKind::ResetCodeCreated).await
            }
            Self::MakeFactorReset => {
                let made = one_time(&user, Purpose::FactorReset);
                give_one_time(store, right, &made, EventKind::FactorResetCreated).await
            }
            Self::VerifyEmail => {
                let verified = !user.email_verified;
                let effects = by_helpdesk(id, EventKind::EmailVerificationSet { verified });
                edit(store, id, NOW, |user| user.email_verified = verified, &effects).await
            }
            Self::EndSessions => {
                let effects = by_helpdesk(id, EventKind::SessionsEnded { count: None });
                store.end_sessions(id, NOW, &effects).await.map(|_| true)
            }
            Self::RevokeRole => {
                let role = Role::parse("staff").unwrap();
                let effects = by_helpdesk(id, EventKind::RoleRevoked(role.clone()));
                store.revoke_role(id, &role, NOW, &effects).await
            }
            Self::Unlock => {
                let effects = by_helpdesk(id, EventKind::AccountUnlocked);
                store.unlock_account(id, account(1), &[account(2)], NOW, &effects).await
            }
            Self::RevokeKey => {
                let key = store.api_keys_by_user(id, NOW).await.unwrap().swap_remove(0);
                let kind = EventKind::KeyRevoked { key: key.id, name: key.name.clone() };
                store.revoke_api_key(&key, NOW, &by_helpdesk(id, kind)).await
            }
            Self::RemoveIdentity => {
                let identity = store.identities_of(id).await.unwrap().swap_remove(0);
                let kind = EventKind::IdentityUnlinked { login: identity.login };
                store.remove_identity(id, identity.id, NOW, &by_helpdesk(id, kind)).await
            }
            Self::Delete => {
                let effects = by_helpdesk(id, EventKind::UserDeleted);
                store.delete_user(id, NOW, &effects).await
            }
        }
    }
}

async fn give_one_time(
    store: &Store,
    right: &Right,
    made: &OneTime,
    kind: EventKind,
) -> Result<bool, Error> {
    let ordered = ordered(right.clone(), made.user_id, kind);
    let effects = Effects { secrets: vec![made.clone()], ..ordered };
    store.replace_one_time(made.user_id, made.purpose, &effects).await
}

fn account(number: u8) -> AccountKey {
    AccountKey::from_store(&[number; 16]).unwrap()
}

/// A user with a session, a key, an account at another provider and a role.
async fn somebody(store: &Store, number: u64) -> User {
    let user = user("Somebody", &format!("somebody{number}@example.com"));
    let session = session(&user, 60);
    store.add_user_with_session(&user, &session, &Effects::NONE).await.unwrap();
    let identity = Identity {
        id: IdentityId::random(),
        user_id: user.id,
        issuer: "https://accounts.example.com".into(),
        subject: number.to_string(),
        login: "work".into(),
        display: user.email.as_str().to_owned(),
        created_at: NOW,
        last_used_at: None,
    };
    let who = Holder { user: &user, session: &session };
    let requester = Requester::new(ClientInfo::new([192, 0, 2, 7].into(), "curl/8"));
    let event = Event::by_unknown(Some(user.id), &requester, NOW, EventKind::UserEnabled);
    let gives = GivenRoles { roles: Roles::default(), event };
    let linked = store.link_identity(who, &identity, &gives, &Effects::NONE).await.unwrap();
    assert_eq!(linked, LinkIdentity::Linked);
    let (key, digest) = api_key(Some(user.id));
    let added = store.add_personal_key(&user, &key, &digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);
    let staff = Role::parse("staff").unwrap();
    store.grant_role(user.id, &staff, NOW, &Effects::NONE).await.unwrap();
    user
}

/// A signed-in member of the helpdesk, and their right.
async fn helpdesk(store: &Store, number: u64) -> (User, Right) {
    let user = user("Helper", &format!("helper{number}@example.com"));
    let session = session(&user, 60);
    store.add_user_with_session(&user, &session, &Effects::NONE).await.unwrap();
    let role = Role::parse("helpdesk").unwrap();
    store.grant_role(user.id, &role, NOW, &Effects::NONE).await.unwrap();
    let user = store.user_by_id(user.id).await.unwrap().unwrap();
    let right = Right::of_session(session.id, &user);
    (user, right)
}

async fn promote(store: &Store, user: UserId) {
    let granted = store.grant_admin_role(user, &admin(), NOW, &Effects::NONE).await;
    assert!(granted.unwrap());
}

/// What is stored about a user, and the events of the trail.
async fn rows_about(store: &Store) -> Vec<String> {
    crate::rows(store).await.unwrap()
}

async fn orders_of_those_with_fewer_rights_fail(store: &Store) {
    let (_, right) = helpdesk(store, 1).await;
    for (number, order) in (0..).zip(Order::ALL) {
        let plain = somebody(store, number).await;
        assert!(order.give(store, &right, plain.id).await.unwrap(), "{order:?}");
        let promoted = somebody(store, 100 + number).await;
        promote(store, promoted.id).await;
        let before = rows_about(store).await;
        let refused = order.give(store, &right, promoted.id).await;
        assert!(matches!(refused, Err(Error::BeyondAuthority)), "{order:?}: {refused:?}");
        assert_eq!(rows_about(store).await, before, "{order:?}");
    }
    // Whomever the event names: what counts is who is changed.
    let promoted = somebody(store, 200).await;
    promote(store, promoted.id).await;
    let about_another = ordered(right, UserId::random(), EventKind::UserDeleted);
    let refused = store.delete_user(promoted.id, NOW, &about_another).await;
    assert!(matches!(refused, Err(Error::BeyondAuthority)), "{refused:?}");
}

/// Whichever statement gives a role: a grant, an invitation, an import, or a new user.
async fn roles_beyond_the_own_rights_are_not_given(store: &Store) {
    let (_, right) = helpdesk(store, 5).await;
    let plain = somebody(store, 2000).await;
    let [mut imported, mut added] =
        ["imported", "added"].map(|name| user(name, &format!("{name}@example.com")));
    let (mut invitation, digest) = invitation("guest@example.com", None);
    for (role, is_given) in [(admin(), false), (Role::parse("writer").unwrap(), true)] {
        let roles: Roles = [role.clone()].into_iter().collect();
        (imported.roles, added.roles) = (roles.clone(), roles.clone());
        invitation.roles = roles;
        let effects = |kind| ordered(right.clone(), plain.id, kind);
        let granted = effects(EventKind::RoleGranted(role.clone()));
        let import = effects(EventKind::UsersImported { count: None });
        let before = rows_about(store).await;
        let outcomes = [
            store.grant_role(plain.id, &role, NOW, &granted).await.map(drop),
            store.add_invitation(&invitation, &digest, &effects(EventKind::UserAdded)).await,
            store
                .import_users(vec![imported.clone()], ImportedWays::default(), vec![], NOW, &import)
                .await
                .map(drop),
            store.add_user(&added, &effects(EventKind::UserAdded)).await,
        ];
        let refused = outcomes.iter().filter(|o| matches!(o, Err(Error::RoleBeyondAuthority)));
        match is_given {
            true => assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}"),
            false => assert_eq!((refused.count(), rows_about(store).await), (4, before)),
        }
    }
}

async fn a_role_that_administers_voids_what_others_have_made(store: &Store) {
    let (_, right) = helpdesk(store, 2).await;
    let purposes = [
        Purpose::OperatorReset,
        Purpose::FactorReset,
        Purpose::ResetPassword,
        Purpose::ChangeEmail,
        Purpose::RestoreEmail,
    ];
    let made = async |number| {
        let user = somebody(store, number).await;
        let made = purposes.map(|purpose| one_time(&user, purpose));
        for one_time in &made {
            let made = give_one_time(store, &right, one_time, EventKind::ResetCodeCreated).await;
            assert!(made.unwrap());
        }
        (user, made)
    };
    let is_stored = async |one_time: &OneTime| {
        store.one_time_by_digest(one_time.purpose, &one_time.digest).await.unwrap().is_some()
    };
    let (user, kept) = made(1000).await;
    let writer = Role::parse("writer").unwrap();
    assert!(store.grant_role(user.id, &writer, NOW, &Effects::NONE).await.unwrap());
    for one_time in &kept {
        assert!(is_stored(one_time).await, "an ordinary role leaves them");
    }
    let (user, void) = made(1001).await;
    promote(store, user.id).await;
    for one_time in &void {
        assert!(!is_stored(one_time).await, "{:?}", one_time.purpose);
    }
}

/// What was refused is recorded also if whoever caused it has lost their rights since. Else it would keep back everything after it.
async fn events_are_recorded_without_a_right(store: &Store) {
    let (helper, right) = helpdesk(store, 4).await;
    store.end_sessions(helper.id, NOW, &Effects::NONE).await.unwrap();
    let Effects { events, .. } = ordered(right, helper.id, EventKind::ResetFailed);
    store.record(events).await.unwrap();
}

/// Orders race with a promotion. None that begins after the promotion is acknowledged is carried out, and no code is left.
async fn a_promotion_is_not_overtaken(store: Arc<Store>) {
    let mut chances = Chance::of_this_run();
    let (_, right) = helpdesk(&store, 3).await;
    for order in [
        Order::SetPassword,
        Order::Secure,
        Order::Disable,
        Order::MakeResetCode,
        Order::MakeFactorReset,
        Order::Unlock,
    ] {
        let mut chance = chances.split();
        for round in 0..size::chosen("DOORWARD_TEST_RACES", 100) {
            let user = somebody(&store, 10_000 * (1 + order as u64) + round).await;
            let promoted = Arc::new(AtomicBool::new(false));
            let ordering = {
                let (store, promoted) = (Arc::clone(&store), Arc::clone(&promoted));
                let right = right.clone();
                tokio::spawn(async move {
                    loop {
                        let is_late = promoted.load(Ordering::SeqCst);
                        match order.give(&store, &right, user.id).await {
                            Err(Error::BeyondAuthority) => return,
                            outcome => {
                                assert!(outcome.unwrap());
                                assert!(!is_late, "{order:?} after the promotion");
                            }
                        }
                    }
                })
            };
            for _ in 0..chance.below(3) {
                tokio::task::yield_now().await;
            }
            promote(&store, user.id).await;
            promoted.store(true, Ordering::SeqCst);
            ordering.await.unwrap();
            let user = store.user_by_id(user.id).await.unwrap().unwrap();
            for purpose in [Purpose::OperatorReset, Purpose::FactorReset] {
                let left = store.pending_one_time(&user, purpose, NOW).await.unwrap();
                assert_eq!(left, None, "{order:?}");
            }
        }
    }
}

/// Somebody loses the right to give orders in each of these ways.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Session,
    Role,
    Disabled,
    Deleted,
    Key,
    OwnerOfKey,
}

impl Loss {
    const ALL: [Self; 6] =
        [Self::Session, Self::Role, Self::Disabled, Self::Deleted, Self::Key, Self::OwnerOfKey];

    /// The right of a member of the helpdesk that is lost in this way.
    async fn right(self, store: &Store, helper: &User, right: Right) -> Right {
        let owner = match self {
            Self::Key => None,
            Self::OwnerOfKey => Some(helper),
            _ => return right,
        };
        let (key, digest) = api_key(owner.map(|owner| owner.id));
        match owner {
            None => store.add_machine_key(&key, &digest, &Effects::NONE).await.unwrap(),
            Some(owner) => {
                let added = store.add_personal_key(owner, &key, &digest, &Effects::NONE).await;
                assert_eq!(added.unwrap(), AddKey::Added);
            }
        }
        Right::of_key(key.id, owner)
    }

    async fn happen(self, store: &Store, helper: &User, right: &Right) {
        let (id, none) = (helper.id, &Effects::NONE);
        match (self, right) {
            (Self::Key, Right::Key { key, .. }) => {
                let key = store.api_key_by_id(*key).await.unwrap().unwrap();
                assert!(store.revoke_api_key(&key, NOW, none).await.unwrap());
            }
            (Self::Role | Self::OwnerOfKey, _) => {
                let role = Role::parse("helpdesk").unwrap();
                assert!(store.revoke_role(id, &role, NOW, none).await.unwrap());
            }
            (Self::Disabled, _) => {
                assert!(edit(store, id, NOW, |user| user.disabled = true, none).await.unwrap());
            }
            (Self::Deleted, _) => assert!(store.delete_user(id, NOW, none).await.unwrap()),
            _ => assert_eq!(store.end_sessions(id, NOW, none).await.unwrap(), 1),
        }
    }
}

async fn whoever_has_lost_their_rights_changes_nobody(store: &Store) {
    for (number, loss) in (10..).zip(Loss::ALL) {
        for (order, subject) in Order::ALL.iter().zip(number * 100..) {
            let (helper, right) = helpdesk(store, subject).await;
            let right = loss.right(store, &helper, right).await;
            let user = somebody(store, 100_000 + subject).await;
            loss.happen(store, &helper, &right).await;
            let before = rows_about(store).await;
            let refused = order.give(store, &right, user.id).await;
            assert!(matches!(refused, Err(Error::RightLost)), "{loss:?} {order:?}: {refused:?}");
            assert_eq!(rows_about(store).await, before, "{loss:?} {order:?}");
        }
    }
}

/// Random sequences of promotions and demotions of a user, of rights that are lost and got anew, and of orders.
async fn orders_follow_the_model(store: &Store, steps: u64) {
    const ORDERS: [Order; 7] = [
        Order::SetPassword,
        Order::Secure,
        Order::MakeResetCode,
        Order::MakeFactorReset,
        Order::VerifyEmail,
        Order::EndSessions,
        Order::Unlock,
    ];
    const LOSSES: [Loss; 4] = [Loss::Session, Loss::Role, Loss::Key, Loss::OwnerOfKey];
    let mut chance = Chance::of_this_run();
    let subject = somebody(store, 800_000).await.id;
    let (mut is_admin, mut held) = (false, None);
    let mut lost = helpdesk(store, 800_000).await.1;
    store.end_sessions(lost.person().unwrap(), NOW, &Effects::NONE).await.unwrap();
    for step in 1..=steps {
        match (chance.below(10), held.take()) {
            (0, right) => {
                held = right;
                is_admin = !is_admin;
                if is_admin {
                    promote(store, subject).await;
                    let user = store.user_by_id(subject).await.unwrap().unwrap();
                    for purpose in [Purpose::OperatorReset, Purpose::FactorReset] {
                        assert_eq!(
                            store.pending_one_time(&user, purpose, NOW).await.unwrap(),
                            None
                        );
                    }
                } else {
                    let revoked = store.revoke_role(subject, &admin(), NOW, &Effects::NONE).await;
                    assert!(revoked.unwrap());
                }
            }
            (1 | 2, Some((loss, helper, right))) => {
                Loss::happen(loss, store, &helper, &right).await;
                lost = right;
            }
            (1 | 2, None) => {
                let loss = LOSSES[usize::try_from(chance.below(4)).unwrap()];
                let (helper, right) = helpdesk(store, 800_000 + step).await;
                let right = loss.right(store, &helper, right).await;
                held = Some((loss, helper, right));
            }
            (_, right) => {
                held = right;
                let order = ORDERS[usize::try_from(chance.below(7)).unwrap()];
                let right = held.as_ref().map_or(&lost, |(_, _, right)| right);
                let outcome = order.give(store, right, subject).await;
                let is_expected = match (is_admin, held.is_some()) {
                    (true, _) => matches!(outcome, Err(Error::BeyondAuthority)),
                    (false, false) => matches!(outcome, Err(Error::RightLost)),
                    (false, true) => matches!(outcome, Ok(true)),
                };
                assert!(is_expected, "{order:?}, step {step}: {outcome:?}");
            }
        }
    }
}

/// An order may end the session that it is given in.
async fn an_order_about_oneself_is_carried_out(store: &Store) {
    for (order, number) in
        [Order::EndSessions, Order::Secure, Order::Disable, Order::Delete].into_iter().zip(5000..)
    {
        let (helper, right) = helpdesk(store, number).await;
        assert!(order.give(store, &right, helper.id).await.unwrap(), "{order:?}");
    }
}

/// Orders race with the loss of the right to them. When the loss is acknowledged, no order is carried out any more, and none is under
/// way.
async fn the_loss_of_a_right_is_not_overtaken(store: Arc<Store>) {
    const ROUNDS: u64 = 50;
    let user = somebody(&store, 900_000).await;
    let version = async || {
        let user = store.user_by_id(user.id).await.unwrap().unwrap();
        user.password_version()
    };
    let losses = [Loss::Session, Loss::Role, Loss::Disabled, Loss::Key, Loss::OwnerOfKey];
    for (loss, round) in losses.into_iter().cycle().zip(0..losses.len() as u64 * ROUNDS) {
        let (helper, right) = helpdesk(&store, 900_000 + round).await;
        let right = loss.right(&store, &helper, right).await;
        let ordering = {
            let (store, right) = (Arc::clone(&store), right.clone());
            tokio::spawn(async move {
                loop {
                    match Order::SetPassword.give(&store, &right, user.id).await {
                        Err(Error::RightLost) => return,
                        outcome => assert!(outcome.unwrap()),
                    }
                }
            })
        };
        loss.happen(&store, &helper, &right).await;
        let at_the_loss = version().await;
        ordering.await.unwrap();
        assert_eq!(version().await, at_the_loss, "{loss:?}: an order was overtaken");
    }
}

/// Two members of the helpdesk give orders about each other. Neither waits for the other one for ever.
async fn orders_about_each_other_are_carried_out(store: Arc<Store>) {
    let (ada, right_of_ada) = helpdesk(&store, 950_001).await;
    let (bob, right_of_bob) = helpdesk(&store, 950_002).await;
    for _ in 0..10 {
        let (about_bob, about_ada) = tokio::join!(
            Order::VerifyEmail.give(&store, &right_of_ada, bob.id),
            Order::VerifyEmail.give(&store, &right_of_bob, ada.id),
        );
        assert!(about_bob.unwrap() && about_ada.unwrap());
    }
}

async fn run_all(store: Store) {
    whoever_has_lost_their_rights_changes_nobody(&store).await;
    an_order_about_oneself_is_carried_out(&store).await;
    orders_of_those_with_fewer_rights_fail(&store).await;
    roles_beyond_the_own_rights_are_not_given(&store).await;
    a_role_that_administers_voids_what_others_have_made(&store).await;
    events_are_recorded_without_a_right(&store).await;
    orders_follow_the_model(&store, 500).await;
    let store = Arc::new(store);
    a_promotion_is_not_overtaken(Arc::clone(&store)).await;
    the_loss_of_a_right_is_not_overtaken(Arc::clone(&store)).await;
    orders_about_each_other_are_carried_out(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_changes_those_who_may_do_more_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_changes_those_who_may_do_more_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(store).await;
    }
}
