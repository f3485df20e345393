//! PostgreSQL, shared by any number of instances: what is asked of it. How it is asked is the engine's business.

mod archive;
mod batch;
mod connection;
mod engine;
mod keys;
mod line;
mod login_failures;
mod migrations;
mod statements;
mod tail;
mod tls;
mod trouble;
mod url;

use std::{
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use tokio::sync::{Mutex, watch};
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use self::{
    batch::Batch,
    connection::Value,
    engine::{About, Engine, Plan},
    statements as sql,
};
pub use self::{engine::PostgresOptions, url::PostgresUrl};
use super::{Changes, Endings, Error, MAX_SESSIONS, NotReady, OldPassword, ReusedToken, Store};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    network::Network,
    session::{Origin, Session, SessionId, TokenId},
    throttle::KnownNetworks,
    user::{Email, EmailKey, Name, PasswordVersion, Role, Roles, User, UserId},
};

/// Users and sessions in PostgreSQL.
pub struct PostgresStore {
    engine: Arc<Engine>,
    users: Arc<Batch<User>>,
    sessions: Arc<Batch<(Session, User)>>,
    /// Made before the keys are first read, so that no change to them is missed.
    keys_changed: Mutex<watch::Receiver<()>>,
}

impl PostgresStore {
    /// How long a database that is only just starting is waited for.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Connects to the database and brings its schema up to date.
    ///
    /// # Errors
    /// If it cannot be reached, or was written by a newer version.
    pub async fn open(url: &PostgresUrl, options: PostgresOptions) -> Result<Self, Error> {
        let engine = Engine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
        let started = Instant::now();
        let began = loop {
            let outcome = match engine.connector().connect().await {
                Ok(db) => begin(&engine, &db).await,
                Err(error) if error.is_refusal => Err(Error::Failed(error.into())),
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(began) => break began,
                Err(Error::Unavailable(cause)) if started.elapsed() < Self::PATIENCE => {
                    tracing::warn!(%cause, "waiting for the database");
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                Err(error) => return Err(error),
            }
        };
        engine.answers();
        let engine = Arc::new(engine);
        let keys_changed = Mutex::new(engine.keys_changed().subscribe());
        tokio::spawn(tail::listen(Arc::downgrade(&engine), began));
        let users = Batch::new(sql::USER_BY_ID, sql::USERS_BY_ID, |row| user(row, 0));
        let sessions =
            Batch::new(sql::SESSION_WITH_USER, sql::SESSIONS_WITH_USERS, session_with_user);
        Ok(Self { engine, users, sessions, keys_changed })
    }

    async fn read_user(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Option<User>, Error> {
        self.engine.read(sql, values).await?.first().map(|row| user(row, 0)).transpose()
    }

    /// Changes a user's row, if there is one and `change` finds something to do.
    async fn change<T: Clone + Send + Sync + 'static>(
        &self,
        id: UserId,
        otherwise: T,
        change: impl Fn(Uuid, &Locked) -> Option<Plan<T>> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let decide = move |number, locked: Option<&Locked>| {
            let plan = locked.and_then(|locked| change(number, locked));
            plan.unwrap_or_else(|| Plan::nothing(otherwise.clone()))
        };
        self.engine.write(About::User(id), decide).await
    }
}

/// Brings the schema up to date and hears what has ended before the time that it returns, which is the database's.
async fn begin(engine: &Engine, db: &connection::Connection) -> Result<SystemTime, Error> {
    migrations::apply(db).await?;
    let now = tail::time(db).await?;
    tail::hear_all_endings(engine, db).await?;
    engine.connect_lines().await?;
    Ok(now)
}

/// A user whose row nobody else can change now.
struct Locked {
    user: User,
    reset_code: Option<(Vec<u8>, Timestamp)>,
    known_networks: KnownNetworks,
}

impl Locked {
    fn read(row: &Row) -> Result<Self, Error> {
        let digest: Option<Vec<u8>> = column(row, sql::USER_COLUMNS)?;
        let expires_at = column::<Option<i64>>(row, sql::USER_COLUMNS + 1)?;
        let reset_code = digest.zip(expires_at.map(Timestamp::from_millis));
        let known_networks = KnownNetworks::from_store(column(row, sql::USER_COLUMNS + 2)?);
        Ok(Self { user: user(row, 0)?, reset_code, known_networks })
    }

    /// Whether the old password is as whoever sets a new one expects.
    fn agrees_with(&self, old: &OldPassword, now: Timestamp) -> bool {
        match old {
            OldPassword::Known(version) => self.user.password_version == *version,
            OldPassword::Forgotten(code) => self
                .reset_code
                .as_ref()
                .is_some_and(|(digest, end)| digest == code.as_bytes() && *end > now),
            OldPassword::Overruled => true,
        }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn add_user(&self, user: &User, session: Option<&Session>) -> Result<(), Error> {
        let id = user.id;
        let (user, session) = (user_values(user), session.cloned());
        let decide = move |_, _: Option<&_>| {
            let plan = Plan::new(()).then(sql::ADD_USER, user.clone());
            match &session {
                Some(session) => {
                    let plan = plan.then(sql::ADD_SESSION, session_values(session));
                    note_network(plan, &KnownNetworks::default(), session)
                }
                None => plan,
            }
        };
        self.engine.write(About::NewUser(id), decide).await
    }

    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        self.users.get(&self.engine, id.uuid()).await
    }

    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error> {
        self.read_user(sql::USER_BY_EMAIL, [email_value(email)]).await
    }

    async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        self.read_user(sql::USER_BY_RESET_CODE, [code.as_bytes().to_vec().into(), now.into()]).await
    }

    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        let after = after.map_or("", EmailKey::as_str);
        let rows = self.engine.read(sql::USERS, [after.into(), limit_of(limit)]).await?;
        rows.iter().map(|row| user(row, 0)).collect()
    }

    async fn has_users(&self) -> Result<bool, Error> {
        Ok(!self.engine.read(sql::HAS_USERS, []).await?.is_empty())
    }

    async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (name, email) = (name.cloned(), email.cloned());
        self.change(id, None, move |_, locked| {
            let mut user = locked.user.clone();
            user.name = name.clone().unwrap_or(user.name);
            if let Some(email) = email.as_ref().filter(|email| **email != user.email) {
                user.email = email.clone();
                user.email_verified = false;
            }
            user.updated_at = now;
            let values = [
                id.into(),
                user.name.as_str().into(),
                user.email.as_str().into(),
                user.email.key().as_str().into(),
                user.email_verified.into(),
                now.into(),
            ];
            Some(Plan::new(Some(user)).then(sql::SET_NAME_AND_EMAIL, values))
        })
        .await
    }

    async fn set_email_verified(
        &self,
        id: UserId,
        email: &Email,
        verified: bool,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let email = email.clone();
        self.change(id, false, move |_, Locked { user, .. }| {
            let differs = user.email == email && user.email_verified != verified;
            let values = [id.into(), verified.into(), now.into()];
            differs.then(|| Plan::new(true).then(sql::SET_EMAIL_VERIFIED, values))
        })
        .await
    }

    async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error> {
        let (old, new) = (old.clone(), new.clone());
        self.change(id, (), move |_, locked| {
            let is_as_it_was = locked.user.password_hash.as_ref() == Some(&old);
            let values = [id.into(), new.as_phc().into()];
            is_as_it_was.then(|| Plan::new(()).then(sql::REPLACE_PASSWORD_HASH, values))
        })
        .await
    }

    async fn grant_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.change_roles(id, now, move |roles| roles.grant(role.clone())).await
    }

    async fn revoke_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.change_roles(id, now, move |roles| roles.revoke(&role)).await
    }

    async fn set_password(
        &self,
        id: UserId,
        old: OldPassword,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let new = new.as_phc().to_owned();
        self.change(id, false, move |change, locked| {
            let values = [id.into(), new.as_str().into(), now.into()];
            locked.agrees_with(&old, now).then(|| {
                let plan = Plan::new(true).then(sql::SET_PASSWORD, values);
                end_sessions(plan, id, keep, change, now)
            })
        })
        .await
    }

    async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
    ) -> Result<bool, Error> {
        let code = code.as_bytes().to_vec();
        self.change(user, false, move |_, _| {
            let values = [user.into(), code.clone().into(), expires_at.into()];
            Some(Plan::new(true).then(sql::SET_RESET_CODE, values))
        })
        .await
    }

    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.change(id, false, move |change, _| {
            let plan = end_sessions(Plan::new(true), id, None, change, now);
            Some(plan.then(sql::SET_DISABLED, [id.into(), true.into()]))
        })
        .await
    }

    async fn enable_user(&self, id: UserId) -> Result<bool, Error> {
        self.change(id, false, move |_, _| {
            Some(Plan::new(true).then(sql::SET_DISABLED, [id.into(), false.into()]))
        })
        .await
    }

    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.change(id, false, move |change, _| {
            let plan = end_sessions(Plan::new(true), id, None, change, now);
            Some(plan.then(sql::DELETE_USER, [id.into()]))
        })
        .await
    }

    async fn add_session(&self, user: &User, session: &Session) -> Result<bool, Error> {
        let (id, version, began) = (user.id, user.password_version, session.created_at);
        let session = session.clone();
        self.change(id, false, move |change, Locked { user, known_networks, .. }| {
            let may_sign_in = !user.disabled && user.password_version == version;
            let kept = limit_of(MAX_SESSIONS - 1);
            may_sign_in.then(|| {
                let oldest = [id.into(), kept.clone(), change.into(), began.into()];
                let plan = Plan::new(true)
                    .then(sql::NOTE_ENDINGS_OF_OLDEST, oldest)
                    .then(sql::END_OLDEST_SESSIONS, [id.into(), kept])
                    .then(sql::ADD_SESSION, session_values(&session))
                    .then(sql::SET_LAST_LOGIN, [id.into(), began.into()]);
                note_network(plan, known_networks, &session)
            })
        })
        .await
    }

    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        self.sessions.get(&self.engine, id.uuid()).await
    }

    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        let rows = self.engine.read(sql::SESSIONS_OF, [user.into(), now.into()]).await?;
        rows.iter().map(session).collect()
    }

    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Session { id, token_id: old, user_id, .. } = *session;
        self.change(user_id, false, move |change, _| {
            let plan = Plan::counted(|rows| rows[1] > 0)
                .then(sql::NOTE_RENEWAL, [id.into(), old.into(), change.into(), now.into()])
                .then(sql::RENEW_SESSION, [id.into(), old.into(), token_id.into()]);
            Some(plan)
        })
        .await
    }

    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let ReusedToken { user_id, session_id, token_id } = *reused;
        self.change(user_id, false, move |change, _| {
            let of = [session_id.into(), user_id.into(), token_id.into()];
            let when = [replaced_by.into(), now.into()];
            let found: Vec<Value> = of.into_iter().chain(when).collect();
            let noted = found.iter().cloned().chain([change.into()]).collect::<Vec<_>>();
            let plan = Plan::counted(|rows| rows[1] > 0)
                .then(sql::NOTE_ENDING_OF_REUSED, noted)
                .then(sql::END_REUSED_SESSION, found);
            Some(plan)
        })
        .await
    }

    async fn end_session(
        &self,
        user: UserId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.change(user, false, move |change, _| {
            let plan = Plan::counted(|rows| rows[1] > 0)
                .then(sql::NOTE_ENDING, [id.into(), user.into(), change.into(), now.into()])
                .then(sql::END_SESSION, [id.into(), user.into()]);
            Some(plan)
        })
        .await
    }

    async fn end_sessions(&self, user: UserId, now: Timestamp) -> Result<usize, Error> {
        self.change(user, 0, move |change, _| {
            let plan = Plan::counted(|rows| usize::try_from(rows[1]).unwrap_or(usize::MAX));
            Some(end_sessions(plan, user, None, change, now))
        })
        .await
    }

    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        let mut seen = seen.to_vec();
        // In one order everywhere, so that two instances do not wait for each other.
        seen.sort_unstable();
        let decide = move |_, _: Option<&_>| {
            let note = |plan: Plan<()>, (id, at): &(SessionId, Timestamp)| {
                plan.then(sql::NOTE_SIGHTING, [(*id).into(), (*at).into()])
            };
            seen.iter().fold(Plan::new(()), note)
        };
        self.engine.write(About::Housekeeping, decide).await
    }

    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        let decide = move |_, _: Option<&_>| {
            Plan::counted(most)
                .then(sql::SWEEP_SESSIONS, [now.into(), limit_of(limit)])
                .then(sql::SWEEP_RESET_CODES, [now.into(), limit_of(limit)])
                .then(sql::SWEEP_CHANGES, [limit_of(limit)])
        };
        self.engine.write(About::Housekeeping, decide).await
    }

    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error> {
        let decide = move |_, _: Option<&_>| {
            Plan::counted(|rows| usize::try_from(rows[0]).unwrap_or(usize::MAX))
                .then(sql::FORGET_ENDINGS, [before.into(), limit_of(limit)])
        };
        let gone = self.engine.write(About::Housekeeping, decide).await?;
        self.endings().forget(before);
        Ok(gone)
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    /// A server can stop taking writes while connections to it stay: one that was demoted, or told to by its operator.
    async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map_err(NotReady::cannot_read)?;
        let told = self.engine.read(sql::IS_READ_ONLY, []).await.map_err(NotReady::cannot_read)?;
        match told.first().map(|row| column::<String>(row, 0)) {
            Some(Ok(answer)) if answer == "on" => Err(NotReady::ReadOnly),
            _ => Ok(()),
        }
    }

    fn endings(&self) -> &Endings {
        self.engine.endings()
    }
}

impl PostgresStore {
    async fn change_roles(
        &self,
        id: UserId,
        now: Timestamp,
        change: impl Fn(&mut Roles) -> bool + Send + Sync + 'static,
    ) -> Result<bool, Error> {
        self.change(id, false, move |_, locked| {
            let mut roles = locked.user.roles.clone();
            let values = |roles: &Roles| [id.into(), roles.to_text().into(), now.into()];
            change(&mut roles).then(|| Plan::new(true).then(sql::SET_ROLES, values(&roles)))
        })
        .await
    }
}

/// Ends all sessions of a user but one.
fn end_sessions<T: Send + 'static>(
    plan: Plan<T>,
    user: UserId,
    keep: Option<SessionId>,
    change: Uuid,
    now: Timestamp,
) -> Plan<T> {
    // No session has this id, so that it keeps none.
    let keep: Value = keep.map_or(Uuid::nil(), SessionId::uuid).into();
    plan.then(sql::NOTE_ENDINGS, [user.into(), keep.clone(), change.into(), now.into()])
        .then(sql::END_SESSIONS, [user.into(), keep])
}

/// Notes from where a user signs in, if that is news.
fn note_network<T: Send + 'static>(
    plan: Plan<T>,
    known: &KnownNetworks,
    session: &Session,
) -> Plan<T> {
    let mut known = known.clone();
    if known.note(Network::at(session.origin.address), session.created_at) {
        plan.then(sql::SET_KNOWN_NETWORKS, [session.user_id.into(), known.to_text().into()])
    } else {
        plan
    }
}

/// PostgreSQL has no text with NUL in it, and no key is empty.
fn email_value(email: &EmailKey) -> Value {
    if email.as_str().contains('\0') { "" } else { email.as_str() }.into()
}

fn user_values(user: &User) -> Vec<Value> {
    vec![
        user.id.into(),
        user.name.as_str().into(),
        user.email.as_str().into(),
        user.email.key().as_str().into(),
        user.password_hash.as_ref().map(|hash| hash.as_phc().to_owned()).into(),
        user.password_version.number().into(),
        user.roles.to_text().into(),
        user.disabled.into(),
        user.created_at.into(),
        user.updated_at.into(),
        user.last_login_at.into(),
        user.email_verified.into(),
    ]
}

fn session_values(session: &Session) -> Vec<Value> {
    vec![
        session.id.into(),
        session.user_id.into(),
        session.token_id.into(),
        session.created_at.into(),
        session.last_seen_at.into(),
        session.expires_at.into(),
        session.origin.address.to_string().into(),
        session.origin.user_agent.as_str().into(),
    ]
}

/// Reads the columns of a session, which come first.
fn session(row: &Row) -> Result<Session, Error> {
    Ok(Session {
        id: SessionId::from_uuid(column(row, 0)?),
        user_id: UserId::from_uuid(column(row, 1)?),
        token_id: TokenId::from_uuid(column(row, 2)?),
        created_at: timestamp(row, 3)?,
        last_seen_at: timestamp(row, 4)?,
        expires_at: timestamp(row, 5)?,
        origin: Origin { address: parsed(row, 6)?, user_agent: column(row, 7)? },
    })
}

fn session_with_user(row: &Row) -> Result<(Session, User), Error> {
    Ok((session(row)?, user(row, sql::SESSION_COLUMNS)?))
}

/// Reads the columns of a user, which start at `first`.
fn user(row: &Row, first: usize) -> Result<User, Error> {
    Ok(User {
        id: UserId::from_uuid(column(row, first)?),
        name: Name::from_store(column(row, first + 1)?),
        email: Email::from_store(column(row, first + 2)?),
        password_hash: column::<Option<String>>(row, first + 3)?.map(PasswordHash::from_store),
        password_version: PasswordVersion::from_store(column(row, first + 4)?),
        roles: Roles::from_store(column(row, first + 5)?),
        disabled: column(row, first + 6)?,
        created_at: timestamp(row, first + 7)?,
        updated_at: timestamp(row, first + 8)?,
        last_login_at: column::<Option<i64>>(row, first + 9)?.map(Timestamp::from_millis),
        email_verified: column(row, first + 10)?,
    })
}

/// Reads the columns of an ending, which start at `first`.
fn ending(row: &Row, first: usize) -> Result<(TokenId, Timestamp), Error> {
    Ok((TokenId::from_uuid(column(row, first)?), timestamp(row, first + 1)?))
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, Error> {
    row.try_get(at).map_err(|error| Error::Failed(error.into()))
}

/// Reads a value that is stored as text.
fn parsed<T>(row: &Row, at: usize) -> Result<T, Error>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    column::<&str>(row, at)?.parse().map_err(|error: T::Err| Error::Failed(error.into()))
}

fn timestamp(row: &Row, at: usize) -> Result<Timestamp, Error> {
    column(row, at).map(Timestamp::from_millis)
}

/// The largest of some numbers of rows.
fn most(rows: &[u64]) -> usize {
    rows.iter().max().map_or(0, |rows| usize::try_from(*rows).unwrap_or(usize::MAX))
}

fn limit_of(limit: usize) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}
