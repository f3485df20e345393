//! Reads columns and records from a row.

use std::str::FromStr;

use rusqlite::{Error::FromSqlConversionFailure, Row, types::Type};

use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    session::{Origin, Session},
    store::sessions::idle_timeout_from_ms,
    user::{Email, Name, PasswordVersion, Roles, User},
};

/// Reads a value that is stored as text.
pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error| FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

pub(super) fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

/// Reads the columns of a user, which start at `first`.
pub(super) fn user_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get(first)?,
        name: Name::from_store(row.get(first + 1)?),
        email: Email::from_store(row.get(first + 2)?),
        email_verified: row.get(first + 3)?,
        password_hash: row.get::<_, Option<String>>(first + 4)?.map(PasswordHash::from_store),
        password_version: PasswordVersion::from_store(row.get(first + 5)?),
        roles: Roles::from_store(row.get_ref(first + 6)?.as_str()?),
        disabled: row.get(first + 7)?,
        created_at: timestamp(row, first + 8)?,
        updated_at: timestamp(row, first + 9)?,
        last_login_at: row.get::<_, Option<i64>>(first + 10)?.map(Timestamp::from_millis),
    })
}

/// Reads the columns of a session, which come first.
pub(super) fn session_from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        user_id: row.get(1)?,
        token_id: row.get(2)?,
        created_at: timestamp(row, 3)?,
        last_seen_at: timestamp(row, 4)?,
        expires_at: timestamp(row, 5)?,
        idle_timeout: idle_timeout_from_ms(row.get(6)?),
        origin: Origin { address: parsed(row, 7)?, user_agent: row.get(8)? },
    })
}
