//! The table `users`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    SqliteStore,
    credentials::delete_reset_code,
    imported_hashes::delete_imported_hash,
    invitations::{delete_invitations, use_invitation},
    known_networks::add_known_network,
    mailing::{delete_mailings, insert_mailing},
    row::user_from_row,
    sessions, sql_limit,
};
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Mailing,
    session::Session,
    store::{Error, UserStore, columns::user_columns},
    user::{Email, EmailKey, InvitationId, Name, Role, Roles, User, UserId},
};

#[async_trait]
impl UserStore for SqliteStore {
    async fn add_user(
        &self,
        user: &User,
        session: Option<&Session>,
        invitation: Option<InvitationId>,
        mailing: &Mailing,
    ) -> Result<(), Error> {
        let (user, session, mailing) = (user.clone(), session.cloned(), mailing.clone());
        self.engine
            .write(None, move |db| {
                if let Some(id) = invitation
                    && !use_invitation(db, id, &user)?
                {
                    // As on PostgreSQL, a taken address is reported first.
                    let is_taken = is_registered(db, &user.email.key())?;
                    return Ok(Err(if is_taken {
                        Error::EmailTaken
                    } else {
                        Error::InvitationGone
                    }));
                }
                insert_user(db, &user)?;
                if let Some(session) = session {
                    sessions::insert_session(db, &user, &session)?;
                    add_known_network(db, &session)?;
                }
                insert_mailing(db, &mailing)?;
                Ok(Ok(()))
            })
            .await?
    }

    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        self.engine.read(move |db| select_user(db, id)).await
    }

    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error> {
        let email = email.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    user_columns!("u."),
                    " FROM users u WHERE u.email_key = ?1"
                ))?
                .query_row([email.as_str()], |row| user_from_row(row, 0))
                .optional()
            })
            .await
    }

    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        // Every key sorts after the empty one.
        let after = after.map_or(String::new(), |key| key.as_str().to_owned());
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    user_columns!("u."),
                    " FROM users u WHERE u.email_key > ?1 ORDER BY u.email_key LIMIT ?2"
                ))?
                .query_map(params![after, sql_limit(limit)], |row| user_from_row(row, 0))?
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
                // Every expression sees the row as it was before the update.
                db.prepare_cached(
                    "UPDATE users SET name = COALESCE(?2, name), email = COALESCE(?3, email),
                         email_key = COALESCE(?4, email_key), updated_at = ?5,
                         email_verified = email_verified AND email = COALESCE(?3, email)
                     WHERE id = ?1",
                )?
                .execute(params![
                    id,
                    name.as_ref().map(Name::as_str),
                    email.as_ref().map(Email::as_str),
                    email.as_ref().map(Email::key).as_ref().map(EmailKey::as_str),
                    now.millis(),
                ])?;
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
            .write(Some(id), move |db| {
                let changed = db
                    .prepare_cached(
                        "UPDATE users SET email_verified = ?3, updated_at = ?4
                         WHERE id = ?1 AND email = ?2 AND email_verified <> ?3",
                    )?
                    .execute(params![id, email.as_str(), verified, now.millis()])?;
                Ok(changed > 0)
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
            .write_revocation(id, move |db| change_roles(db, id, now, |roles| roles.revoke(&role)))
            .await
    }

    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.engine
            .write_revocation(id, move |db| {
                sessions::end_sessions(db, id, None, now)?;
                set_disabled(db, id, true)
            })
            .await
    }

    async fn enable_user(&self, id: UserId) -> Result<bool, Error> {
        self.engine.write(Some(id), move |db| set_disabled(db, id, false)).await
    }

    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.engine
            .write_revocation(id, move |db| {
                let Some(user) = select_user(db, id)? else { return Ok(false) };
                sessions::end_sessions(db, id, None, now)?;
                delete_reset_code(db, id)?;
                delete_imported_hash(db, id)?;
                delete_mailings(db, id)?;
                delete_invitations(db, &user)?;
                db.prepare_cached("DELETE FROM users WHERE id = ?1")?.execute([id])?;
                Ok(true)
            })
            .await
    }
}

macro_rules! insert_user {
    () => {
        concat!(
            "INSERT INTO users (",
            user_columns!(""),
            ", email_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        )
    };
}

fn insert_user(db: &Connection, user: &User) -> rusqlite::Result<()> {
    execute_insert(db, insert_user!(), user).map(drop)
}

/// Inserts a user unless one with this id exists, because a move may be resumed.
pub(super) fn import_user(db: &Connection, user: &User) -> rusqlite::Result<()> {
    execute_insert(db, concat!(insert_user!(), " ON CONFLICT (id) DO NOTHING"), user).map(drop)
}

/// Inserts a user unless the id or the address is taken.
pub(super) fn insert_user_if_free(db: &Connection, user: &User) -> rusqlite::Result<bool> {
    Ok(execute_insert(db, concat!(insert_user!(), " ON CONFLICT DO NOTHING"), user)? > 0)
}

fn execute_insert(db: &Connection, sql: &str, user: &User) -> rusqlite::Result<usize> {
    let User {
        id,
        name,
        email,
        email_verified,
        password_hash,
        password_version,
        roles,
        disabled,
        created_at,
        updated_at,
        last_login_at,
    } = user;
    db.prepare_cached(sql)?.execute(params![
        id,
        name.as_str(),
        email.as_str(),
        email_verified,
        password_hash.as_ref().map(PasswordHash::as_phc),
        password_version.number(),
        roles.to_text(),
        disabled,
        created_at.millis(),
        updated_at.millis(),
        last_login_at.map(Timestamp::millis),
        email.key().as_str(),
    ])
}

pub(super) fn select_user(db: &Connection, id: UserId) -> rusqlite::Result<Option<User>> {
    db.prepare_cached(concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.id = ?1"))?
        .query_row([id], |row| user_from_row(row, 0))
        .optional()
}

fn is_registered(db: &Connection, email: &EmailKey) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM users WHERE email_key = ?1")?.exists([email.as_str()])
}

/// Reads, changes and writes the roles of a user in the caller's transaction.
fn change_roles(
    db: &Connection,
    id: UserId,
    now: Timestamp,
    change: impl FnOnce(&mut Roles) -> bool,
) -> rusqlite::Result<bool> {
    let stored: Option<String> = db
        .prepare_cached("SELECT roles FROM users WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let Some(stored) = stored else { return Ok(false) };
    let mut roles = Roles::from_store(&stored);
    let changed = change(&mut roles);
    if changed {
        db.prepare_cached("UPDATE users SET roles = ?2, updated_at = ?3 WHERE id = ?1")?
            .execute(params![id, roles.to_text(), now.millis()])?;
    }
    Ok(changed)
}

fn set_disabled(db: &Connection, user: UserId, disabled: bool) -> rusqlite::Result<bool> {
    let set = db
        .prepare_cached("UPDATE users SET disabled = ?2 WHERE id = ?1")?
        .execute(params![user, disabled])?;
    Ok(set > 0)
}
