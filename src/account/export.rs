//! Everything stored about a user, for them to take away.

use super::sessions;
use crate::{Doorward, session::Session, store, throttle::KnownNetworks, user::User};

/// What is stored about a user beside the record itself.
pub(crate) struct Export {
    pub(crate) sessions: Vec<Session>,
    /// The networks that keep a budget of failed logins of their own.
    pub(crate) known_networks: KnownNetworks,
}

/// Reads what is stored about a user.
pub(crate) async fn export(doorward: &Doorward, user: &User) -> Result<Export, store::Error> {
    Ok(Export {
        sessions: sessions::list(doorward, user.id).await?,
        known_networks: doorward.store().known_networks(&user.email.key()).await?,
    })
}
