//! What the throttle keeps, shared by all instances: failed logins by account, and the networks that users have used.

use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::Row;

use super::{
    PostgresStore, column, email_value,
    engine::{About, Plan},
    limit_of, statements as sql, timestamp,
};
use crate::{
    clock::Timestamp,
    store::{Error, LoginFailureStore},
    throttle::{AccountChange, AccountKey, AccountSecret, KnownNetworks, StoredFailures},
    user::EmailKey,
};

#[async_trait]
impl LoginFailureStore for PostgresStore {
    async fn account_secret(&self) -> Result<AccountSecret, Error> {
        if let Some(secret) = self.stored_secret().await? {
            return Ok(secret);
        }
        let made = AccountSecret::random().as_bytes().to_vec();
        let decide = move |_, _: Option<&_>| {
            Plan::new(()).then(sql::KEEP_ACCOUNT_SECRET, [made.clone().into()])
        };
        self.engine.write(About::Housekeeping, decide).await?;
        // Another instance may have been faster.
        self.stored_secret().await?.ok_or_else(damaged)
    }

    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let changes = changes.to_vec();
        let decide = move |_, _: Option<&_>| {
            let mut plan = Plan::new(());
            for AccountChange { account, cleared, failures } in &changes {
                let account = account.as_bytes().to_vec();
                if *cleared {
                    plan = plan.then(sql::CLEAR_FAILURES, [account.clone().into(), now.into()]);
                }
                if *failures > 0 {
                    let first = now + recovery * *failures;
                    let added = first.millis() - now.millis();
                    let values = [account.into(), first.into(), now.into(), added.into()];
                    plan = plan.then(sql::ADD_FAILURES, values);
                }
            }
            plan
        };
        self.engine.write(About::Housekeeping, decide).await
    }

    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        stored_failures(&self.engine.read_at_length(sql::ALL_FAILURES).await?)
    }

    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        stored_failures(&self.engine.read(sql::RECENT_FAILURES, []).await?)
    }

    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error> {
        let decide = move |_, _: Option<&_>| {
            Plan::counted(|rows| usize::try_from(rows[0]).unwrap_or(usize::MAX))
                .then(sql::FORGET_FAILURES, [until.into(), limit_of(limit)])
        };
        self.engine.write(About::Housekeeping, decide).await
    }

    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error> {
        let rows = self.engine.read(sql::KNOWN_NETWORKS, [email_value(email)]).await?;
        let stored = rows.first().map(|row| column::<&str>(row, 0)).transpose()?;
        Ok(KnownNetworks::from_store(stored.unwrap_or_default()))
    }
}

impl PostgresStore {
    async fn stored_secret(&self) -> Result<Option<AccountSecret>, Error> {
        let rows = self.engine.read(sql::ACCOUNT_SECRET, []).await?;
        let stored = rows.first().map(|row| column::<&[u8]>(row, 0)).transpose()?;
        stored.map(|bytes| AccountSecret::from_store(bytes).ok_or_else(damaged)).transpose()
    }
}

fn damaged() -> Error {
    Error::Failed("the table account_secrets is damaged".into())
}

fn stored_failures(rows: &[Row]) -> Result<Vec<StoredFailures>, Error> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(account) = AccountKey::from_store(column(row, 0)?) {
            found.push(StoredFailures { account, recovered_at: timestamp(row, 1)? });
        }
    }
    Ok(found)
}
