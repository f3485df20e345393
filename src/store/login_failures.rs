//! What the throttle keeps in a database: failed logins by account, and the networks that users have used.

use std::time::Duration;

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    throttle::{AccountChange, AccountSecret, KnownNetworks, StoredFailures},
    user::EmailKey,
};

/// Accounts whose failed logins are read at most, those that recover last first.
pub const MAX_ACCOUNTS: usize = 100_000;

/// Keeps failed logins, so that a restart does not refill a budget and instances share it.
#[async_trait]
pub trait LoginFailureStore: Send + Sync {
    /// The secret behind the keys of accounts: made on first use, the same for all instances.
    async fn account_secret(&self) -> Result<AccountSecret, Error>;

    /// Saves what happened to accounts, each failure being forgiven after one more `recovery`.
    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error>;

    /// All failures that are stored, at most those of [`MAX_ACCOUNTS`].
    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error>;

    /// Failures that any instance has saved within the last 10 seconds; none in a database that nobody else writes to.
    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error>;

    /// Removes failures of up to `limit` accounts that recover until this time, and tells of how many.
    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error>;

    /// The networks from which the user with this address has signed in; none if there is no such user.
    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error>;
}
