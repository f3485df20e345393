//! Reads the columns of a row.

use std::str::FromStr;

use tokio_postgres::{Row, types::FromSql};

use crate::{clock::Timestamp, store::Error};

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, Error> {
    row.try_get(at).map_err(|error| Error::Failed(error.into()))
}

/// Reads a value that is stored as text.
pub(super) fn parsed<T>(row: &Row, at: usize) -> Result<T, Error>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    column::<&str>(row, at)?.parse().map_err(|error: T::Err| Error::Failed(error.into()))
}

pub(super) fn timestamp(row: &Row, at: usize) -> Result<Timestamp, Error> {
    column(row, at).map(Timestamp::from_millis)
}

pub(super) fn optional_timestamp(row: &Row, at: usize) -> Result<Option<Timestamp>, Error> {
    Ok(column::<Option<i64>>(row, at)?.map(Timestamp::from_millis))
}
