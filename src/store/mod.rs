//! Stores all data in SQLite or PostgreSQL. Only this room uses SQL. Each kind of data is one file of rules and statements, which
//! are the same for both databases. What differs is in the two engines that run them.

mod api_keys;
pub mod archive;
mod audit;
mod changes;
mod columns;
mod counts;
mod credentials;
mod deletion;
mod effects;
mod emergency;
mod ended_tokens;
mod engine;
mod erasures;
mod event_times;
mod expiry;
mod factors;
mod identities;
mod imported_hashes;
mod imports;
mod invitations;
mod known_networks;
mod last_way;
mod login_failures;
mod memory;
mod old_schema;
mod one_time_secrets;
mod outbox;
mod passkeys;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "postgres_disabled.rs"]
mod postgres;
mod postgres_options;
mod pruning;
mod recorded_event;
mod recovery_codes;
mod report;
mod rights;
mod row;
mod schema;
mod secure;
mod session_proofs;
mod sessions;
mod sign_in;
mod sqlite;
mod statements;
mod tables;
mod totp_secrets;
mod trusted_devices;
mod used_codes;
mod user_record;
mod user_terms;
mod users;
mod value;
mod write;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use uuid::Uuid;

pub(crate) use self::postgres::{
    begin_restoration as begin_postgres_restoration,
    ensure_database_unused as ensure_postgres_unused,
};
pub use self::{
    api_keys::{AddKey, MAX_PERSONAL_KEYS},
    audit::{AuditFilter, EventOrder, StoredTree},
    changes::{Changes, Connectivity, Stamp},
    counts::{Sizes, StoreCounts},
    credentials::PasswordCondition,
    effects::{Effects, QueuedMail},
    emergency::{NewPasswords, Revoked},
    factors::{AddFactor, AddedIn, FactorUse, Holder, RemoveFactor},
    identities::{
        GivenRoles, IdentityUse, LinkIdentity, MAX_IDENTITIES, UnlinkIdentity, UpstreamSession,
    },
    imported_hashes::ImportedHash,
    imports::ImportedWays,
    last_way::OtherWays,
    memory::MemoryDatabase,
    old_schema::{BackupBefore, OldSchema, SchemaChange},
    one_time_secrets::OneTimeUse,
    outbox::ClaimedMail,
    passkeys::{FirstPasskey, MAX_PASSKEYS},
    postgres::PostgresUrl,
    postgres_options::PostgresOptions,
    recorded_event::StoredEvent,
    report::DatabaseReport,
    sessions::{MAX_SESSIONS, ReusedToken},
    sign_in::{Requirement, SessionStart, SignIn, SignInRefusal, SignInUser, SignInWritten},
    users::Conditional,
};
use self::{
    engine::Engine,
    old_schema::OlderSchema,
    row::Row,
    user_record::UserRecord,
    value::Value,
    write::{AfterCommit, Done, Transaction, Write, WriteScope},
};
#[cfg(feature = "internals")]
pub use self::{one_time_secrets::MAX_CODES, outbox::KEEP_GIVEN_UP};
use crate::{
    audit::AuditKey,
    data_folder::Reserve,
    event::Events,
    token::{key_store::KeyStore, shared_secret::SharedSecret},
    user::UserId,
};

/// A database.
///
/// Each method is one transaction. A method that changes something returns after the change is durable and counted in
/// [`Self::changes`].
pub struct Store {
    engine: Box<dyn Engine>,
    events: Events,
    /// Called after mail was queued.
    wake_mail: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What marks the events of the audit trail.
    audit_key: OnceLock<Arc<AuditKey>>,
}

impl Store {
    /// Opens a SQLite file, creates it if it is missing and migrates its schema. With a reserve, the database can be opened and
    /// sessions can be ended on a full disk.
    ///
    /// # Errors
    /// If the file cannot be opened, or a newer version has written it.
    pub fn open_sqlite(file: &Path, reserve: Option<Arc<Reserve>>) -> Result<Self, Error> {
        Self::open_sqlite_as(file, reserve, OldSchema::MIGRATE)
    }

    /// As [`Self::open_sqlite`], with a choice for an older schema.
    ///
    /// # Errors
    /// As [`Self::open_sqlite`], or if the schema is refused.
    pub(crate) fn open_sqlite_as(
        file: &Path,
        reserve: Option<Arc<Reserve>>,
        old: OldSchema,
    ) -> Result<Self, Error> {
        Ok(Self::over(Box::new(sqlite::open(file, reserve, old)?)))
    }

    /// An empty database in the memory of this process. It ends with this store.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn in_memory() -> Result<Self, Error> {
        Ok(Self::over(Box::new(sqlite::in_memory()?)))
    }

    /// Connects to a PostgreSQL database and migrates its schema. Such a database also holds the signing keys.
    ///
    /// # Errors
    /// If it cannot be reached, or a newer version has written it.
    #[cfg(feature = "internals")]
    pub async fn open_postgres(
        url: &PostgresUrl,
        options: PostgresOptions,
    ) -> Result<(Self, Arc<dyn KeyStore>), Error> {
        Self::open_postgres_as(url, options, OldSchema::MIGRATE).await
    }

    /// As [`Self::open_postgres`], with a choice for an older schema.
    ///
    /// # Errors
    /// As [`Self::open_postgres`], or if the schema is refused.
    pub(crate) async fn open_postgres_as(
        url: &PostgresUrl,
        options: PostgresOptions,
        old: OldSchema,
    ) -> Result<(Self, Arc<dyn KeyStore>), Error> {
        let (engine, keys) = postgres::open(url, options, old).await?;
        Ok((Self::over(engine), keys))
    }

    fn over(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            events: Events::default(),
            wake_mail: OnceLock::new(),
            audit_key: OnceLock::new(),
        }
    }

    /// What is known of the events of this process. The store publishes those of each change after its commit.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Has this called after mail was queued. Only the first call has an effect.
    pub(crate) fn on_mail(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake_mail.set(Box::new(wake));
    }

    /// Marks the events of the audit trail with this key. Only the first call has an effect.
    pub(crate) fn use_audit_key(&self, key: Arc<AuditKey>) {
        let _ = self.audit_key.set(key);
    }

    /// What marks the events of the audit trail. A store that is used without a service has a key of its own.
    pub(crate) fn audit_key(&self) -> &Arc<AuditKey> {
        self.audit_key.get_or_init(|| Arc::new(AuditKey::new(&SharedSecret::random())))
    }

    /// Counts changes, so that a cached user can be validated without a query.
    pub fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    /// The operations since the start.
    pub fn counts(&self) -> &StoreCounts {
        self.engine.counts()
    }

    /// Whether the schema is one that this version knows. Another instance may have migrated it.
    pub async fn has_known_schema(&self) -> Result<bool, Error> {
        self.engine.has_known_schema().await
    }

    /// Whether the database can be read and written.
    pub async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map_err(NotReady::cannot_read)?;
        self.engine.check_writes().await
    }

    /// What the database says about itself. It may take seconds.
    pub async fn report(&self) -> Result<DatabaseReport, Error> {
        self.engine.report().await
    }

    /// Whether other instances may use the same database.
    fn is_shared(&self) -> bool {
        self.changes().connectivity() != Connectivity::Embedded
    }

    async fn read(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, Error> {
        self.engine.read(sql, values.into()).await
    }

    /// Runs a write. `prepare` gets the id of the change and, if the scope has a user, their locked record. It may be called more
    /// than once.
    async fn write<T: Send + 'static>(
        &self,
        scope: WriteScope,
        prepare: impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.run(scope, false, prepare).await
    }

    /// As [`Self::write`], for a write that revokes access: it may use the space that is reserved for a full disk, and counts as
    /// done while its outcome is unknown.
    async fn revoke<T: Send + 'static>(
        &self,
        scope: WriteScope,
        prepare: impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.run(scope, true, prepare).await
    }

    /// Writes to a user or their sessions. Returns `otherwise` if there is no such user or `prepare` returns `None`.
    async fn write_user<T: Clone + Send + Sync + 'static>(
        &self,
        id: UserId,
        otherwise: T,
        prepare: impl Fn(Uuid, &UserRecord) -> Option<Write<T>> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.write(WriteScope::User(id), for_user(otherwise, prepare)).await
    }

    /// As [`Self::write_user`], for a write that revokes access.
    async fn revoke_from_user<T: Clone + Send + Sync + 'static>(
        &self,
        id: UserId,
        otherwise: T,
        prepare: impl Fn(Uuid, &UserRecord) -> Option<Write<T>> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.revoke(WriteScope::User(id), for_user(otherwise, prepare)).await
    }

    /// Writes to rows that nobody caches.
    async fn write_uncached<T: Send + 'static>(
        &self,
        prepare: impl Fn() -> Write<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.write(WriteScope::Uncached, move |_, _| prepare()).await
    }

    async fn run<T: Send + 'static>(
        &self,
        scope: WriteScope,
        revokes_access: bool,
        prepare: impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let Done { result, after_commit } = self.commit(scope, revokes_access, prepare).await?;
        let AfterCommit { events, has_mail } = after_commit;
        events.iter().for_each(|event| self.events.publish_recorded(event));
        if let Some(wake) = self.wake_mail.get().filter(|_| has_mail) {
            wake();
        }
        Ok(result)
    }

    /// Runs a write whose events have been published already.
    async fn write_published<T: Send + 'static>(
        &self,
        prepare: impl Fn() -> Write<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        Ok(self.commit(WriteScope::Uncached, false, move |_, _| prepare()).await?.result)
    }

    /// The kind of the database.
    pub(crate) fn kind(&self) -> archive::DatabaseKind {
        self.engine.kind()
    }

    async fn commit<T: Send + 'static>(
        &self,
        scope: WriteScope,
        revokes_access: bool,
        prepare: impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static,
    ) -> Result<Done<T>, Error> {
        let key = Arc::clone(self.audit_key());
        let transaction = Transaction::new(scope, revokes_access, Some(key), prepare);
        Ok(Done::of(self.engine.write(transaction).await?))
    }
}

/// A write that does nothing if there is no such user.
fn for_user<T: Clone + Send + Sync + 'static>(
    otherwise: T,
    prepare: impl Fn(Uuid, &UserRecord) -> Option<Write<T>> + Send + Sync + 'static,
) -> impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static {
    move |change_id, record| {
        let write = record.and_then(|record| prepare(change_id, record));
        write.unwrap_or_else(|| Write::nothing(otherwise.clone()))
    }
}

/// Why a store is not ready. The text is public, so it names no file, host or cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("The database cannot be read.")]
    CannotRead,
    #[error("The disk is full: only the end of sessions can be written.")]
    DiskFull,
    #[error("The database cannot be written to.")]
    CannotWrite,
    #[error("The database server is read-only.")]
    ReadOnly,
    /// The write-ahead log cannot be moved into the database file.
    #[error("The write-ahead log of the database grows because checkpoints fail.")]
    CheckpointsFail,
}

impl NotReady {
    /// Logs the cause, which is not public.
    fn cannot_read(cause: Error) -> Self {
        tracing::warn!(%cause, "not ready: the database cannot be read");
        Self::CannotRead
    }
}

/// Why a call to the store failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another user has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// The user may do more than whoever wants to change them.
    #[error("the user may do more than whoever wants to change them")]
    BeyondAuthority,
    /// The role may do more than whoever wants to give it.
    #[error("the role may do more than whoever wants to give it")]
    RoleBeyondAuthority,
    /// Whoever has ordered it has lost the right to.
    #[error("whoever has ordered it has lost the right to")]
    RightLost,
    /// A temporary failure: a retry may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// An internal error: a bug, or a damaged database.
    #[error("the database failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl engine::DatabaseKind {
    /// The number of the newest schema that this version knows, to which a start migrates the database.
    pub fn schema(self) -> usize {
        match self {
            Self::Sqlite => sqlite::SCHEMA,
            Self::Postgres => postgres::SCHEMA,
        }
    }
}

/// Why a backup cannot be restored into a database.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A server, or another command, uses the database.
    #[error("the database is in use by another doorward: stop every server that uses it first")]
    InUse,
    /// Something else holds a lock.
    #[error(
        "other connections hold locks on the tables of the database: wait until pg_dump, backups and other restores have \
         finished, or end the connections (pg_stat_activity shows them); nothing was restored"
    )]
    Locked,
    /// The database has users.
    #[error("the database already has users: add --replace to replace everything in it")]
    NotEmpty,
    #[error(transparent)]
    Store(#[from] Error),
}

/// The unique index on the addresses of users. A violation means that an address is taken.
const EMAIL_INDEX: &str = "users_by_email_key";

/// A newer version of Doorward has migrated the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a newer doorward has written the database (schema {found}, this version supports up to {known}): \
     start that version, or restore a backup from before the upgrade"
)]
struct NewerSchema {
    found: usize,
    known: usize,
}

impl From<NewerSchema> for Error {
    fn from(error: NewerSchema) -> Self {
        Self::Failed(error.into())
    }
}
