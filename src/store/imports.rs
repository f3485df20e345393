//! The store for moving users in: batches of new users, and the schemes of imported password hashes.

use async_trait::async_trait;

use super::Error;
use crate::user::{EmailKey, User, UserId};

/// Adds many users.
#[async_trait]
pub trait ImportStore: Send + Sync {
    /// The stored users that have the id or the address of one of these.
    async fn users_like(&self, users: &[(UserId, EmailKey)]) -> Result<Vec<User>, Error>;

    /// Adds users in one transaction, except for those whose id or address is taken. Returns for each whether it was added.
    /// Records the schemes of their password hashes.
    async fn import_users(&self, users: Vec<User>) -> Result<Vec<bool>, Error>;

    /// The schemes and costs of imported password hashes: the text of a hash up to its salt.
    async fn foreign_hashes(&self) -> Result<Vec<String>, Error>;

    /// Deletes the schemes that no user has any more.
    async fn forget_unused_foreign_hashes(&self) -> Result<(), Error>;
}
