//! Reads columns and records from a row.

use std::str::FromStr;

use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    language::Language,
    mail::{Mail, MailId},
    session::{Origin, Session, SessionId, TokenId},
    store::{
        Error, QueuedMail,
        archive::UserRecord,
        columns::{ONE_TIME_COLUMN_COUNT, SESSION_COLUMN_COUNT, USER_COLUMN_COUNT},
        one_times::guesses_from_store,
        outbox::attempts_from_store,
        sessions::idle_timeout_from_ms,
    },
    throttle::KnownNetworks,
    token::one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    user::{Email, Invitation, InvitationId, Name, PasswordVersion, Roles, User, UserId},
};

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Error> {
    row.try_get(index).map_err(|error| Error::Failed(error.into()))
}

/// Reads a value that is stored as text.
pub(super) fn parsed<T>(row: &Row, index: usize) -> Result<T, Error>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    column::<&str>(row, index)?.parse().map_err(|error: T::Err| Error::Failed(error.into()))
}

pub(super) fn timestamp(row: &Row, index: usize) -> Result<Timestamp, Error> {
    column(row, index).map(Timestamp::from_millis)
}

pub(super) fn optional_timestamp(row: &Row, index: usize) -> Result<Option<Timestamp>, Error> {
    Ok(column::<Option<i64>>(row, index)?.map(Timestamp::from_millis))
}

/// Reads the column `guesses`, which is null in rows that are older than it.
fn guesses(row: &Row, index: usize) -> Result<u32, Error> {
    Ok(guesses_from_store(column::<Option<i64>>(row, index)?.unwrap_or_default()))
}

/// Reads the columns of a user, which start at `first`.
pub(super) fn user_from_row(row: &Row, first: usize) -> Result<User, Error> {
    Ok(User {
        id: UserId::from_uuid(column(row, first)?),
        name: Name::from_store(column(row, first + 1)?),
        email: Email::from_store(column(row, first + 2)?),
        email_verified: column(row, first + 3)?,
        password_hash: column::<Option<String>>(row, first + 4)?.map(PasswordHash::from_store),
        password_version: PasswordVersion::from_store(column(row, first + 5)?),
        roles: Roles::from_store(column(row, first + 6)?),
        disabled: column(row, first + 7)?,
        created_at: timestamp(row, first + 8)?,
        updated_at: timestamp(row, first + 9)?,
        last_login_at: optional_timestamp(row, first + 10)?,
    })
}

/// Reads the columns of a user, their reset code and their known networks.
pub(super) fn user_record_from_row(row: &Row) -> Result<UserRecord, Error> {
    let digest: Option<Vec<u8>> = column(row, USER_COLUMN_COUNT)?;
    let expires_at = optional_timestamp(row, USER_COLUMN_COUNT + 1)?;
    let reset_code = digest.map(ResetDigest::from_store).zip(expires_at);
    let known_networks = KnownNetworks::from_store(column(row, USER_COLUMN_COUNT + 2)?);
    let hash_imported_at = optional_timestamp(row, USER_COLUMN_COUNT + 3)?;
    Ok(UserRecord { user: user_from_row(row, 0)?, reset_code, known_networks, hash_imported_at })
}

/// Reads the columns of a session, which come first.
pub(super) fn session_from_row(row: &Row) -> Result<Session, Error> {
    Ok(Session {
        id: SessionId::from_uuid(column(row, 0)?),
        user_id: UserId::from_uuid(column(row, 1)?),
        token_id: TokenId::from_uuid(column(row, 2)?),
        created_at: timestamp(row, 3)?,
        last_seen_at: timestamp(row, 4)?,
        expires_at: timestamp(row, 5)?,
        idle_timeout: idle_timeout_from_ms(column(row, 6)?),
        origin: Origin { address: parsed(row, 7)?, user_agent: column(row, 8)? },
    })
}

pub(super) fn session_with_user_from_row(row: &Row) -> Result<(Session, User), Error> {
    Ok((session_from_row(row)?, user_from_row(row, SESSION_COLUMN_COUNT)?))
}

/// Reads the columns of an ended token, which start at `first`.
pub(super) fn ending_from_row(row: &Row, first: usize) -> Result<(TokenId, Timestamp), Error> {
    Ok((TokenId::from_uuid(column(row, first)?), timestamp(row, first + 1)?))
}

/// Reads the columns of a one-time secret, which come first.
pub(super) fn one_time_from_row(row: &Row) -> Result<OneTime, Error> {
    let purpose = Purpose::from_store(column(row, 1)?);
    Ok(OneTime {
        id: OneTimeId::from_uuid(column(row, 0)?),
        purpose: purpose
            .ok_or_else(|| Error::Failed("an unknown purpose of a one-time secret".into()))?,
        user_id: UserId::from_uuid(column(row, 2)?),
        email: Email::from_store(column(row, 3)?),
        user_email: Email::from_store(column(row, 4)?),
        password_version: PasswordVersion::from_store(column(row, 5)?),
        digest: SecretDigest::from_store(column(row, 6)?),
        expires_at: timestamp(row, 7)?,
        guesses: guesses(row, 8)?,
    })
}

/// Reads the columns of a one-time secret and then those of its user.
pub(super) fn one_time_with_user_from_row(row: &Row) -> Result<(OneTime, User), Error> {
    Ok((one_time_from_row(row)?, user_from_row(row, ONE_TIME_COLUMN_COUNT)?))
}

pub(super) fn mail_from_row(row: &Row) -> Result<QueuedMail, Error> {
    let mail = Mail {
        id: MailId::from_uuid(column(row, 0)?),
        user_id: column::<Option<Uuid>>(row, 1)?.map(UserId::from_uuid),
        recipient: Email::from_store(column(row, 2)?),
        language: Language::negotiate(Some(column(row, 3)?)),
        message: serde_json::from_str(column(row, 4)?)
            .map_err(|error| Error::Failed(error.into()))?,
        created_at: timestamp(row, 5)?,
        expires_at: timestamp(row, 6)?,
    };
    Ok(QueuedMail {
        mail,
        due_at: timestamp(row, 7)?,
        attempts: attempts_from_store(column(row, 8)?),
        failure: column(row, 9)?,
        given_up_at: optional_timestamp(row, 10)?,
    })
}

/// Reads an invitation and the digest of its secret.
pub(super) fn invitation_from_row(row: &Row) -> Result<(Invitation, SecretDigest), Error> {
    let invitation = Invitation {
        id: InvitationId::from_uuid(column(row, 0)?),
        email: Email::from_store(column(row, 1)?),
        roles: Roles::from_store(column(row, 2)?),
        invited_by: column::<Option<Uuid>>(row, 3)?.map(UserId::from_uuid),
        is_mailed: column(row, 4)?,
        created_at: timestamp(row, 5)?,
        expires_at: timestamp(row, 6)?,
        guesses: guesses(row, 8)?,
    };
    Ok((invitation, SecretDigest::from_store(column(row, 7)?)))
}
