//! Exporting everything that is stored about a user.

use super::sessions;
use crate::{Doorward, session::Session, store, throttle::KnownNetworks, user::User};

/// What is stored about a user in addition to the user record.
pub(crate) struct Export {
    pub(crate) sessions: Vec<Session>,
    /// The networks with a separate budget of failed logins.
    pub(crate) known_networks: KnownNetworks,
}

/// Reads the stored data of a user.
pub(crate) async fn export(doorward: &Doorward, user: &User) -> Result<Export, store::Error> {
    Ok(Export {
        sessions: sessions::list(doorward, user.id).await?,
        known_networks: doorward.store().known_networks(&user.email.key()).await?,
    })
}
