//! Everything that a running Doorward holds, opened once and shared by all doors.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, Guard as Borrowed};

use crate::{
    access::{
        caller::{AuthError, Caller, Callers, WorkDone},
        failed_logins::{FailedLogins, LoginRefusal},
        guard::GuardSet,
        policy::Designated,
        refusals::{DecisionId, Refusal, Refusals, Refused},
    },
    clock::{Clock, Timestamp},
    config::{DatabaseUrl, Settings, folder_of},
    credential::password::{Hasher, HasherError},
    data_folder::{self, DataFolder},
    network::{Network, ProxyWarnings},
    session::{Origin, Session},
    store::{self, PostgresStore, SqliteStore, Store, transfer::Installation},
    throttle::{AccountChange, AccountSecret, Throttle},
    token::{
        TokenMint,
        feed::Feed,
        key_file::KeyFile,
        signing_keys::{self, SigningKeys},
    },
    user::{EmailKey, UserId},
};

/// Sign-up, login and guards over one database. Cheap to clone; all clones are the same Doorward.
#[derive(Clone)]
pub struct Doorward {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    store: Arc<dyn Store>,
    keys: SigningKeys,
    callers: Callers,
    feed: Feed,
    hasher: Hasher,
    throttle: Throttle,
    proxy_warnings: ProxyWarnings,
    designated: Designated,
    guards: ArcSwap<GuardSet>,
    refusals: Refusals,
    failed_logins: FailedLogins,
    clock: Clock,
    /// Where it really listens, once it does.
    address: OnceLock<SocketAddr>,
    /// Ours until everything above is gone.
    folder: Option<Arc<DataFolder>>,
}

/// Why Doorward could not be opened. Says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data folder.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// The keys.
    #[error(transparent)]
    Keys(#[from] signing_keys::Error),
    /// The database.
    #[error("{database}: {error}")]
    Store {
        /// Which one.
        database: DatabaseUrl,
        /// What it said.
        error: store::Error,
    },
    /// Everything was to be moved there, and is not all there.
    #[error("{0}: a move to this database was cut short: run the same `doorward migrate` again")]
    Unfinished(DatabaseUrl),
    /// Passwords cannot be hashed.
    #[error(transparent)]
    Hasher(#[from] HasherError),
}

/// What may be done on opening that cannot be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// A missing key stops the start if anybody could hold a token.
    #[default]
    Refuse,
    /// A missing key is replaced: whoever is signed in has to sign in again.
    Replace,
}

/// What a database is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Serve,
    Command,
}

impl Doorward {
    /// Opens the database that the settings name, creating it on first use.
    ///
    /// # Errors
    /// If it is in use by another process, or something in it is missing or damaged.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        Self::open_with(settings, MissingKey::Refuse, Clock::system()).await
    }

    /// Opens the database with a clock of one's own, and a word on what to do without a key.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_with(
        settings: Settings,
        missing_key: MissingKey,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        Self::open_for(Purpose::Serve, settings, missing_key, clock).await
    }

    /// Opens the database to carry out one command, which leaves alone whatever a server does at its start.
    pub(crate) async fn open_for_command(settings: Settings) -> Result<Self, OpenError> {
        Self::open_for(Purpose::Command, settings, MissingKey::Refuse, Clock::system()).await
    }

    async fn open_for(
        purpose: Purpose,
        settings: Settings,
        missing_key: MissingKey,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let Opened { folder, store, installation } = open_database(&settings).await?;
        let in_store = |error| OpenError::Store { database: settings.database.clone(), error };
        if installation.archive.is_move_unfinished().await.map_err(in_store)? {
            return Err(OpenError::Unfinished(settings.database));
        }
        let tokens_exist =
            missing_key == MissingKey::Refuse && store.has_users().await.map_err(in_store)?;
        let (terms, now) = (settings.token.clone(), clock.now());
        let key_store = match &settings.key_file {
            Some(path) => {
                let file = KeyFile::open(path, installation.key_store)?;
                if purpose == Purpose::Serve {
                    file.take_over(terms.lifetime, now).await?;
                }
                Arc::new(file)
            }
            None => installation.key_store,
        };
        let keys = SigningKeys::open(key_store, tokens_exist, terms, now).await?;
        if purpose == Purpose::Serve {
            settings.guards.log_warnings();
        }
        // A command throttles nobody.
        let secret = match purpose {
            Purpose::Serve => store.account_secret().await.map_err(in_store)?,
            Purpose::Command => AccountSecret::random(),
        };
        let doorward = Self::assemble(settings, folder, store, keys, &secret, clock)?;
        if purpose == Purpose::Serve {
            let loaded = doorward.load_failures().await;
            loaded.map_err(|error| OpenError::Store {
                database: doorward.settings().database.clone(),
                error,
            })?;
        }
        doorward.keep_reserve();
        Ok(doorward)
    }

    fn assemble(
        settings: Settings,
        folder: Option<Arc<DataFolder>>,
        store: Arc<dyn Store>,
        keys: SigningKeys,
        secret: &AccountSecret,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let hasher = Hasher::new(settings.password_cost, settings.password_threads);
        let inner = Inner {
            callers: Callers::new(Arc::clone(keys.mint()), Arc::clone(&store)),
            feed: Feed::new(Arc::clone(keys.mint()), Arc::clone(&store), clock.clone()),
            hasher: hasher?,
            throttle: Throttle::new(&settings.throttle, secret),
            proxy_warnings: ProxyWarnings::default(),
            designated: Designated::new(&settings.designated_name),
            guards: ArcSwap::new(Arc::clone(&settings.guards)),
            refusals: Refusals::default(),
            failed_logins: FailedLogins::default(),
            settings,
            store,
            keys,
            clock,
            address: OnceLock::new(),
            folder,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The routes of the service, to be merged into an axum app.
    pub fn routes(&self) -> axum::Router {
        crate::http::routes(self.clone())
    }

    /// The caller who holds this token.
    ///
    /// # Errors
    /// If the token is not valid, or the database cannot be read.
    pub async fn caller(&self, token: &str) -> Result<Caller, AuthError> {
        self.inner.callers.by_token(token, self.now()).await
    }

    /// What recognising callers has cost so far.
    pub fn work_done(&self) -> WorkDone {
        self.inner.callers.work_done()
    }

    /// The guards in force.
    pub fn guards(&self) -> Borrowed<Arc<GuardSet>> {
        self.inner.guards.load()
    }

    /// Puts other guards in force, all at once.
    pub fn replace_guards(&self, guards: Arc<GuardSet>) {
        self.inner.guards.store(guards);
    }

    /// The refusal with this id, if it is among the latest.
    pub fn refusal(&self, id: &str) -> Option<Refusal> {
        self.inner.refusals.by_id(id)
    }

    /// Keeps a refusal and names it.
    pub(crate) fn refuse(&self, refused: Refused) -> DecisionId {
        self.inner.refusals.keep(refused)
    }

    /// The latest refusals by guards and policies.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.inner.refusals
    }

    /// Logs a failed login and keeps it for `doorward why --user`.
    pub(crate) fn note_failed_login(
        &self,
        reason: LoginRefusal,
        user: Option<UserId>,
        email: &EmailKey,
        client: Network,
    ) {
        self.inner.failed_logins.note(reason, user, email, client, self.now());
    }

    /// The latest failed logins.
    pub(crate) fn failed_logins(&self) -> &FailedLogins {
        &self.inner.failed_logins
    }

    /// The database.
    pub fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// What it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Tells where it really listens, which discovery names unless `public_url` is set. Only the first call counts.
    pub fn listens_on(&self, address: SocketAddr) {
        let _ = self.inner.address.set(address);
    }

    /// How others reach it, without a slash at the end.
    pub fn public_base(&self) -> String {
        let settings = self.settings();
        settings.base_url(*self.inner.address.get().unwrap_or(&settings.listen))
    }

    /// The policy for the designated name.
    pub fn designated(&self) -> &Designated {
        &self.inner.designated
    }

    /// The keys that tokens are signed with.
    pub fn keys(&self) -> &SigningKeys {
        &self.inner.keys
    }

    /// What tells verifiers elsewhere which tokens have ended.
    pub fn feed(&self) -> &Feed {
        &self.inner.feed
    }

    /// The folder that is ours: with the embedded database and its keys, or with nothing but a socket for commands.
    pub fn folder(&self) -> Option<&DataFolder> {
        self.inner.folder.as_deref()
    }

    /// On the disk of the embedded database.
    fn keep_reserve(&self) {
        if let (DatabaseUrl::Sqlite(_), Some(folder)) = (&self.settings().database, self.folder()) {
            folder.reserve().allocate();
        }
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.inner.hasher
    }

    pub(crate) fn mint(&self) -> &TokenMint {
        self.inner.keys.mint()
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.inner.throttle
    }

    pub(crate) fn proxy_warnings(&self) -> &ProxyWarnings {
        &self.inner.proxy_warnings
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// A session that begins now.
    pub(crate) fn new_session(&self, user_id: UserId, origin: Origin) -> Session {
        Session::new(user_id, origin, self.now(), self.settings().session_lifetime)
    }

    /// Tidies up, tends the keys, saves failed logins and keeps the reserve full, from time to time, for as long as it is
    /// polled.
    pub async fn sweep(&self) {
        tokio::join!(self.keep_tidy(), self.keep_keys(), self.keep_failures());
    }

    /// Saves failed logins and counts those of other instances.
    async fn keep_failures(&self) {
        const EVERY: Duration = Duration::from_secs(1);
        /// Little enough for [`store::LoginFailureStore::recent_failures`] to have missed nothing.
        const SHORT: Duration = Duration::from_secs(5);
        let (mut failing, mut heard) = (false, Instant::now());
        loop {
            tokio::time::sleep(EVERY).await;
            let outcome = match self.save_failures().await {
                Ok(()) if heard.elapsed() > SHORT => self.load_failures().await,
                Ok(()) => self.hear_failures().await,
                Err(error) => Err(error),
            };
            match &outcome {
                Ok(()) => heard = Instant::now(),
                Err(error) if !failing => {
                    tracing::warn!(%error, "cannot save failed logins; they are counted in memory");
                }
                Err(_) => {}
            }
            failing = outcome.is_err();
        }
    }

    /// Saves failed logins, so that they count after a restart and on other instances. Whoever polls [`Self::sweep`] need
    /// not call this except at the end.
    ///
    /// # Errors
    /// If the database does not do it. What was not saved is kept for the next call.
    pub async fn save_failures(&self) -> Result<(), store::Error> {
        const AT_ONCE: usize = 500;
        let recovery = self.settings().throttle.account_recovery;
        let mut unsaved = self.throttle().take_unsaved();
        while let Some(changes) = unsaved.next(AT_ONCE) {
            self.store().save_failures(changes, recovery, self.now()).await?;
            let count = changes.len();
            unsaved.saved(count);
        }
        Ok(())
    }

    /// Counts what other instances have saved lately.
    async fn hear_failures(&self) -> Result<(), store::Error> {
        let stored = self.store().recent_failures().await?;
        self.throttle().merge(&stored, Instant::now(), self.now());
        Ok(())
    }

    /// Forgives the failed logins on an account, also where no server runs.
    pub(crate) async fn forgive_failures(&self, email: &EmailKey) -> Result<(), store::Error> {
        self.throttle().clear_account(email, Instant::now());
        let account = self.store().account_secret().await?.account(email);
        let cleared = AccountChange { account, cleared: true, failures: 0 };
        let recovery = self.settings().throttle.account_recovery;
        self.store().save_failures(&[cleared], recovery, self.now()).await
    }

    async fn load_failures(&self) -> Result<(), store::Error> {
        let stored = self.store().all_failures().await?;
        self.throttle().merge(&stored, Instant::now(), self.now());
        Ok(())
    }

    async fn keep_keys(&self) {
        const EVERY: Duration = Duration::from_secs(10);
        /// What cannot be read now must be read soon: until then a revoked key may be in use here.
        const SOON: Duration = Duration::from_millis(250);
        let mut failing = false;
        loop {
            let outcome = self.follow_and_tend_keys().await;
            if let Err(error) = &outcome
                && !failing
            {
                tracing::warn!(%error, "cannot tend the keys");
            }
            failing = outcome.is_err();
            let pause = if failing { SOON } else { EVERY };
            let _ = tokio::time::timeout(pause, self.keys().changed()).await;
        }
    }

    async fn follow_and_tend_keys(&self) -> Result<(), signing_keys::Error> {
        self.keys().reload(self.now()).await?;
        self.tend_keys().await
    }

    /// Has the next key sign once its time has come, and removes retired keys whose last token is gone.
    ///
    /// # Errors
    /// If the key store refuses.
    pub async fn tend_keys(&self) -> Result<(), signing_keys::Error> {
        self.keys().apply_due_changes(self.now()).await
    }

    async fn keep_tidy(&self) {
        const EVERY: Duration = Duration::from_secs(300);
        loop {
            if let Err(error) = self.tidy().await {
                tracing::warn!(%error, "cannot tidy up the sessions");
            }
            self.keep_reserve();
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Writes down which sessions were used, and removes what has expired, endings of tokens that have, and failed logins
    /// that no longer count.
    ///
    /// # Errors
    /// If the database does not do it.
    pub async fn tidy(&self) -> Result<(), store::Error> {
        const AT_ONCE: usize = 1000;
        /// A verifier's clock may be behind.
        const CLOCKS_APART: Duration = Duration::from_secs(5 * 60);
        for seen in self.inner.callers.sightings().take().chunks(AT_ONCE) {
            self.store().set_last_seen(seen).await?;
        }
        while self.store().delete_expired(self.now(), AT_ONCE).await? == AT_ONCE {}
        let expired = self.now() - (self.settings().token.lifetime + CLOCKS_APART);
        while self.store().delete_endings(expired, AT_ONCE).await? == AT_ONCE {}
        let recovered = self.throttle().obsolete_before(Instant::now(), self.now());
        while self.store().delete_failures(recovered, AT_ONCE).await? == AT_ONCE {}
        Ok(())
    }
}

/// A database, and what belongs to it.
pub(crate) struct Opened {
    /// Ours for as long as this lives.
    folder: Option<Arc<DataFolder>>,
    store: Arc<dyn Store>,
    /// The same as what can be moved.
    pub(crate) installation: Installation,
}

/// Opens the database that the settings name, creating it on first use.
pub(crate) async fn open_database(settings: &Settings) -> Result<Opened, OpenError> {
    let in_store = |error| OpenError::Store { database: settings.database.clone(), error };
    match &settings.database {
        DatabaseUrl::Sqlite(file) => {
            let folder = Arc::new(DataFolder::open(folder_of(file))?);
            folder.restrict_permissions(Some(file));
            let opened = SqliteStore::open(file, Some(Arc::clone(folder.reserve())));
            let store = Arc::new(opened.map_err(in_store)?);
            let (archive, key_store) = (Arc::clone(&store) as _, Arc::clone(&folder) as _);
            Ok(Opened {
                folder: Some(folder),
                store,
                installation: Installation { archive, key_store },
            })
        }
        DatabaseUrl::Postgres(url) => {
            let folder = settings.folder().map(DataFolder::open).transpose()?.map(Arc::new);
            folder.iter().for_each(|folder| folder.restrict_permissions(None));
            let opened = PostgresStore::open(url, settings.postgres.clone()).await;
            let store = Arc::new(opened.map_err(in_store)?);
            let (archive, key_store) = (Arc::clone(&store) as _, Arc::clone(&store) as _);
            Ok(Opened { folder, store, installation: Installation { archive, key_store } })
        }
    }
}
