//! The store of ended tokens: those that were revoked or replaced before they expired.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Endings, Error};
use crate::clock::Timestamp;

/// Stores which tokens ended before they expired. Whatever ends a session adds its token in the same transaction.
#[async_trait]
pub trait EndedTokenStore: Send + Sync {
    /// The log of ended tokens. A token is in it when the method that ended it returns; one that another instance ended
    /// follows within a second. A session that expires adds nothing: its token has expired before it.
    fn endings(&self) -> &Arc<Endings>;

    /// Deletes up to `limit` tokens that ended before this time, and returns their number.
    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error>;
}
