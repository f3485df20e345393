//! The column `known_networks` of the table `users`.

use async_trait::async_trait;

use super::{
    PostgresStore, engine::StatementBatch, row::column, statements as sql, value::email_key,
};
use crate::{
    network::Network,
    session::Session,
    store::{Error, KnownNetworkStore},
    throttle::KnownNetworks,
    user::EmailKey,
};

#[async_trait]
impl KnownNetworkStore for PostgresStore {
    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error> {
        let rows = self.engine.read(sql::KNOWN_NETWORKS, [email_key(email)]).await?;
        let stored = rows.first().map(|row| column::<&str>(row, 0)).transpose()?;
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
    if known.note(Network::at(session.origin.address), session.created_at) {
        batch.add(sql::SET_KNOWN_NETWORKS, [session.user_id.into(), known.to_text().into()]);
    }
}
