//! Which tokens have ended since the writer thread last looked: rows of the table `ended_tokens` have increasing numbers.

use rusqlite::Connection;
use uuid::Uuid;

use crate::{clock::Timestamp, id::Id, session::TokenId};

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
            let token_id = TokenId::from_uuid(Uuid::from_bytes(row.get(0)?));
            Ok((token_id, Timestamp::from_millis(row.get(1)?)))
        })?
        .collect::<rusqlite::Result<_>>()?;
    *last = highest;
    Ok(found)
}
