//! The store of known networks: those from which a user has signed in.

use async_trait::async_trait;

use super::Error;
use crate::{throttle::KnownNetworks, user::EmailKey};

/// Stores the networks from which users have signed in. Adding a session adds its network.
#[async_trait]
pub trait KnownNetworkStore: Send + Sync {
    /// The known networks of the user with this address; none if there is no such user.
    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error>;
}
