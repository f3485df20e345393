//! The tables `login_failures` and `account_secrets`.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SqliteStore, row::timestamp, sql_limit};
use crate::{
    clock::Timestamp,
    store::{Error, LoginFailureStore, MAX_ACCOUNTS, login_failures::secret_from_store},
    throttle::{AccountChange, AccountKey, AccountSecret, StoredFailures},
};

#[async_trait]
impl LoginFailureStore for SqliteStore {
    async fn account_secret(&self) -> Result<AccountSecret, Error> {
        if let Some(secret) = self.engine.read(stored_secret).await? {
            return secret_from_store(&secret);
        }
        let created = AccountSecret::random();
        let secret = self.engine.write(None, move |db| {
            db.prepare_cached(
                "INSERT INTO account_secrets (id, secret) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING",
            )?
            .execute([created.as_bytes()])?;
            stored_secret(db)
        });
        secret_from_store(&secret.await?.unwrap_or_default())
    }

    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let changes = changes.to_vec();
        self.engine
            .write(None, move |db| {
                for AccountChange { account, cleared, failures } in changes {
                    if cleared {
                        db.prepare_cached("DELETE FROM login_failures WHERE account = ?1")?
                            .execute([account.as_bytes()])?;
                    }
                    if failures > 0 {
                        let recovered_at = now + recovery * failures;
                        db.prepare_cached(
                            "INSERT INTO login_failures (account, recovered_at) VALUES (?1, ?2)
                             ON CONFLICT (account) DO UPDATE
                                 SET recovered_at = max(recovered_at, ?3) + (?2 - ?3)",
                        )?
                        .execute(params![
                            account.as_bytes(),
                            recovered_at.millis(),
                            now.millis()
                        ])?;
                    }
                }
                Ok(())
            })
            .await
    }

    /// No other instance reads a mark.
    async fn unlock_account(&self, account: AccountKey, _: Timestamp) -> Result<(), Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached("DELETE FROM login_failures WHERE account = ?1")?
                    .execute([account.as_bytes()])
                    .map(drop)
            })
            .await
    }

    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        let rows: Vec<_> = self
            .engine
            .read(|db| {
                db.prepare_cached(
                    "SELECT account, recovered_at FROM login_failures
                     ORDER BY recovered_at DESC LIMIT ?1",
                )?
                .query_map([sql_limit(MAX_ACCOUNTS)], failures_from_row)?
                .collect()
            })
            .await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        Ok(Vec::new())
    }

    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "DELETE FROM login_failures WHERE account IN
                         (SELECT account FROM login_failures WHERE recovered_at <= ?1 LIMIT ?2)",
                )?
                .execute(params![until.millis(), sql_limit(limit)])
            })
            .await
    }
}

/// Returns `None` for a key of the wrong length.
fn failures_from_row(row: &Row<'_>) -> rusqlite::Result<Option<StoredFailures>> {
    Ok(StoredFailures::from_store(row.get_ref(0)?.as_blob()?, timestamp(row, 1)?))
}

fn stored_secret(db: &Connection) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT secret FROM account_secrets WHERE id = 1")?
        .query_row([], |row| row.get(0))
        .optional()
}
