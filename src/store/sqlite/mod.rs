//! The embedded database: the statements. How they are run is the engine's business.

mod archive;
mod connections;
mod email;
mod endings;
mod engine;
mod health;
mod login_failures;
mod migrations;
mod trouble;
mod writer;

use std::{path::Path, str::FromStr, sync::Arc};

use async_trait::async_trait;
use rusqlite::{
    Connection, Error::FromSqlConversionFailure, OptionalExtension, Row, params, types::Type,
};

use self::{
    endings::{end, end_each},
    engine::Engine,
    login_failures::note_network,
};
use super::{Changes, Endings, Error, MAX_SESSIONS, NotReady, OldPassword, ReusedToken, Store};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    data_folder::Reserve,
    session::{Origin, Session, SessionId, TokenId},
    user::{Email, EmailKey, Name, PasswordVersion, Role, Roles, User, UserId},
};

/// Users and sessions in one SQLite file, for one process.
pub struct SqliteStore {
    engine: Engine,
}

impl SqliteStore {
    /// Opens the database file, creating and migrating it as needed. With a reserve, the database can be opened and sessions can end
    /// on a full disk.
    ///
    /// # Errors
    /// If it cannot be opened, or was written by a newer version.
    pub fn open(file: &Path, reserve: Option<Arc<Reserve>>) -> Result<Self, Error> {
        Ok(Self { engine: Engine::start(file, reserve)? })
    }
}

const USER: &str = "u.id, u.name, u.email, u.password_hash, u.roles, u.disabled, u.created_at, \
                    u.updated_at, u.last_login_at, u.password_version, u.email_verified";
const SESSION: &str = "s.id, s.user_id, s.token_id, s.created_at, s.last_seen_at, s.expires_at, s.address, \
                       s.user_agent";
const SESSION_COLUMNS: usize = 8;

#[async_trait]
impl Store for SqliteStore {
    async fn add_user(&self, user: &User, session: Option<&Session>) -> Result<(), Error> {
        let (user, session) = (user.clone(), session.cloned());
        self.engine
            .write(None, move |db| {
                insert_user(db, &user)?;
                if let Some(session) = session {
                    insert_session(db, &user, &session)?;
                    note_network(db, &session)?;
                }
                Ok(())
            })
            .await
    }

    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        self.engine.read(move |db| select_user(db, id)).await
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

    async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let code = code.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {USER} FROM users u JOIN reset_codes c ON c.user_id = u.id
                     WHERE c.digest = ?1 AND c.expires_at > ?2 AND NOT u.disabled"
                ))?
                .query_row(params![code.as_bytes(), now.millis()], |row| user(row, 0))
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

    async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (name, email) = (name.cloned(), email.cloned());
        self.engine
            .write(Some(id), move |db| {
                email::change(db, id, name.as_ref(), email.as_ref(), now)?;
                select_user(db, id)
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
        self.engine
            .write(Some(id), move |db| email::set_verified(db, id, &email, verified, now))
            .await
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
        self.engine.end(id, move |db| change_roles(db, id, now, |roles| roles.revoke(&role))).await
    }

    async fn set_password(
        &self,
        id: UserId,
        old: OldPassword,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let new = new.clone();
        self.engine
            .end(id, move |db| {
                if !is_as_expected(db, id, &old, now)? {
                    return Ok(false);
                }
                let changed = db
                    .prepare_cached(
                        "UPDATE users SET password_hash = ?2, updated_at = ?3,
                             password_version = password_version + 1
                         WHERE id = ?1",
                    )?
                    .execute(params![id.to_string(), new.as_phc(), now.millis()])?;
                delete_reset_code(db, id)?;
                end_sessions(db, id, keep, now)?;
                Ok(changed > 0)
            })
            .await
    }

    async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
    ) -> Result<bool, Error> {
        let code = code.clone();
        self.engine
            .write(Some(user), move |db| {
                let added = db
                    .prepare_cached(
                        "INSERT INTO reset_codes (user_id, digest, expires_at)
                         SELECT id, ?2, ?3 FROM users WHERE id = ?1
                         ON CONFLICT (user_id)
                             DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
                    )?
                    .execute(params![user.to_string(), code.as_bytes(), expires_at.millis()])?;
                Ok(added > 0)
            })
            .await
    }

    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.engine
            .end(id, move |db| {
                end_sessions(db, id, None, now)?;
                set_disabled(db, id, true)
            })
            .await
    }

    async fn enable_user(&self, id: UserId) -> Result<bool, Error> {
        self.engine.write(Some(id), move |db| set_disabled(db, id, false)).await
    }

    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.engine
            .end(id, move |db| {
                end_sessions(db, id, None, now)?;
                delete_reset_code(db, id)?;
                let deleted = db
                    .prepare_cached("DELETE FROM users WHERE id = ?1")?
                    .execute([id.to_string()])?;
                Ok(deleted > 0)
            })
            .await
    }

    async fn add_session(&self, user: &User, session: &Session) -> Result<bool, Error> {
        let (user, session) = (user.clone(), session.clone());
        self.engine
            .write(Some(user.id), move |db| {
                let added = insert_session(db, &user, &session)?;
                if added {
                    end_oldest_sessions(db, &session)?;
                    note_network(db, &session)?;
                    db.prepare_cached("UPDATE users SET last_login_at = ?2 WHERE id = ?1")?
                        .execute(params![user.id.to_string(), session.created_at.millis()])?;
                }
                Ok(added)
            })
            .await
    }

    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {SESSION}, {USER} FROM sessions s JOIN users u ON u.id = s.user_id
                     WHERE s.id = ?1"
                ))?
                .query_row([id.to_string()], |row| Ok((session(row)?, user(row, SESSION_COLUMNS)?)))
                .optional()
            })
            .await
    }

    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {SESSION} FROM sessions s WHERE s.user_id = ?1 AND s.expires_at > ?2
                     ORDER BY s.created_at, s.id"
                ))?
                .query_map(params![user.to_string(), now.millis()], session)?
                .collect()
            })
            .await
    }

    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Session { id, token_id: old, user_id, .. } = *session;
        self.engine
            .write(Some(user_id), move |db| {
                let renewed = db
                    .prepare_cached(
                        "UPDATE sessions SET token_id = ?3 WHERE id = ?1 AND token_id = ?2",
                    )?
                    .execute([id.to_string(), old.to_string(), token_id.to_string()])?;
                if renewed > 0 {
                    end(db, old, now)?;
                }
                Ok(renewed > 0)
            })
            .await
    }

    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let reused = *reused;
        self.engine
            .end(reused.user_id, move |db| endings::end_reused(db, &reused, replaced_by, now))
            .await
    }

    async fn end_session(
        &self,
        user: UserId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.engine
            .end(user, move |db| {
                let ended = end_each(
                    db,
                    now,
                    "DELETE FROM sessions WHERE id = ?1 AND user_id = ?2 RETURNING token_id",
                    params![id.to_string(), user.to_string()],
                )?;
                Ok(ended > 0)
            })
            .await
    }

    async fn end_sessions(&self, user: UserId, now: Timestamp) -> Result<usize, Error> {
        self.engine.end(user, move |db| end_sessions(db, user, None, now)).await
    }

    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        let seen = seen.to_vec();
        self.engine
            .write(None, move |db| {
                let mut statement =
                    db.prepare_cached("UPDATE sessions SET last_seen_at = ?2 WHERE id = ?1")?;
                for (id, at) in seen {
                    statement.execute(params![id.to_string(), at.millis()])?;
                }
                Ok(())
            })
            .await
    }

    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                let codes = db
                    .prepare_cached(
                        "DELETE FROM reset_codes WHERE user_id IN
                             (SELECT user_id FROM reset_codes WHERE expires_at <= ?1 LIMIT ?2)",
                    )?
                    .execute(params![now.millis(), limit_of(limit)])?;
                let sessions = db
                    .prepare_cached(
                        "DELETE FROM sessions WHERE id IN
                             (SELECT id FROM sessions WHERE expires_at <= ?1 LIMIT ?2)",
                    )?
                    .execute(params![now.millis(), limit_of(limit)])?;
                Ok(codes.max(sessions))
            })
            .await
    }

    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error> {
        let gone = self.engine.write(None, move |db| endings::forget(db, before, limit)).await?;
        self.endings().forget(before);
        Ok(gone)
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map_err(NotReady::cannot_read)?;
        self.engine.check()
    }

    fn endings(&self) -> &Endings {
        self.engine.endings()
    }
}

/// Does nothing if there is a user with this id, which only a move that goes on where it was cut short will see.
fn insert_user(db: &Connection, user: &User) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO users
             (id, name, email, email_key, password_hash, roles, disabled, created_at, updated_at,
              last_login_at, password_version, email_verified)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING",
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
        user.password_version.number(),
        user.email_verified,
    ])
    .map(|_| ())
}

/// False if the user is gone, disabled or has another password: a login may race with that.
fn insert_session(db: &Connection, user: &User, session: &Session) -> rusqlite::Result<bool> {
    let inserted = db
        .prepare_cached(
            "INSERT INTO sessions
                 (id, user_id, token_id, created_at, last_seen_at, expires_at, address, user_agent)
             SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8 FROM users
             WHERE id = ?2 AND NOT disabled AND password_version = ?9",
        )?
        .execute(params![
            session.id.to_string(),
            user.id.to_string(),
            session.token_id.to_string(),
            session.created_at.millis(),
            session.last_seen_at.millis(),
            session.expires_at.millis(),
            session.origin.address.to_string(),
            session.origin.user_agent,
            user.password_version.number(),
        ])?;
    Ok(inserted > 0)
}

/// Whoever logs in again and again does not fill the database.
fn end_oldest_sessions(db: &Connection, newest: &Session) -> rusqlite::Result<usize> {
    // Nearly always, and in a tenth of the time that it takes to find none that is too many.
    if number_of_sessions(db, newest.user_id)? <= limit_of(MAX_SESSIONS) {
        return Ok(0);
    }
    end_each(
        db,
        newest.created_at,
        "DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2 AND id NOT IN
             (SELECT id FROM sessions WHERE user_id = ?1 AND id <> ?2
              ORDER BY created_at DESC, id DESC LIMIT ?3)
         RETURNING token_id",
        params![newest.user_id.to_string(), newest.id.to_string(), limit_of(MAX_SESSIONS - 1)],
    )
}

fn number_of_sessions(db: &Connection, user: UserId) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT count(*) FROM sessions WHERE user_id = ?1")?
        .query_row([user.to_string()], |row| row.get(0))
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

fn end_sessions(
    db: &Connection,
    user: UserId,
    keep: Option<SessionId>,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    // No id is empty, so that an empty one keeps nothing.
    let keep = keep.map_or(String::new(), |id| id.to_string());
    end_each(
        db,
        now,
        "DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2 RETURNING token_id",
        params![user.to_string(), keep],
    )
}

fn delete_reset_code(db: &Connection, user: UserId) -> rusqlite::Result<usize> {
    db.prepare_cached("DELETE FROM reset_codes WHERE user_id = ?1")?.execute([user.to_string()])
}

fn set_disabled(db: &Connection, user: UserId, disabled: bool) -> rusqlite::Result<bool> {
    let set = db
        .prepare_cached("UPDATE users SET disabled = ?2 WHERE id = ?1")?
        .execute(params![user.to_string(), disabled])?;
    Ok(set > 0)
}

fn is_as_expected(
    db: &Connection,
    user: UserId,
    old: &OldPassword,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    match old {
        OldPassword::Known(version) => db
            .prepare_cached("SELECT 1 FROM users WHERE id = ?1 AND password_version = ?2")?
            .exists(params![user.to_string(), version.number()]),
        OldPassword::Forgotten(code) => db
            .prepare_cached(
                "SELECT 1 FROM reset_codes WHERE user_id = ?1 AND digest = ?2 AND expires_at > ?3",
            )?
            .exists(params![user.to_string(), code.as_bytes(), now.millis()]),
        OldPassword::Overruled => Ok(true),
    }
}

fn select_user(db: &Connection, id: UserId) -> rusqlite::Result<Option<User>> {
    db.prepare_cached(&format!("SELECT {USER} FROM users u WHERE u.id = ?1"))?
        .query_row([id.to_string()], |row| user(row, 0))
        .optional()
}

/// Reads the columns of [`SESSION`], which come first.
fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: parsed(row, 0)?,
        user_id: parsed(row, 1)?,
        token_id: parsed(row, 2)?,
        created_at: timestamp(row, 3)?,
        last_seen_at: timestamp(row, 4)?,
        expires_at: timestamp(row, 5)?,
        origin: Origin { address: parsed(row, 6)?, user_agent: row.get(7)? },
    })
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
        password_version: PasswordVersion::from_store(row.get(first + 9)?),
        email_verified: row.get(first + 10)?,
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
