//! The tables `login_failures` and `account_secrets`.

use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    row::{column, timestamp},
    statements as sql,
    value::sql_limit,
};
use crate::{
    clock::Timestamp,
    store::{
        Error, LoginFailureStore,
        login_failures::{damaged_secret, secret_from_store},
    },
    throttle::{AccountChange, AccountKey, AccountSecret, StoredFailures},
};

#[async_trait]
impl LoginFailureStore for PostgresStore {
    async fn account_secret(&self) -> Result<AccountSecret, Error> {
        if let Some(secret) = self.stored_secret().await? {
            return Ok(secret);
        }
        let created = AccountSecret::random().as_bytes().to_vec();
        self.engine
            .maintain(move || {
                Write::statement(sql::ADD_ACCOUNT_SECRET, [created.clone().into()], ())
            })
            .await?;
        // Another instance may have added one first.
        self.stored_secret().await?.ok_or_else(damaged_secret)
    }

    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let changes = changes.to_vec();
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                for AccountChange { account, cleared, failures } in &changes {
                    let account = account.as_bytes().to_vec();
                    if *cleared {
                        batch.add(sql::CLEAR_FAILURES, [account.clone().into(), now.into()]);
                    }
                    if *failures > 0 {
                        let recovered_at = now + recovery * *failures;
                        let added = recovered_at.millis() - now.millis();
                        let values =
                            [account.into(), recovered_at.into(), now.into(), added.into()];
                        batch.add(sql::ADD_FAILURES, values);
                    }
                }
                batch.returning(())
            })
            .await
    }

    async fn unlock_account(&self, account: AccountKey, now: Timestamp) -> Result<(), Error> {
        self.engine
            .maintain(move || {
                let key = |bytes: &[u8]| [bytes.to_vec().into(), now.into()];
                StatementBatch::default()
                    .with(sql::CLEAR_FAILURES, key(account.as_bytes()))
                    .with(sql::MARK_UNLOCKED, key(&StoredFailures::unlock_key(account)))
                    .returning(())
            })
            .await
    }

    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        failures_from_rows(&self.engine.read_without_limit(sql::ALL_FAILURES).await?)
    }

    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        failures_from_rows(&self.engine.read(sql::RECENT_FAILURES, []).await?)
    }

    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let deleted = batch.add(sql::DELETE_FAILURES, [until.into(), sql_limit(limit)]);
                batch.counting(move |rows| rows.of(deleted))
            })
            .await
    }
}

impl PostgresStore {
    async fn stored_secret(&self) -> Result<Option<AccountSecret>, Error> {
        let rows = self.engine.read(sql::ACCOUNT_SECRET, []).await?;
        let stored = rows.first().map(|row| column::<&[u8]>(row, 0)).transpose()?;
        stored.map(secret_from_store).transpose()
    }
}

/// Skips keys of the wrong length.
fn failures_from_rows(rows: &[Row]) -> Result<Vec<StoredFailures>, Error> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        found.extend(StoredFailures::from_store(column(row, 0)?, timestamp(row, 1)?));
    }
    Ok(found)
}
