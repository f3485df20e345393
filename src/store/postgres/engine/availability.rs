//! Whether the database answers, as the change listener last saw it. While it does not, callers get an error at once.

use std::{mem, time::Duration};

use tokio::{sync::watch, time::sleep};

use crate::store::Error;

/// Whether the database is reachable.
pub(super) struct Availability {
    unreachable: watch::Sender<bool>,
}

impl Availability {
    pub(super) fn new() -> Self {
        Self { unreachable: watch::Sender::new(false) }
    }

    /// Returns an error while the database is unreachable.
    pub(super) fn check(&self) -> Result<(), Error> {
        if *self.unreachable.borrow() { Err(unreachable()) } else { Ok(()) }
    }

    /// Runs the work until it times out or the database becomes unreachable.
    pub(super) async fn while_reachable<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        self.check()?;
        tokio::select! {
            done = work => Ok(done),
            () = self.becomes_unreachable() => Err(unreachable()),
            () = sleep(limit) => Err(Error::Unavailable("timed out".into())),
        }
    }

    /// Waits until the database is unreachable.
    pub(super) async fn becomes_unreachable(&self) {
        // The sender lives as long as `self`, so this ends only when the value is true.
        let _ = self.subscribe().wait_for(|unreachable| *unreachable).await;
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<bool> {
        self.unreachable.subscribe()
    }

    /// Returns true if the database was unreachable before.
    pub(super) fn set_reachable(&self) -> bool {
        self.unreachable.send_if_modified(|unreachable| mem::replace(unreachable, false))
    }

    /// Returns true if the database was reachable before.
    pub(super) fn set_unreachable(&self) -> bool {
        self.unreachable.send_if_modified(|unreachable| !mem::replace(unreachable, true))
    }
}

fn unreachable() -> Error {
    Error::Unavailable("unreachable".into())
}
