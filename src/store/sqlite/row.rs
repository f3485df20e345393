//! Reads columns and records from a row.

use std::str::FromStr;

use rusqlite::{Error::FromSqlConversionFailure, Row, types::Type};

use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    language::Language,
    mail::Mail,
    session::{Origin, Session},
    store::{
        QueuedMail, columns::ONE_TIME_COLUMN_COUNT, one_times::guesses_from_store,
        outbox::attempts_from_store, sessions::idle_timeout_from_ms,
    },
    token::one_time::{OneTime, Purpose, SecretDigest},
    user::{Email, Invitation, Name, PasswordVersion, Roles, User},
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

fn optional_timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
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
        last_login_at: optional_timestamp(row, first + 10)?,
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

/// Reads the columns of a one-time secret, which come first.
pub(super) fn one_time_from_row(row: &Row<'_>) -> rusqlite::Result<OneTime> {
    let purpose = Purpose::from_store(row.get_ref(1)?.as_str()?);
    Ok(OneTime {
        id: row.get(0)?,
        purpose: purpose.ok_or_else(|| {
            FromSqlConversionFailure(
                1,
                Type::Text,
                "an unknown purpose of a one-time secret".into(),
            )
        })?,
        user_id: row.get(2)?,
        email: Email::from_store(row.get(3)?),
        user_email: Email::from_store(row.get(4)?),
        password_version: PasswordVersion::from_store(row.get(5)?),
        digest: SecretDigest::from_store(row.get(6)?),
        expires_at: timestamp(row, 7)?,
        guesses: guesses_from_store(row.get(8)?),
    })
}

/// Reads the columns of a one-time secret and then those of its user.
pub(super) fn one_time_with_user_from_row(row: &Row<'_>) -> rusqlite::Result<(OneTime, User)> {
    Ok((one_time_from_row(row)?, user_from_row(row, ONE_TIME_COLUMN_COUNT)?))
}

pub(super) fn mail_from_row(row: &Row<'_>) -> rusqlite::Result<QueuedMail> {
    let message = row.get_ref(4)?.as_str()?;
    let mail = Mail {
        id: row.get(0)?,
        user_id: row.get(1)?,
        recipient: Email::from_store(row.get(2)?),
        language: Language::negotiate(Some(row.get_ref(3)?.as_str()?)),
        message: serde_json::from_str(message)
            .map_err(|error| FromSqlConversionFailure(4, Type::Text, Box::new(error)))?,
        created_at: timestamp(row, 5)?,
        expires_at: timestamp(row, 6)?,
    };
    Ok(QueuedMail {
        mail,
        due_at: timestamp(row, 7)?,
        attempts: attempts_from_store(row.get(8)?),
        failure: row.get(9)?,
        given_up_at: optional_timestamp(row, 10)?,
    })
}

/// Reads an invitation and the digest of its secret.
pub(super) fn invitation_from_row(row: &Row<'_>) -> rusqlite::Result<(Invitation, SecretDigest)> {
    let invitation = Invitation {
        id: row.get(0)?,
        email: Email::from_store(row.get(1)?),
        roles: Roles::from_store(row.get_ref(2)?.as_str()?),
        invited_by: row.get(3)?,
        is_mailed: row.get(4)?,
        created_at: timestamp(row, 5)?,
        expires_at: timestamp(row, 6)?,
        guesses: guesses_from_store(row.get(8)?),
    };
    Ok((invitation, SecretDigest::from_store(row.get(7)?)))
}
