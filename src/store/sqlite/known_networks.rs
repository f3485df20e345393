//! The column `known_networks` of the table `users`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use crate::{
    network::Network,
    session::Session,
    store::{Error, KnownNetworkStore},
    throttle::KnownNetworks,
    user::{EmailKey, UserId},
};

#[async_trait]
impl KnownNetworkStore for SqliteStore {
    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error> {
        let email = email.clone();
        let stored: Option<String> = self
            .engine
            .read(move |db| {
                db.prepare_cached("SELECT known_networks FROM users WHERE email_key = ?1")?
                    .query_row([email.as_str()], |row| row.get(0))
                    .optional()
            })
            .await?;
        Ok(KnownNetworks::from_store(&stored.unwrap_or_default()))
    }
}

/// Adds the network of a new session, unless it was added recently.
pub(super) fn add_known_network(db: &Connection, session: &Session) -> rusqlite::Result<()> {
    let stored: Option<String> = db
        .prepare_cached("SELECT known_networks FROM users WHERE id = ?1")?
        .query_row([session.user_id], |row| row.get(0))
        .optional()?;
    let mut known = KnownNetworks::from_store(&stored.unwrap_or_default());
    if known.note(Network::at(session.origin.address), session.created_at) {
        set_known_networks(db, session.user_id, &known)?;
    }
    Ok(())
}

pub(super) fn set_known_networks(
    db: &Connection,
    user: UserId,
    known: &KnownNetworks,
) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE users SET known_networks = ?2 WHERE id = ?1")?
        .execute(params![user, known.to_text()])
        .map(drop)
}
