//! Ids as SQLite stores them: blobs of 16 bytes, which sort as their text does.

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};
use uuid::Uuid;

use crate::{
    mail::MailId,
    session::{SessionId, TokenId},
    token::{cookie::CodeId, one_time::OneTimeId},
    user::{InvitationId, UserId},
};

macro_rules! id_as_blob {
    ($($id:ty),*) => {$(
        impl ToSql for $id {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_bytes())))
            }
        }

        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <[u8; 16]>::column_result(value).map(Uuid::from_bytes).map(Self::from_uuid)
            }
        }
    )*};
}

id_as_blob!(UserId, SessionId, TokenId, CodeId, OneTimeId, MailId, InvitationId);
