//! The store for moving users in: batches of new users, and imported password hashes.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    user::{Email, EmailKey, User, UserId},
};

/// An imported password hash that has not been replaced by one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedHash {
    /// The user.
    pub user_id: UserId,
    /// The address of the user.
    pub email: Email,
    /// The scheme and cost: the text of the hash up to its salt.
    pub prefix: String,
    /// When it was imported.
    pub imported_at: Timestamp,
}

/// Adds many users.
#[async_trait]
pub trait ImportStore: Send + Sync {
    /// The stored users that have the id or the address of one of these.
    async fn users_like(&self, users: &[(UserId, EmailKey)]) -> Result<Vec<User>, Error>;

    /// Adds users in one transaction, except for those whose id or address is taken. Returns for each whether it was added.
    /// Records their password hashes as imported.
    async fn import_users(&self, users: Vec<User>, now: Timestamp) -> Result<Vec<bool>, Error>;

    /// Imported hashes in the order of the users' ids, from the first one after `after`.
    async fn imported_hashes(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<ImportedHash>, Error>;

    /// Deletes the imported hash of a user, who then has no password. Sessions and the version of the password stay, so that a
    /// link in a mail can still set one. Returns false if the hash has been replaced.
    async fn drop_imported_hash(&self, user: UserId) -> Result<bool, Error>;

    /// The schemes and costs of imported password hashes: the text of a hash up to its salt.
    async fn foreign_hashes(&self) -> Result<Vec<String>, Error>;

    /// Deletes the schemes that no user has any more.
    async fn forget_unused_foreign_hashes(&self) -> Result<(), Error>;
}
