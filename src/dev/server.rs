//! The running service of `doorward dev`, which a reset replaces by a new one.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use tokio::task::AbortHandle;

use super::{
    clock::SettableClock,
    logins::{FakeProvider, with_fake_provider},
    users::{SeedUser, UserChange},
};
use crate::{
    Doorward, OpenError,
    account::{
        self, OpenedSession,
        edit::Edit,
        look_up::user_by_id_or_email,
        session_start::{Authentication, NotBegun, begin_session},
    },
    clock::{Clock, Timestamp},
    config::{DatabaseUrl, Settings},
    credential::password::Busy,
    doorward::MissingKey,
    mail::{MailUrl, MemoryMailbox, SentMail},
    network::{ClientInfo, Network, Requester},
    session::TokenId,
    store::{self, Effects, ImportedWays, MemoryDatabase, PasswordCondition},
    token::memory_key_store::MemoryKeyStore,
    user::{Role, Roles, User},
};

/// A service in memory, and what it is reset to.
pub(crate) struct DevServer {
    settings: Settings,
    address: SocketAddr,
    clock: SettableClock,
    /// The time after a reset, unless it is the system's.
    initial_time: Option<Timestamp>,
    /// Kept at a reset, because apps cache the key set.
    key_store: Arc<MemoryKeyStore>,
    provider: FakeProvider,
    users: Vec<User>,
    running: ArcSwap<Running>,
    /// Tokens that have ended before the last reset, so that apps that follow the feed refuse them.
    ended: Mutex<Vec<(TokenId, Timestamp)>>,
    one_reset_at_a_time: tokio::sync::Mutex<()>,
}

/// The service since the last reset.
struct Running {
    doorward: Doorward,
    database: MemoryDatabase,
    mailbox: MemoryMailbox,
    upkeep: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.upkeep.abort();
    }
}

/// Why the service could not be started or reset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Account(#[from] account::Error),
}

/// There is no such user.
pub(crate) struct UnknownUser {
    /// The addresses that there are.
    known: Vec<String>,
}

impl fmt::Display for UnknownUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        let (shown, rest) = self.known.split_at(self.known.len().min(SHOWN));
        match (shown.is_empty(), rest.len()) {
            (true, _) => {
                f.write_str("There are no users: start with --users FILE, or POST /dev/users")
            }
            (false, 0) => write!(f, "No such user: there are {}", shown.join(", ")),
            (false, more) => {
                write!(f, "No such user: there are {} and {more} more", shown.join(", "))
            }
        }
    }
}

impl DevServer {
    /// The most ended tokens that are kept.
    const MAX_ENDED: usize = 10_000;
    /// The most users that are listed.
    const MAX_LISTED: usize = 1_000;

    /// Starts the service with these users. Its clock shows `initial_time`, or the time of the system.
    pub(crate) async fn start(
        settings: Settings,
        address: SocketAddr,
        users: Vec<SeedUser>,
        initial_time: Option<Timestamp>,
    ) -> Result<Self, StartError> {
        let (clock, key_store) = (SettableClock::new(Clock::system()), Arc::default());
        set_initial_time(&clock, initial_time);
        let running = open(&settings, address, &clock, &key_store).await?;
        let mut records = Vec::with_capacity(users.len());
        for user in users {
            records.push(to_user(&running.doorward, user).await?);
        }
        running.add(&records).await?;
        Ok(Self {
            settings,
            address,
            clock,
            initial_time,
            key_store,
            provider: FakeProvider::new(),
            users: records,
            running: ArcSwap::from_pointee(running),
            ended: Mutex::default(),
            one_reset_at_a_time: tokio::sync::Mutex::default(),
        })
    }

    /// The service since the last reset.
    pub(crate) fn doorward(&self) -> Doorward {
        self.running.load().doorward.clone()
    }

    pub(crate) fn clock(&self) -> &SettableClock {
        &self.clock
    }

    /// In place of the providers of the logins.
    pub(crate) fn provider(&self) -> &FakeProvider {
        &self.provider
    }

    /// The number of users after a reset.
    pub(crate) fn user_count(&self) -> usize {
        self.users.len()
    }

    /// Replaces the service by one with the initial users, the initial time and nothing else. Tokens of before are refused.
    pub(crate) async fn reset(&self) -> Result<Doorward, StartError> {
        let _guard = self.one_reset_at_a_time.lock().await;
        let old = self.running.load_full();
        let ended = self.end_tokens_of(&old).await?;
        set_initial_time(&self.clock, self.initial_time);
        let new = open(&self.settings, self.address, &self.clock, &self.key_store).await?;
        new.add(&self.users).await?;
        new.database.store.endings().add(ended);
        self.provider.reset();
        let doorward = new.doorward.clone();
        self.running.store(Arc::new(new));
        old.doorward.feed().close();
        Ok(doorward)
    }

    /// All tokens that have ended, with those of the sessions that a reset ends.
    async fn end_tokens_of(
        &self,
        old: &Running,
    ) -> Result<Vec<(TokenId, Timestamp)>, store::Error> {
        let now = self.clock.now();
        let store = &old.database.store;
        let mut ended = store.ended_tokens().await?;
        ended.extend(store.session_tokens().await?.into_iter().map(|token| (token, now)));
        let mut all = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(ended);
        let surplus = all.len().saturating_sub(Self::MAX_ENDED);
        all.drain(..surplus);
        Ok(all.clone())
    }

    /// All mail since the last reset, the newest first. Mail that is queued is sent first, so that nobody has to wait for it.
    pub(crate) async fn mails(&self) -> Result<Vec<SentMail>, store::Error> {
        let running = self.running.load_full();
        running.doorward.deliver_queued_mail().await?;
        Ok(running.mailbox.mails())
    }

    /// Removes all mail, that which is queued as well.
    pub(crate) async fn clear_mails(&self) -> Result<(), store::Error> {
        let running = self.running.load_full();
        running.doorward.deliver_queued_mail().await?;
        running.mailbox.clear();
        Ok(())
    }

    /// Adds a user until the next reset.
    pub(crate) async fn add_user(&self, user: SeedUser) -> Result<User, StartError> {
        let doorward = self.doorward();
        let user = to_user(&doorward, user).await?;
        doorward.store().add_user(&user, &Effects::NONE).await?;
        Ok(user)
    }

    /// The first users since the last reset, in the order of their addresses.
    pub(crate) async fn users(&self) -> Result<Vec<User>, store::Error> {
        self.doorward().store().users(None, Self::MAX_LISTED).await
    }

    /// The user with this address or id.
    pub(crate) async fn user(
        &self,
        typed: &str,
    ) -> Result<Result<User, UnknownUser>, store::Error> {
        match user_by_id_or_email(&self.doorward(), typed).await? {
            Some(user) => Ok(Ok(user)),
            None => {
                let users = self.users().await?;
                let known = users.into_iter().map(|user| user.email.as_str().to_owned()).collect();
                Ok(Err(UnknownUser { known }))
            }
        }
    }

    /// Opens a session without a password; `None` if the user is disabled.
    pub(crate) async fn sign_in(&self, user: &User) -> Result<Option<OpenedSession>, store::Error> {
        let doorward = self.doorward();
        let client = ClientInfo::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "doorward dev");
        let authentication = Authentication::by_test_of_app(user, doorward.now());
        match begin_session(&doorward, authentication, &Requester::new(client)).await {
            Ok(opened) => Ok(Some(opened)),
            Err(NotBegun::FactorMissing | NotBegun::Refused(_)) => Ok(None),
            Err(NotBegun::Store(error)) => Err(error),
        }
    }

    /// Changes a user until the next reset. As with the operator's commands, a new address is unverified, and a new password and
    /// disabling end all sessions.
    pub(crate) async fn change_user(
        &self,
        user: User,
        change: UserChange,
    ) -> Result<User, StartError> {
        let UserChange { name, email, password, verified, roles, disabled } = change;
        let doorward = self.doorward();
        let (store, now, id) = (doorward.store(), doorward.now(), user.id);
        let none = &Effects::NONE;
        // First, because the address may be taken.
        let edit = Edit { name, email, email_verified: verified, disabled, version: None };
        edit.apply(&doorward, &user, |_, _| Effects::NONE).await?;
        if let Some(password) = password {
            let hash = doorward.hasher().hash(password, Network::LOOPBACK).await?;
            let condition = PasswordCondition::Unconditional;
            store.set_password(id, condition, &hash, None, now, none).await?;
        }
        for role in roles.iter().flat_map(Roles::iter).filter_map(Role::parse) {
            store.grant_role(id, &role, now, none).await?;
        }
        let is_revoked = |role: &&str| roles.as_ref().is_some_and(|kept| !kept.contains(role));
        for role in user.roles.iter().filter(is_revoked).filter_map(Role::parse) {
            store.revoke_role(id, &role, now, none).await?;
        }
        Ok(store.user_by_id(id).await?.unwrap_or(user))
    }

    /// Deletes a user until the next reset.
    pub(crate) async fn delete_user(&self, user: &User) -> Result<(), store::Error> {
        let doorward = self.doorward();
        doorward.store().delete_user(user.id, doorward.now(), &Effects::NONE).await.map(drop)
    }

    /// Removes what has expired and changes keys that are due, after the clock was set. Upkeep would do it later.
    pub(crate) async fn apply_time(&self) -> Result<(), store::Error> {
        let doorward = self.doorward();
        if let Err(error) = doorward.tend_keys().await {
            tracing::warn!(%error, "cannot rotate the signing keys");
        }
        doorward.clean_up().await
    }
}

impl Running {
    async fn add(&self, users: &[User]) -> Result<(), store::Error> {
        let now = self.doorward.now();
        let users = users.to_vec();
        self.database
            .store
            .import_users(users, ImportedWays::default(), Vec::new(), now, &Effects::NONE)
            .await
            .map(drop)
    }
}

fn set_initial_time(clock: &SettableClock, time: Option<Timestamp>) {
    match time {
        Some(time) => clock.set(time, false),
        None => clock.follow_system(),
    }
}

/// Opens an empty service and starts its upkeep.
async fn open(
    settings: &Settings,
    address: SocketAddr,
    clock: &SettableClock,
    key_store: &Arc<MemoryKeyStore>,
) -> Result<Running, StartError> {
    let database = MemoryDatabase::new(Arc::clone(key_store))?;
    let mailbox = MemoryMailbox::default();
    let mut settings =
        Settings { database: DatabaseUrl::Memory(database.clone()), ..settings.clone() };
    settings.logins = with_fake_provider(&settings.logins, address);
    settings.mail.url = Some(MailUrl::Memory(mailbox.clone()));
    let doorward = Doorward::open_with(settings, MissingKey::Replace, clock.to_clock()).await?;
    doorward.set_listen_address(address);
    doorward.cookies().name_after_port(address.port());
    let upkeep = doorward.clone();
    let upkeep = tokio::spawn(async move { upkeep.run_upkeep().await }).abort_handle();
    Ok(Running { doorward, database, mailbox, upkeep })
}

async fn to_user(doorward: &Doorward, seed: SeedUser) -> Result<User, Busy> {
    let SeedUser { id, name, email, password, verified, roles, disabled, created_at } = seed;
    let hash = match password {
        Some(password) => Some(doorward.hasher().hash(password, Network::LOOPBACK).await?),
        None => None,
    };
    let mut user = User::new(name, email, hash, created_at.unwrap_or_else(|| doorward.now()));
    (user.id, user.email_verified, user.roles, user.disabled) = (id, verified, roles, disabled);
    Ok(user)
}
