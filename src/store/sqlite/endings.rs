//! The table of endings: written by whatever ends a session, read by the thread that writes.

use rusqlite::{Connection, params};

use super::{limit_of, parsed, timestamp};
use crate::{clock::Timestamp, session::TokenId};

/// Writes down that a token has ended, in the transaction that ends it.
pub(super) fn end(db: &Connection, token_id: TokenId, now: Timestamp) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO endings (token_id, ended_at) VALUES (?1, ?2) ON CONFLICT (token_id) DO NOTHING",
    )?
    .execute(params![token_id.to_string(), now.millis()])
    .map(|_| ())
}

/// The endings with a number above `seen`, which is raised to the last of them.
pub(super) fn read_on(
    db: &Connection,
    seen: &mut i64,
) -> rusqlite::Result<Vec<(TokenId, Timestamp)>> {
    let mut last = *seen;
    let found = db
        .prepare_cached(
            "SELECT token_id, ended_at, number FROM endings WHERE number > ?1 ORDER BY number",
        )?
        .query_map([*seen], |row| {
            last = row.get(2)?;
            Ok((parsed(row, 0)?, timestamp(row, 1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    *seen = last;
    Ok(found)
}

/// Removes up to `limit` endings from before this time.
pub(super) fn forget(db: &Connection, before: Timestamp, limit: usize) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM endings WHERE number IN
             (SELECT number FROM endings WHERE ended_at < ?1 LIMIT ?2)",
    )?
    .execute(params![before.millis(), limit_of(limit)])
}
