//! The tables `imported_hashes` and `foreign_hashes`.

use rusqlite::{Connection, params};

use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    user::{User, UserId},
};

/// Records a user's password hash as imported, if it is of another system.
pub(super) fn add_imported_hash(
    db: &Connection,
    user: &User,
    imported_at: Timestamp,
) -> rusqlite::Result<()> {
    let Some(prefix) = user.password_hash.as_ref().and_then(PasswordHash::foreign_prefix) else {
        return Ok(());
    };
    db.prepare_cached(
        "INSERT INTO foreign_hashes (prefix) VALUES (?1) ON CONFLICT (prefix) DO NOTHING",
    )?
    .execute([prefix])?;
    db.prepare_cached(
        "INSERT INTO imported_hashes (user_id, prefix, imported_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id) DO NOTHING",
    )?
    .execute(params![user.id, prefix, imported_at.millis()])
    .map(drop)
}

/// Forgets that the user's password hash was imported. Returns false if it was not, or has been replaced.
pub(super) fn delete_imported_hash(db: &Connection, user: UserId) -> rusqlite::Result<bool> {
    let deleted =
        db.prepare_cached("DELETE FROM imported_hashes WHERE user_id = ?1")?.execute([user])?;
    Ok(deleted > 0)
}
