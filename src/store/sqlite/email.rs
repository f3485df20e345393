//! The name and the e-mail address of a user, and whether the address is verified.

use rusqlite::{Connection, params};

use crate::{
    clock::Timestamp,
    user::{Email, EmailKey, Name, UserId},
};

/// Changes what is given. Another address is not verified.
pub(super) fn change(
    db: &Connection,
    id: UserId,
    name: Option<&Name>,
    email: Option<&Email>,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    // All expressions see the row as it was before.
    db.prepare_cached(
        "UPDATE users SET name = COALESCE(?2, name), email = COALESCE(?3, email),
             email_key = COALESCE(?4, email_key), updated_at = ?5,
             email_verified = email_verified AND email = COALESCE(?3, email)
         WHERE id = ?1",
    )?
    .execute(params![
        id.to_string(),
        name.map(Name::as_str),
        email.map(Email::as_str),
        email.map(Email::key).as_ref().map(EmailKey::as_str),
        now.millis(),
    ])
}

/// False unless the user has this address and the opposite was noted.
pub(super) fn set_verified(
    db: &Connection,
    id: UserId,
    email: &Email,
    verified: bool,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let changed = db
        .prepare_cached(
            "UPDATE users SET email_verified = ?3, updated_at = ?4
             WHERE id = ?1 AND email = ?2 AND email_verified <> ?3",
        )?
        .execute(params![id.to_string(), email.as_str(), verified, now.millis()])?;
    Ok(changed > 0)
}
