//! The store of ended tokens: those that were revoked or replaced before they expired.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Endings, Error};
use crate::clock::Timestamp;

/// Stores which tokens ended before they expired. A transaction that ends a session also adds its token.
#[async_trait]
pub trait EndedTokenStore: Send + Sync {
    /// The log of ended tokens. It contains a token before the method that ends the token returns. A token that another
    /// instance ends is added within a second. A session that expires adds nothing, because its token has expired too.
    fn endings(&self) -> &Arc<Endings>;

    /// Deletes up to `limit` tokens that ended before this time, and returns their number.
    async fn delete_endings(&self, before: Timestamp, limit: usize) -> Result<usize, Error>;
}
