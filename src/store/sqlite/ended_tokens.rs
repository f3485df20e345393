//! The table `ended_tokens`. Statements that end sessions fill it, and the writer thread reads it.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, ToSql, params};

use super::{SqliteStore, row::timestamp, sql_limit};
use crate::{
    clock::Timestamp,
    session::TokenId,
    store::{EndedTokenStore, Endings, Error, ReusedToken},
};

#[async_trait]
impl EndedTokenStore for SqliteStore {
    fn endings(&self) -> &Arc<Endings> {
        self.engine.endings()
    }

    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error> {
        let deleted = self.engine.write(None, move |db| {
            db.prepare_cached(
                "DELETE FROM ended_tokens WHERE number IN
                     (SELECT number FROM ended_tokens WHERE ended_at < ?1 LIMIT ?2)",
            )?
            .execute(params![before.millis(), sql_limit(limit)])
        });
        let deleted = deleted.await?;
        self.endings().forget(before);
        Ok(deleted)
    }
}

/// Adds a token in the transaction that ends it.
pub(super) fn add_ended_token(
    db: &Connection,
    token_id: TokenId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO ended_tokens (token_id, ended_at) VALUES (?1, ?2)
         ON CONFLICT (token_id) DO NOTHING",
    )?
    .execute(params![token_id, now.millis()])
    .map(drop)
}

/// Runs a `DELETE … RETURNING token_id` on sessions, adds the tokens and returns their number.
pub(super) fn delete_and_end(
    db: &Connection,
    now: Timestamp,
    delete: &str,
    params: &[&dyn ToSql],
) -> rusqlite::Result<usize> {
    let ended: Vec<TokenId> = db
        .prepare_cached(delete)?
        .query_map(params, |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for token_id in &ended {
        add_ended_token(db, *token_id, now)?;
    }
    Ok(ended.len())
}

/// Ends the session of a token that was replaced at or before `replaced_by`.
pub(super) fn end_reused(
    db: &Connection,
    reused: &ReusedToken,
    replaced_by: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let ended = delete_and_end(
        db,
        now,
        "DELETE FROM sessions
         WHERE id = ?1 AND user_id = ?2 AND token_id <> ?3 AND expires_at > ?5 AND EXISTS
             (SELECT 1 FROM ended_tokens e WHERE e.token_id = ?3 AND e.ended_at <= ?4)
         RETURNING token_id",
        params![
            reused.session_id,
            reused.user_id,
            reused.token_id,
            replaced_by.millis(),
            now.millis(),
        ],
    )?;
    Ok(ended > 0)
}

/// Reads the tokens with a number above `last`, which becomes the highest number read.
pub(super) fn read_after(
    db: &Connection,
    last: &mut i64,
) -> rusqlite::Result<Vec<(TokenId, Timestamp)>> {
    let mut highest = *last;
    let found = db
        .prepare_cached(
            "SELECT token_id, ended_at, number FROM ended_tokens WHERE number > ?1 ORDER BY number",
        )?
        .query_map([*last], |row| {
            highest = row.get(2)?;
            Ok((row.get(0)?, timestamp(row, 1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    *last = highest;
    Ok(found)
}
