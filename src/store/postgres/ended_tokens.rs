//! The table `ended_tokens`. The statements that end sessions fill it.

use std::sync::Arc;

use async_trait::async_trait;

use super::{PostgresStore, engine::StatementBatch, statements as sql, value::sql_limit};
use crate::{
    clock::Timestamp,
    store::{EndedTokenStore, Endings, Error},
};

#[async_trait]
impl EndedTokenStore for PostgresStore {
    fn endings(&self) -> &Arc<Endings> {
        self.engine.endings()
    }

    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error> {
        let deleted = self.engine.maintain(move || {
            let mut batch = StatementBatch::default();
            let deleted = batch.add(sql::DELETE_ENDED_TOKENS, [before.into(), sql_limit(limit)]);
            batch.counting(move |rows| rows.of(deleted))
        });
        let deleted = deleted.await?;
        self.endings().forget(before);
        Ok(deleted)
    }
}
