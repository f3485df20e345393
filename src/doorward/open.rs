//! Opens the database, the data folder and the keys, and builds the state in memory.

use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;

use super::{
    Counts, Doorward, Inner,
    audit_secret::{LostAuditSecret, check_trail, use_audit_secret},
    outbox::{self, MailDelivery},
    sizes::LastSizes,
    trail::Trail,
};
use crate::{
    access::{api_key::ApiKeys, caller::Callers, policy::Designated, refusals::Refusals},
    clock::Clock,
    config::{DatabaseUrl, Settings, SettingsError, folder_of},
    credential::password::{Hasher, HasherError},
    data_folder::{self, DataFolder},
    event::Event,
    federation::Providers,
    mail::TransportError,
    network::{Probes, ProxyWarnings},
    store::{self, Connectivity, MemoryDatabase, OldSchema, Store, archive::Installation},
    throttle::{AccountSecret, Throttle},
    token::{
        cookie::CookieMint,
        factor_key::FactorKey,
        feed::Feed,
        key_file::KeyFile,
        key_store::{KeyStore, add_missing_secrets, shared_secret},
        one_time::OneTimeMint,
        shared_secret::{SecretName, SharedSecret},
        signing_keys::{self, SigningKeys},
    },
};

/// Why Doorward could not be opened. The message says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// The signing keys cannot be used.
    #[error(transparent)]
    Keys(#[from] signing_keys::Error),
    /// The database cannot be used.
    #[error("{database}: {error}")]
    Store {
        /// The database.
        database: DatabaseUrl,
        /// What went wrong.
        error: store::Error,
    },
    /// A migration to this database did not finish.
    #[error(
        "{0}: a migration to this database did not finish: run the same `doorward migrate` again"
    )]
    Unfinished(DatabaseUrl),
    /// The secret that encrypts second factors is missing.
    #[error(
        "{0}: the secret that encrypts second factors (factor-secret) is missing, but users have authenticator apps: restore it \
         from your backup, or start once with --new-signing-key to create a new one, after which each of them needs a reset link \
         (doorward user factor reset)"
    )]
    FactorSecretMissing(DatabaseUrl),
    /// The secret of an existing audit trail is missing.
    #[error(
        "{0}: the secret of the audit trail (audit-secret) is missing, and the trail has events: restore it from your backup, or \
         start once with `doorward serve --new-audit-secret` to go on under a new name, after which `doorward audit verify --key` \
         with the old public key verifies the events of before"
    )]
    AuditSecretMissing(DatabaseUrl),
    /// The secret of the audit trail is not the one that its last checkpoint is signed with.
    #[error(
        "{0}: the secret of the audit trail (audit-secret) is not the one that the trail was written with: restore it from your \
         backup, or start once with `doorward serve --new-audit-secret` to go on under a new name, after which `doorward audit \
         verify --key` with the old public key verifies the events of before"
    )]
    AuditSecretReplaced(DatabaseUrl),
    /// Users have passkeys that they could not use with these settings.
    #[error("users have passkeys for the domain {domain}, which they could not use: {advice}")]
    PasskeyDomain {
        /// The domain of the passkeys.
        domain: String,
        /// What is wrong with the settings, and what to do.
        advice: String,
    },
    /// Passwords cannot be hashed.
    #[error(transparent)]
    Hasher(#[from] HasherError),
}

impl OpenError {
    /// Whether another process uses the data folder.
    pub(crate) fn is_in_use(&self) -> bool {
        matches!(self, Self::Data(data_folder::Error::InUse { .. }))
    }
}

/// What to do on opening when the signing key or the secret of second factors is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MissingKey {
    /// Refuse to open if there are users, who may hold tokens signed with the missing key, or authenticator apps.
    #[default]
    Refuse,
    /// Create a new key. All users have to log in again.
    Replace,
}

/// What a database is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenedFor {
    Serve,
    Command {
        /// Whether it derives one-time secrets or encrypts factors, which a server has to read later.
        makes_secrets: bool,
    },
}

impl OpenedFor {
    /// Whether it creates secrets that are missing.
    fn stores_secrets(self) -> bool {
        matches!(self, Self::Serve | Self::Command { makes_secrets: true })
    }

    /// A command leaves the schema to a server, or to `doorward migrate`.
    fn old_schema(self) -> OldSchema {
        match self {
            Self::Serve => OldSchema::MIGRATE,
            Self::Command { .. } => OldSchema::Refuse,
        }
    }

    async fn secret(
        self,
        key_store: &dyn KeyStore,
        name: SecretName,
    ) -> Result<SharedSecret, signing_keys::Error> {
        Ok(match self.stores_secrets() {
            true => shared_secret(key_store, name).await?,
            // Such a command writes nothing. Without a stored secret there is nothing that it could read with one.
            false => key_store.stored_secret(name).await?.unwrap_or_else(SharedSecret::random),
        })
    }
}

impl OpenedDatabase {
    /// Records what a command does that needs no service, before it does it. The event is marked as those of the server are.
    ///
    /// # Errors
    /// If the database or the secret of the trail cannot be read or written.
    pub(crate) async fn record(&self, event: Event) -> Result<(), OpenError> {
        let Installation { store, key_store } = &self.installation;
        let refuse = LostAuditSecret::Refuse;
        let trail = check_trail(store, &**key_store, refuse, &self.database).await?;
        use_audit_secret(store, &**key_store, trail, &self.database, event.at).await?;
        let in_store = |error| OpenError::Store { database: self.database.clone(), error };
        store.record(vec![event]).await.map_err(in_store)
    }
}

/// Secrets that all instances share, besides the signing keys.
struct Secrets {
    cookie: SharedSecret,
    factor: SharedSecret,
    account: AccountSecret,
}

/// Parts that a command does not need: it shows no pages and sends no mail.
struct ServerParts {
    logo: Option<String>,
    mail_delivery: Option<Arc<MailDelivery>>,
    /// Whether the operator has asked for new keys in place of lost ones.
    new_signing_key: bool,
}

impl Doorward {
    /// Opens the database that the settings name. Creates it on first use. An older schema is changed, after a line in the log and a copy
    /// of a SQLite file.
    ///
    /// # Errors
    /// If another process uses the database, or if a part of it is missing or damaged.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        Self::open_with(settings, MissingKey::Refuse, Clock::system()).await
    }

    /// As [`Self::open`], with a choice for a missing signing key and a clock.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) async fn open_with(
        settings: Settings,
        missing_key: MissingKey,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let lost = LostAuditSecret::Refuse;
        Self::open_for(OpenedFor::Serve, settings, missing_key, lost, clock).await
    }

    /// As [`Self::open_with`], with a choice for a lost secret of the audit trail.
    ///
    /// # Errors
    /// As [`Self::open`].
    #[cfg(feature = "cli")]
    pub(crate) async fn open_to_serve(
        settings: Settings,
        missing_key: MissingKey,
        lost: LostAuditSecret,
    ) -> Result<Self, OpenError> {
        let clock = Clock::system();
        Self::open_for(OpenedFor::Serve, settings, missing_key, lost, clock).await
    }

    /// Opens the database for a command, without the steps that only a server takes at its start. For a command that makes
    /// one-time secrets, the secret that they are derived from is stored.
    pub(crate) async fn open_for_command(
        settings: Settings,
        makes_secrets: bool,
    ) -> Result<Self, OpenError> {
        let opened_for = OpenedFor::Command { makes_secrets };
        let (missing, lost) = (MissingKey::Refuse, LostAuditSecret::Refuse);
        Self::open_for(opened_for, settings, missing, lost, Clock::system()).await
    }

    async fn open_for(
        opened_for: OpenedFor,
        settings: Settings,
        missing_key: MissingKey,
        lost_audit_secret: LostAuditSecret,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        settings.check()?;
        let serving = match opened_for {
            OpenedFor::Serve => {
                let unusable = |error: TransportError| SettingsError::new(error.to_string());
                let mail_delivery = outbox::mail_delivery(&settings.mail).map_err(unusable)?;
                let logo = settings.branding.read_logo()?;
                let new_signing_key = missing_key == MissingKey::Replace;
                ServerParts { logo, mail_delivery, new_signing_key }
            }
            OpenedFor::Command { .. } => {
                ServerParts { logo: None, mail_delivery: None, new_signing_key: false }
            }
        };
        let OpenedDatabase { folder, installation, .. } =
            open_database(&settings, opened_for.old_schema()).await?;
        let store = installation.store;
        let in_store = |error| OpenError::Store { database: settings.database.clone(), error };
        if store.is_move_unfinished().await.map_err(in_store)? {
            return Err(OpenError::Unfinished(settings.database));
        }
        if opened_for == OpenedFor::Serve {
            let party = settings.passkey_relying_party(settings.listen);
            let id = party.as_ref().map_or("", |party| &*party.id);
            for domain in store.other_rp_ids(id).await.map_err(in_store)? {
                // Those of a first run without settings. No setting can keep them.
                if domain == "localhost" {
                    tracing::warn!(
                        "users have passkeys for localhost, which work under this name only: `doorward user factor reset` \
                         gives each of them a link to sign in without"
                    );
                    continue;
                }
                let advice = settings.passkeys_lost_because(&domain);
                return Err(OpenError::PasskeyDomain { domain, advice });
            }
        }
        let tokens_exist =
            missing_key == MissingKey::Refuse && store.has_users().await.map_err(in_store)?;
        let (terms, lifetime) = (settings.token.clone(), settings.session_lifetime);
        let now = clock.now();
        let key_store = match &settings.key_file {
            Some(path) => {
                let file = KeyFile::open(path, installation.key_store)?;
                if opened_for == OpenedFor::Serve {
                    file.take_over(terms.lifetime, now).await?;
                }
                Arc::new(file)
            }
            None => installation.key_store,
        };
        if missing_key == MissingKey::Refuse
            && opened_for.stores_secrets()
            && key_store
                .stored_secret(SecretName::Factors)
                .await
                .map_err(signing_keys::Error::from)?
                .is_none()
            && store.has_totp().await.map_err(in_store)?
        {
            return Err(OpenError::FactorSecretMissing(settings.database));
        }
        let database = &settings.database;
        let trail = check_trail(&store, &*key_store, lost_audit_secret, database).await?;
        if opened_for.stores_secrets() {
            let added = add_missing_secrets(&*key_store, &SecretName::ALL).await;
            added.map_err(signing_keys::Error::from)?;
        }
        let cookie_secret = opened_for.secret(&*key_store, SecretName::Cookies).await?;
        let factor_secret = opened_for.secret(&*key_store, SecretName::Factors).await?;
        // A command that writes leaves events, which must be marked as those of the server are.
        use_audit_secret(&store, &*key_store, trail, database, now).await?;
        let keys = SigningKeys::open(key_store, tokens_exist, terms, lifetime, now).await?;
        if opened_for == OpenedFor::Serve {
            settings.guards.log_warnings();
            settings.log_login_warnings(&settings.logins);
        }
        // A command is not throttled, so a random secret suffices.
        let secret = match opened_for {
            OpenedFor::Serve => store.account_secret().await.map_err(in_store)?,
            OpenedFor::Command { .. } => AccountSecret::random(),
        };
        let secrets = Secrets { cookie: cookie_secret, factor: factor_secret, account: secret };
        let doorward = Self::assemble(settings, folder, store, keys, &secrets, serving, clock)?;
        if opened_for == OpenedFor::Serve {
            let loaded = async {
                doorward.load_failures().await?;
                doorward.begin_search_terms().await?;
                doorward.read_foreign_hashes().await
            };
            loaded.await.map_err(|error| OpenError::Store {
                database: doorward.settings().database.clone(),
                error,
            })?;
        }
        doorward.refill_reserve();
        Ok(doorward)
    }

    fn assemble(
        settings: Settings,
        folder: Option<Arc<DataFolder>>,
        store: Arc<Store>,
        keys: SigningKeys,
        secrets: &Secrets,
        serving: ServerParts,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let hasher = Hasher::new(settings.password_cost, settings.password_threads);
        let changes = Arc::clone(&store);
        let feed = Feed::new(
            Arc::clone(keys.mint()),
            Arc::clone(store.endings()),
            move || {
                matches!(
                    changes.changes().connectivity(),
                    Connectivity::Embedded | Connectivity::Connected
                )
            },
            clock.clone(),
        );
        let cookies = Arc::new(CookieMint::new(&secrets.cookie));
        if let Some(delivery) = serving.mail_delivery.clone() {
            store.on_mail(move || delivery.wake());
        }
        let counts = Counts::default();
        counts.put_in_force(&settings.guards);
        let logins = settings.logins.iter().map(|login| &*login.name);
        store.events().counts().declare_logins(logins);
        let inner = Inner {
            callers: Callers::new(
                Arc::clone(keys.mint()),
                Arc::clone(&cookies),
                Arc::clone(&store),
            ),
            api_keys: ApiKeys::new(Arc::clone(&store)),
            cookies,
            one_time_secrets: OneTimeMint::new(&secrets.cookie),
            cookie_secret: Mutex::new(secrets.cookie.clone()),
            factor_key: FactorKey::new(secrets.factor.as_bytes()),
            mail_delivery: serving.mail_delivery,
            feed,
            hasher: hasher?,
            throttle: Throttle::new(&settings.throttle, &secrets.account),
            proxy_warnings: ProxyWarnings::default(),
            probes: Probes::default(),
            designated: Designated::new(&settings.designated_name),
            guards: ArcSwap::new(Arc::clone(&settings.guards)),
            logins: ArcSwap::new(Arc::clone(&settings.logins)),
            providers: Providers::new(),
            refusals: Refusals::default(),
            counts,
            last_sizes: LastSizes::default(),
            trail: Trail::new(serving.new_signing_key),
            logo: serving.logo,
            settings,
            store,
            keys,
            keys_failing: false.into(),
            clock_in_doubt: false.into(),
            opened_at: clock.now(),
            clock,
            address: OnceLock::new(),
            has_pages: false.into(),
            folder,
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

/// An open database with its data folder and its keys.
pub(crate) struct OpenedDatabase {
    /// Locked for as long as this lives.
    folder: Option<Arc<DataFolder>>,
    /// What it is called in errors.
    database: DatabaseUrl,
    pub(crate) installation: Installation,
}

/// Opens the database that the settings name. Creates it on first use. `old` decides about an older schema.
pub(crate) async fn open_database(
    settings: &Settings,
    old: OldSchema,
) -> Result<OpenedDatabase, OpenError> {
    let in_store = |error| OpenError::Store { database: settings.database.clone(), error };
    let database = settings.database.clone();
    match &settings.database {
        DatabaseUrl::Sqlite(file) => {
            let folder = Arc::new(DataFolder::open(folder_of(file))?);
            folder.restrict_permissions(Some(file));
            let opened = Store::open_sqlite_as(file, Some(Arc::clone(folder.reserve())), old);
            let store = Arc::new(opened.map_err(in_store)?);
            let key_store = Arc::clone(&folder) as _;
            let installation = Installation { store, key_store };
            Ok(OpenedDatabase { folder: Some(folder), database, installation })
        }
        DatabaseUrl::Postgres(url) => {
            let folder = settings.folder().map(DataFolder::open).transpose()?.map(Arc::new);
            folder.iter().for_each(|folder| folder.restrict_permissions(None));
            let opened = Store::open_postgres_as(url, settings.postgres.clone(), old).await;
            let (store, key_store) = opened.map_err(in_store)?;
            let installation = Installation { store: Arc::new(store), key_store };
            Ok(OpenedDatabase { folder, database, installation })
        }
        DatabaseUrl::Memory(memory) => {
            let MemoryDatabase { store, key_store } = memory.clone();
            let installation = Installation { store, key_store };
            Ok(OpenedDatabase { folder: None, database, installation })
        }
    }
}
