//! The table `ended_tokens`. The statements that end sessions fill it.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    engine::StatementBatch,
    row::{column, timestamp},
    statements as sql,
    value::sql_limit,
};
use crate::{
    clock::Timestamp,
    session::TokenId,
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

/// Reads the columns of an ended token, which start at `first`.
pub(super) fn ending_from_row(row: &Row, first: usize) -> Result<(TokenId, Timestamp), Error> {
    Ok((TokenId::from_uuid(column(row, first)?), timestamp(row, first + 1)?))
}
