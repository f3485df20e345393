//! A connection that many reads use at the same time.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use super::connection::{Connection, Connector};
use crate::store::Error;

/// A connection that any number of reads share. It is opened on demand and replaced when it breaks.
#[derive(Default)]
pub(super) struct SharedConnection {
    connection: ArcSwapOption<Connection>,
    connecting: Mutex<()>,
}

impl SharedConnection {
    /// The current connection, or a new one if it is no longer usable.
    pub(super) async fn connect(&self, connector: &Connector) -> Result<Arc<Connection>, Error> {
        let usable = || self.connection.load_full().filter(|db| connector.is_usable(db));
        if let Some(db) = usable() {
            return Ok(db);
        }
        let _guard = self.connecting.lock().await;
        if let Some(db) = usable() {
            return Ok(db);
        }
        let db = Arc::new(connector.connect().await?);
        self.connection.store(Some(Arc::clone(&db)));
        Ok(db)
    }

    /// Drops this connection if it is the current one.
    pub(super) fn discard(&self, db: &Arc<Connection>) {
        self.connection.rcu(|current| current.clone().filter(|current| !Arc::ptr_eq(current, db)));
    }

    /// Drops the current connection.
    pub(super) fn discard_current(&self) {
        self.connection.store(None);
    }
}
