//! Runs portable statements on a connection.

use chrono::{DateTime, Utc};
use rusqlite::{
    CachedStatement, Connection, ToSql, params_from_iter,
    types::{Null, ToSqlOutput, ValueRef},
};
use uuid::Uuid;

use crate::store::{
    Error,
    row::{Cell, Row},
    user_record::{USER_RECORD, UserRecord, user_record_from_row},
    value::Value,
    write::{AnyResult, Prepare, RowCounts, Verdict, Write, WriteScope},
};

const ONE_TIME: &str = "SELECT id FROM one_time_secrets WHERE id = $1 AND user_id = $2";

pub(super) fn query(db: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = prepare(db, sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map(params_from_iter(values), |row| {
        let cells = (0..columns).map(|column| row.get_ref(column).map(cell));
        Ok(Row::new(cells.collect::<rusqlite::Result<Vec<_>>>()?))
    })?;
    rows.collect()
}

/// Runs a write in the savepoint of the caller, who commits it or rolls it back.
pub(super) fn run(
    db: &Connection,
    scope: WriteScope,
    prepare: &Prepare,
) -> rusqlite::Result<Verdict<AnyResult>> {
    let user = match user_in(db, scope)?.transpose() {
        Ok(user) => user,
        Err(error) => return Ok(Verdict::Fail(error)),
    };
    // Only other instances look up which change has ended a token.
    let Write { statements, verdict, .. } = prepare(Uuid::nil(), user.as_ref());
    let counts = statements.iter().map(|(sql, values)| execute(db, sql, values));
    let counts = RowCounts::new(counts.collect::<rusqlite::Result<_>>()?);
    Ok(match verdict(&counts) {
        Verdict::CommitAfter(late, result) => {
            for (sql, values) in &late {
                execute(db, sql, values)?;
            }
            Verdict::Commit(result)
        }
        verdict => verdict,
    })
}

/// The record of the user in the scope. Nobody else writes meanwhile, so that it needs no lock.
fn user_in(
    db: &Connection,
    scope: WriteScope,
) -> rusqlite::Result<Option<Result<UserRecord, Error>>> {
    let Some(id) = scope.locked_user() else { return Ok(None) };
    if let WriteScope::OneTime(_, one_time) = scope
        && query(db, ONE_TIME, &[one_time.into(), id.into()])?.is_empty()
    {
        return Ok(None);
    }
    let rows = query(db, USER_RECORD, &[id.into()])?;
    Ok(rows.first().map(user_record_from_row))
}

/// Runs a statement and returns the number of rows that it changed.
fn execute(db: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<u64> {
    let changed = prepare(db, sql)?.execute(params_from_iter(values))?;
    Ok(u64::try_from(changed).unwrap_or(u64::MAX))
}

/// `$1` would be a parameter with a name, and SQLite numbers those in the order in which they occur.
pub(in crate::store) fn prepare<'db>(
    db: &'db Connection,
    sql: &str,
) -> rusqlite::Result<CachedStatement<'db>> {
    db.prepare_cached(&sql.replace('$', "?"))
}

/// Ids are blobs of 16 bytes, which sort as their text does.
impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Id(Some(id)) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Text(Some(text)) => text.as_str().into(),
            Self::Number(Some(number)) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Bytes(Some(bytes)) => bytes.as_slice().into(),
            // As `CURRENT_TIMESTAMP`.
            Self::Time(time) => {
                DateTime::<Utc>::from(*time).format("%Y-%m-%d %H:%M:%S").to_string().into()
            }
            Self::Id(None) | Self::Text(None) | Self::Number(None) | Self::Bytes(None) => {
                Null.into()
            }
        })
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        ValueRef::Text(text) => {
            std::str::from_utf8(text).map_or(Cell::Unknown, |text| Cell::Text(text.to_owned()))
        }
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => Cell::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_numbers_in_the_statement() {
        let db = Connection::open_in_memory().unwrap();
        let rows = query(&db, "SELECT $2, $1, $2", &["one".into(), "two".into()]).unwrap();
        let texts: Vec<&str> = (0..3).map(|column| rows[0].get(column).unwrap()).collect();
        assert_eq!(texts, ["two", "one", "two"]);
    }

    #[test]
    fn a_time_compares_with_the_current_time() {
        let db = Connection::open_in_memory().unwrap();
        let before = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let rows = query(&db, "SELECT CURRENT_TIMESTAMP > $1", &[before.into()]).unwrap();
        assert!(rows[0].get::<bool>(0).unwrap());
    }
}
