//! Failed logins by account: the tables `login_failures` and `account_secrets`. Budgets survive a restart, and all instances share
//! them.

use std::time::Duration;

use super::{
    Error, Store,
    effects::{Effects, add_effects},
    row::Row,
    statements::statements,
    value::sql_limit,
    write::{StatementBatch, Write},
};
use crate::{
    clock::Timestamp,
    throttle::{AccountChange, AccountKey, AccountSecret, StoredFailures},
    user::UserId,
};

statements! {
    ACCOUNT_SECRET = "SELECT secret FROM account_secrets WHERE id = 1";
    ADD_ACCOUNT_SECRET =
        "INSERT INTO account_secrets (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    /// An update and not a deletion, so that other instances read it.
    CLEAR_FAILURES =
        "UPDATE login_failures SET recovered_at = $2, changed_at = CURRENT_TIMESTAMP WHERE account = $1";
    /// Tells other instances to forget the failures on an account: budgets of networks are only in their memory. A row of its
    /// own, which failures from before do not change when they are saved late.
    MARK_UNLOCKED =
        "INSERT INTO login_failures (account, recovered_at, changed_at) VALUES ($1, $2, CURRENT_TIMESTAMP) \
         ON CONFLICT (account) DO UPDATE SET recovered_at = excluded.recovered_at, changed_at = CURRENT_TIMESTAMP";
    ADD_FAILURES =
        "INSERT INTO login_failures (account, recovered_at, changed_at) VALUES ($1, $2, CURRENT_TIMESTAMP) \
         ON CONFLICT (account) DO UPDATE SET changed_at = CURRENT_TIMESTAMP, recovered_at = $4 + \
         CASE WHEN login_failures.recovered_at > $3 THEN login_failures.recovered_at ELSE $3 END";
    FAILURES_OF = "SELECT recovered_at FROM login_failures WHERE account = $1";
    ALL_FAILURES = "SELECT account, recovered_at FROM login_failures ORDER BY recovered_at DESC LIMIT $1";
    RECENT_FAILURES = "SELECT account, recovered_at FROM login_failures WHERE changed_at >= $1";
    DELETE_FAILURES =
        "DELETE FROM login_failures WHERE account IN \
         (SELECT account FROM login_failures WHERE recovered_at <= $1 AND changed_at <= $2 LIMIT $3)";
}

/// The maximum number of accounts whose failed logins are loaded. If there are more, those that recover last are loaded.
const MAX_ACCOUNTS: usize = 100_000;
/// How old a change may be that other instances have not read.
const RECENT: Duration = Duration::from_secs(10);
/// How long a change is kept, so that other instances read it.
const KEEP: Duration = Duration::from_secs(10 * 60);

impl Store {
    /// The secret key of the account hashes. It is created on first use and shared by all instances.
    pub async fn account_secret(&self) -> Result<AccountSecret, Error> {
        if let Some(secret) = self.stored_secret().await? {
            return Ok(secret);
        }
        let created = AccountSecret::random().as_bytes().to_vec();
        self.write_uncached(move || {
            Write::statement(ADD_ACCOUNT_SECRET, [created.clone().into()], ())
        })
        .await?;
        // Another instance may have added one first.
        self.stored_secret().await?.ok_or_else(damaged_secret)
    }

    async fn stored_secret(&self) -> Result<Option<AccountSecret>, Error> {
        let rows = self.read(ACCOUNT_SECRET, []).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        AccountSecret::from_store(row.get(0)?).ok_or_else(damaged_secret).map(Some)
    }

    /// Saves changes to accounts. Each failure adds one `recovery` to the time at which its account has recovered.
    pub async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let changes = changes.to_vec();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for AccountChange { account, cleared, failures } in &changes {
                let account = account.as_bytes().to_vec();
                if *cleared {
                    batch.add(CLEAR_FAILURES, [account.clone().into(), now.into()]);
                }
                if *failures > 0 {
                    let recovered_at = now + recovery * *failures;
                    let added = recovered_at.millis() - now.millis();
                    let values = [account.into(), recovered_at.into(), now.into(), added.into()];
                    batch.add(ADD_FAILURES, values);
                }
            }
            batch.returning(())
        })
        .await
    }

    /// Counts a guess as failed before it is compared, so that no more than `most` are, however many instances compare at the same
    /// time. Returns how long to wait if there were too many.
    pub async fn charge_failure(
        &self,
        account: AccountKey,
        most: u32,
        recovery: Duration,
        now: Timestamp,
    ) -> Result<Result<(), Duration>, Error> {
        let full_at = now + recovery * most;
        // A refused guess does not prolong the wait.
        if let Some(wait) = self.wait_until(account, full_at - recovery).await? {
            return Ok(Err(wait));
        }
        let change = AccountChange { account, cleared: false, failures: 1 };
        self.save_failures(&[change], recovery, now).await?;
        let wait = self.wait_until(account, full_at).await?;
        Ok(wait.map_or(Ok(()), Err))
    }

    /// How long it takes until the account recovers by this time.
    async fn wait_until(
        &self,
        account: AccountKey,
        latest: Timestamp,
    ) -> Result<Option<Duration>, Error> {
        let rows = self.read(FAILURES_OF, [account.as_bytes().to_vec().into()]).await?;
        let recovered_at: Option<Timestamp> = rows.first().map(|row| row.get(0)).transpose()?;
        Ok(recovered_at.filter(|at| *at > latest).map(|at| at.duration_since(latest)))
    }

    /// Clears the stored failures of a user for an administrator: the failed logins, which it marks for other instances, and the wrong
    /// codes, which are counted in the database only. Returns false if there is no such user.
    pub async fn unlock_account(
        &self,
        user: UserId,
        logins: AccountKey,
        codes: &[AccountKey],
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (codes, effects) = (codes.to_vec(), effects.clone());
        self.write_user(user, false, move |_, _| {
            let key = |bytes: &[u8]| [bytes.to_vec().into(), now.into()];
            let mark = key(&StoredFailures::unlock_key(logins));
            let mut batch = StatementBatch::default().with(MARK_UNLOCKED, mark);
            for account in codes.iter().chain([&logins]) {
                batch.add(CLEAR_FAILURES, key(account.as_bytes()));
            }
            add_effects(&mut batch, &effects);
            Some(batch.returning(true))
        })
        .await
    }

    /// All stored failures, of at most 100,000 accounts.
    pub async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        let limit = vec![sql_limit(MAX_ACCOUNTS)];
        failures_from_rows(&self.engine.read_without_limit(ALL_FAILURES, limit).await?)
    }

    /// Failures that any instance has saved within the last 10 seconds. Always empty for a database with one instance.
    pub async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        if !self.is_shared() {
            return Ok(Vec::new());
        }
        let since = self.engine.time().await? - RECENT;
        failures_from_rows(&self.read(RECENT_FAILURES, [since.into()]).await?)
    }

    /// Deletes the failures of up to `limit` accounts that have recovered by this time, and returns their number. Keeps those
    /// that other instances may not have read.
    pub async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error> {
        let keep = if self.is_shared() { KEEP } else { Duration::ZERO };
        let changed_by = self.engine.time().await? - keep;
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let values = [until.into(), changed_by.into(), sql_limit(limit)];
            let deleted = batch.add(DELETE_FAILURES, values);
            batch.counting(move |rows| rows.of(deleted))
        })
        .await
    }
}

/// Skips keys of the wrong length.
fn failures_from_rows(rows: &[Row]) -> Result<Vec<StoredFailures>, Error> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        found.extend(StoredFailures::from_store(row.get(0)?, row.get(1)?));
    }
    Ok(found)
}

/// The stored secret is missing or has the wrong length.
fn damaged_secret() -> Error {
    Error::Failed("the table account_secrets is damaged".into())
}
