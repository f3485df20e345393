//! The table of endings: written by whatever ends a session, read by the thread that writes.

use rusqlite::{Connection, ToSql, params};

use super::{limit_of, parsed, timestamp};
use crate::{clock::Timestamp, session::TokenId, store::ReusedToken};

/// Writes down that a token has ended, in the transaction that ends it.
pub(super) fn end(db: &Connection, token_id: TokenId, now: Timestamp) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO endings (token_id, ended_at) VALUES (?1, ?2) ON CONFLICT (token_id) DO NOTHING",
    )?
    .execute(params![token_id.to_string(), now.millis()])
    .map(|_| ())
}

/// Ends the token of each session that `delete` deletes and returns. Tells how many there were.
pub(super) fn end_each(
    db: &Connection,
    now: Timestamp,
    delete: &str,
    params: &[&dyn ToSql],
) -> rusqlite::Result<usize> {
    let ended: Vec<TokenId> = db
        .prepare_cached(delete)?
        .query_map(params, |row| parsed(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    for token_id in &ended {
        end(db, *token_id, now)?;
    }
    Ok(ended.len())
}

/// Ends the session of a token that was replaced long enough ago, as this table says.
pub(super) fn end_reused(
    db: &Connection,
    reused: &ReusedToken,
    replaced_by: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let ended = end_each(
        db,
        now,
        "DELETE FROM sessions
         WHERE id = ?1 AND user_id = ?2 AND token_id <> ?3 AND expires_at > ?5 AND EXISTS
             (SELECT 1 FROM endings e WHERE e.token_id = ?3 AND e.ended_at <= ?4)
         RETURNING token_id",
        params![
            reused.session_id.to_string(),
            reused.user_id.to_string(),
            reused.token_id.to_string(),
            replaced_by.millis(),
            now.millis(),
        ],
    )?;
    Ok(ended > 0)
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
