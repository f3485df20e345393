//! The store of failed logins by account.

use std::time::Duration;

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    throttle::{AccountChange, AccountKey, AccountSecret, StoredFailures},
};

/// The maximum number of accounts whose failed logins are loaded. If there are more, those that recover last are loaded.
pub const MAX_ACCOUNTS: usize = 100_000;

/// Stores failed logins, so that budgets survive a restart and all instances share them.
#[async_trait]
pub trait LoginFailureStore: Send + Sync {
    /// The secret key of the account hashes. It is created on first use and shared by all instances.
    async fn account_secret(&self) -> Result<AccountSecret, Error>;

    /// Saves changes to accounts. Each failure adds one `recovery` to the time at which its account has recovered.
    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error>;

    /// Clears the stored failures of an account for an operator, and marks it for other instances.
    async fn unlock_account(&self, account: AccountKey, now: Timestamp) -> Result<(), Error>;

    /// All stored failures, of at most [`MAX_ACCOUNTS`] accounts.
    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error>;

    /// Failures that any instance has saved within the last 10 seconds. Always empty for a database with one instance.
    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error>;

    /// Deletes the failures of up to `limit` accounts that have recovered by this time, and returns their number.
    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error>;
}

/// Reads the secret that a database has stored.
pub(super) fn secret_from_store(bytes: &[u8]) -> Result<AccountSecret, Error> {
    AccountSecret::from_store(bytes).ok_or_else(damaged_secret)
}

/// The stored secret is missing or has the wrong length.
pub(super) fn damaged_secret() -> Error {
    Error::Failed("the table account_secrets is damaged".into())
}
