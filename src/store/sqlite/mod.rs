//! The embedded database: the statements. How they are run is the engine's business.

mod engine;
mod migrations;

use std::{path::Path, str::FromStr};

use async_trait::async_trait;
use rusqlite::{
    Connection, Error::FromSqlConversionFailure, OptionalExtension, Row, params, types::Type,
};

use self::engine::Engine;
use super::{Changes, Error, Store};
use crate::{
    clock::Timestamp,
    password::PasswordHash,
    session::{Origin, Session, SessionId},
    user::{Email, EmailKey, Name, Role, Roles, User, UserId},
};

/// Users and sessions in one SQLite file, for one process.
pub struct SqliteStore {
    engine: Engine,
}

impl SqliteStore {
    /// Opens the database file, creating and migrating it as needed.
    ///
    /// # Errors
    /// If it cannot be opened, or was written by a newer version.
    pub fn open(file: &Path) -> Result<Self, Error> {
        Ok(Self { engine: Engine::start(file)? })
    }
}

const USER: &str = "u.id, u.name, u.email, u.password_hash, u.roles, u.disabled, u.created_at, \
                    u.updated_at, u.last_login_at";

#[async_trait]
impl Store for SqliteStore {
    async fn add_user(&self, user: &User, session: &Session) -> Result<(), Error> {
        let (user, session) = (user.clone(), session.clone());
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "INSERT INTO users
                         (id, name, email, email_key, password_hash, roles, disabled, created_at,
                          updated_at, last_login_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    user.id.to_string(),
                    user.name.as_str(),
                    user.email.as_str(),
                    user.email.key().as_str(),
                    user.password_hash.as_ref().map(PasswordHash::as_phc),
                    user.roles.to_text(),
                    user.disabled,
                    user.created_at.millis(),
                    user.updated_at.millis(),
                    user.last_login_at.map(Timestamp::millis),
                ])?;
                insert_session(db, &session).map(|_| ())
            })
            .await
    }

    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!("SELECT {USER} FROM users u WHERE u.id = ?1"))?
                    .query_row([id.to_string()], |row| user(row, 0))
                    .optional()
            })
            .await
    }

    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error> {
        let email = email.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!("SELECT {USER} FROM users u WHERE u.email_key = ?1"))?
                    .query_row([email.as_str()], |row| user(row, 0))
                    .optional()
            })
            .await
    }

    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        // No key is empty, so that every key stands behind the empty one.
        let after = after.map_or(String::new(), |key| key.as_str().to_owned());
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {USER} FROM users u WHERE u.email_key > ?1 ORDER BY u.email_key LIMIT ?2"
                ))?
                .query_map(params![after, limit_of(limit)], |row| user(row, 0))?
                .collect()
            })
            .await
    }

    async fn has_users(&self) -> Result<bool, Error> {
        self.engine.read(|db| db.prepare_cached("SELECT 1 FROM users LIMIT 1")?.exists([])).await
    }

    async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error> {
        let (old, new) = (old.clone(), new.clone());
        self.engine
            .write(Some(id), move |db| {
                db.prepare_cached(
                    "UPDATE users SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2",
                )?
                .execute(params![id.to_string(), old.as_phc(), new.as_phc()])
                .map(|_| ())
            })
            .await
    }

    async fn grant_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.engine
            .write(Some(id), move |db| change_roles(db, id, now, |roles| roles.grant(role)))
            .await
    }

    async fn revoke_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.engine
            .write(Some(id), move |db| change_roles(db, id, now, |roles| roles.revoke(&role)))
            .await
    }

    async fn delete_user(&self, id: UserId) -> Result<bool, Error> {
        self.engine
            .write(Some(id), move |db| {
                delete_sessions(db, id)?;
                let deleted = db
                    .prepare_cached("DELETE FROM users WHERE id = ?1")?
                    .execute([id.to_string()])?;
                Ok(deleted > 0)
            })
            .await
    }

    async fn add_session(&self, session: &Session) -> Result<bool, Error> {
        let session = session.clone();
        self.engine
            .write(Some(session.user_id), move |db| {
                db.prepare_cached("UPDATE users SET last_login_at = ?2 WHERE id = ?1")?
                    .execute(params![session.user_id.to_string(), session.created_at.millis()])?;
                insert_session(db, &session)
            })
            .await
    }

    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT s.user_id, s.created_at, s.expires_at, s.address, s.user_agent, {USER}
                     FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ?1"
                ))?
                .query_row([id.to_string()], |row| {
                    let session = Session {
                        id,
                        user_id: parsed(row, 0)?,
                        created_at: timestamp(row, 1)?,
                        expires_at: timestamp(row, 2)?,
                        origin: Origin { address: parsed(row, 3)?, user_agent: row.get(4)? },
                    };
                    Ok((session, user(row, 5)?))
                })
                .optional()
            })
            .await
    }

    async fn end_sessions(&self, user: UserId) -> Result<usize, Error> {
        self.engine.write(Some(user), move |db| delete_sessions(db, user)).await
    }

    async fn sweep_sessions(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "DELETE FROM sessions WHERE id IN
                         (SELECT id FROM sessions WHERE expires_at <= ?1 LIMIT ?2)",
                )?
                .execute(params![now.millis(), limit_of(limit)])
            })
            .await
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }
}

/// False if the user is gone or disabled: a login may race with that.
fn insert_session(db: &Connection, session: &Session) -> rusqlite::Result<bool> {
    let inserted = db
        .prepare_cached(
            "INSERT INTO sessions (id, user_id, created_at, expires_at, address, user_agent)
             SELECT ?1, id, ?3, ?4, ?5, ?6 FROM users WHERE id = ?2 AND NOT disabled",
        )?
        .execute(params![
            session.id.to_string(),
            session.user_id.to_string(),
            session.created_at.millis(),
            session.expires_at.millis(),
            session.origin.address.to_string(),
            session.origin.user_agent,
        ])?;
    Ok(inserted > 0)
}

/// Reads the roles of a user, changes them and writes them back, all in the transaction of the caller.
fn change_roles(
    db: &Connection,
    id: UserId,
    now: Timestamp,
    change: impl FnOnce(&mut Roles) -> bool,
) -> rusqlite::Result<bool> {
    let stored: Option<String> = db
        .prepare_cached("SELECT roles FROM users WHERE id = ?1")?
        .query_row([id.to_string()], |row| row.get(0))
        .optional()?;
    let Some(stored) = stored else { return Ok(false) };
    let mut roles = Roles::from_store(&stored);
    let changed = change(&mut roles);
    if changed {
        db.prepare_cached("UPDATE users SET roles = ?2, updated_at = ?3 WHERE id = ?1")?
            .execute(params![id.to_string(), roles.to_text(), now.millis()])?;
    }
    Ok(changed)
}

fn delete_sessions(db: &Connection, user: UserId) -> rusqlite::Result<usize> {
    db.prepare_cached("DELETE FROM sessions WHERE user_id = ?1")?.execute([user.to_string()])
}

/// Reads the columns of [`USER`], which start at `first`.
fn user(row: &Row<'_>, first: usize) -> rusqlite::Result<User> {
    Ok(User {
        id: parsed(row, first)?,
        name: Name::from_store(row.get(first + 1)?),
        email: Email::from_store(row.get(first + 2)?),
        password_hash: row.get::<_, Option<String>>(first + 3)?.map(PasswordHash::from_store),
        roles: Roles::from_store(row.get_ref(first + 4)?.as_str()?),
        disabled: row.get(first + 5)?,
        created_at: timestamp(row, first + 6)?,
        updated_at: timestamp(row, first + 7)?,
        last_login_at: row.get::<_, Option<i64>>(first + 8)?.map(Timestamp::from_millis),
    })
}

/// Reads a value that is stored as text.
fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error| FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
