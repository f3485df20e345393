//! Password hashes in the table `users`, and the table `reset_codes`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    SqliteStore, imported_hashes::delete_imported_hash, mailing::insert_mailing,
    row::user_from_row, sessions::end_sessions, sql_limit,
};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    mail::Mailing,
    session::SessionId,
    store::{CredentialStore, Error, PasswordCondition, columns::user_columns},
    token::cookie::CodeId,
    user::{User, UserId},
};

#[async_trait]
impl CredentialStore for SqliteStore {
    async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error> {
        let (old, new) = (old.clone(), new.clone());
        self.engine
            .write(Some(id), move |db| {
                let replaced = db
                    .prepare_cached(
                        "UPDATE users SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2",
                    )?
                    .execute(params![id, old.as_phc(), new.as_phc()])?;
                if replaced > 0 {
                    delete_imported_hash(db, id)?;
                }
                Ok(())
            })
            .await
    }

    async fn set_password(
        &self,
        id: UserId,
        condition: PasswordCondition,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let (new, mailing) = (new.clone(), mailing.clone());
        self.engine
            .write_revocation(id, move |db| {
                if !holds(db, id, &condition, now)? {
                    return Ok(false);
                }
                let changed = write_password(db, id, &new, now)?;
                delete_reset_code(db, id)?;
                end_sessions(db, id, keep, now)?;
                if changed {
                    insert_mailing(db, &mailing)?;
                }
                Ok(changed)
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
                    .execute(params![user, code.as_bytes(), expires_at.millis()])?;
                Ok(added > 0)
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
                db.prepare_cached(concat!(
                    "SELECT ",
                    user_columns!("u."),
                    " FROM users u JOIN reset_codes c ON c.user_id = u.id
                     WHERE c.digest = ?1 AND c.expires_at > ?2 AND NOT u.disabled"
                ))?
                .query_row(params![code.as_bytes(), now.millis()], |row| user_from_row(row, 0))
                .optional()
            })
            .await
    }

    async fn use_code(&self, id: CodeId, expires_at: Timestamp) -> Result<bool, Error> {
        self.engine
            .write(None, move |db| {
                let added = db
                    .prepare_cached(
                        "INSERT INTO used_codes (id, expires_at) VALUES (?1, ?2)
                         ON CONFLICT (id) DO NOTHING",
                    )?
                    .execute(params![id, expires_at.millis()])?;
                Ok(added > 0)
            })
            .await
    }
}

/// Whether the condition for a new password holds.
fn holds(
    db: &Connection,
    user: UserId,
    condition: &PasswordCondition,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    match condition {
        PasswordCondition::Unchanged(version) => db
            .prepare_cached("SELECT 1 FROM users WHERE id = ?1 AND password_version = ?2")?
            .exists(params![user, version.number()]),
        PasswordCondition::ResetCode(code) => db
            .prepare_cached(
                "SELECT 1 FROM reset_codes WHERE user_id = ?1 AND digest = ?2 AND expires_at > ?3",
            )?
            .exists(params![user, code.as_bytes(), now.millis()]),
        PasswordCondition::Unconditional => Ok(true),
    }
}

/// Sets a new password. Returns false if there is no such user.
pub(super) fn write_password(
    db: &Connection,
    user: UserId,
    new: &PasswordHash,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let changed = db
        .prepare_cached(
            "UPDATE users SET password_hash = ?2, updated_at = ?3,
                 password_version = password_version + 1
             WHERE id = ?1",
        )?
        .execute(params![user, new.as_phc(), now.millis()])?;
    delete_imported_hash(db, user)?;
    Ok(changed > 0)
}

pub(super) fn delete_reset_code(db: &Connection, user: UserId) -> rusqlite::Result<usize> {
    db.prepare_cached("DELETE FROM reset_codes WHERE user_id = ?1")?.execute([user])
}

/// Inserts a reset code unless the user has one, because a move may be resumed.
pub(super) fn import_reset_code(
    db: &Connection,
    user: UserId,
    code: &ResetDigest,
    expires_at: Timestamp,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO reset_codes (user_id, digest, expires_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id) DO NOTHING",
    )?
    .execute(params![user, code.as_bytes(), expires_at.millis()])
    .map(drop)
}

pub(super) fn delete_expired(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM reset_codes WHERE user_id IN
             (SELECT user_id FROM reset_codes WHERE expires_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![now.millis(), sql_limit(limit)])
}

pub(super) fn delete_expired_used_codes(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM used_codes WHERE id IN
             (SELECT id FROM used_codes WHERE expires_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![now.millis(), sql_limit(limit)])
}
