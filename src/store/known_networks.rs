//! Known networks: those from which a user has signed in, in the column `known_networks` of the table `users`. Adding a session
//! adds its network.

use super::{Error, Store, statements::statements, value::email_key, write::StatementBatch};
use crate::{network::Network, session::Session, throttle::KnownNetworks, user::EmailKey};

statements! {
    KNOWN_NETWORKS = "SELECT known_networks FROM users WHERE email_key = $1";
    SET_KNOWN_NETWORKS = "UPDATE users SET known_networks = $2 WHERE id = $1";
}

impl Store {
    /// The known networks of the user with this address; none if there is no such user.
    pub async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error> {
        let rows = self.read(KNOWN_NETWORKS, [email_key(email)]).await?;
        let stored = rows.first().map(|row| row.get::<&str>(0)).transpose()?;
        Ok(KnownNetworks::from_store(stored.unwrap_or_default()))
    }
}

/// Adds the network of a new session, unless it was added recently.
pub(super) fn add_known_network(
    batch: &mut StatementBatch,
    known: &KnownNetworks,
    session: &Session,
) {
    let mut known = known.clone();
    if known.note(Network::at(session.client.address), session.created_at) {
        batch.add(SET_KNOWN_NETWORKS, [session.user_id.into(), known.to_text().into()]);
    }
}
