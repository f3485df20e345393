//! A connection that reads share.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use super::connection::{Connection, Connector};
use crate::store::Error;

/// A connection that any number of reads use at once.
#[derive(Default)]
pub(super) struct Line {
    connection: ArcSwapOption<Connection>,
    connecting: Mutex<()>,
}

impl Line {
    /// The connection, made anew if it is no longer good.
    pub(super) async fn connection(&self, connector: &Connector) -> Result<Arc<Connection>, Error> {
        let good = || self.connection.load_full().filter(|db| connector.is_good(db));
        if let Some(db) = good() {
            return Ok(db);
        }
        let _alone = self.connecting.lock().await;
        if let Some(db) = good() {
            return Ok(db);
        }
        let db = Arc::new(connector.connect().await?);
        self.connection.store(Some(Arc::clone(&db)));
        Ok(db)
    }

    /// Has the next read make another connection.
    pub(super) fn hang_up(&self, db: &Arc<Connection>) {
        self.connection.rcu(|current| current.clone().filter(|current| !Arc::ptr_eq(current, db)));
    }

    /// Whatever comes next makes another connection.
    pub(super) fn forget(&self) {
        self.connection.store(None);
    }
}
