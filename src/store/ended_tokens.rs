//! Tokens that were revoked or replaced before they expired: the table `ended_tokens`. The statements that end sessions fill it.

use std::sync::Arc;

use super::{Error, Store, statements::statements, value::sql_limit, write::StatementBatch};
use crate::{clock::Timestamp, session::TokenId, token::endings::Endings};

statements! {
    ENDED_TOKENS = "SELECT token_id, ended_at FROM ended_tokens ORDER BY ended_at";
    DELETE_ENDED_TOKENS =
        "DELETE FROM ended_tokens WHERE token_id IN (SELECT token_id FROM ended_tokens WHERE ended_at < $1 LIMIT $2)";
}

impl Store {
    /// The log of ended tokens. It contains a token before the method that ends the token returns. A token that another
    /// instance ends is added within a second. A session that expires adds nothing, because its token has expired too.
    pub fn endings(&self) -> &Arc<Endings> {
        self.engine.endings()
    }

    /// All tokens that have ended and are not deleted, each with the time.
    pub(crate) async fn ended_tokens(&self) -> Result<Vec<(TokenId, Timestamp)>, Error> {
        let rows = self.read(ENDED_TOKENS, []).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }

    /// Deletes up to `limit` tokens that ended before this time, and returns their number.
    pub async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error> {
        let deleted = self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let deleted = batch.add(DELETE_ENDED_TOKENS, [before.into(), sql_limit(limit)]);
            batch.counting(move |rows| rows.of(deleted))
        });
        let deleted = deleted.await?;
        self.endings().forget(before);
        Ok(deleted)
    }
}
