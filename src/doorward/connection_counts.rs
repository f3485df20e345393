//! How many connections the public listeners of a service have, had and may have.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::count::Counter;

/// The connections of the public listeners. The server counts them.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    pub(crate) open: Counter,
    pub(crate) accepted: Counter,
    /// Closed early, because the limit was reached.
    pub(crate) evicted: Counter,
    limit: AtomicU64,
}

impl ConnectionCounts {
    /// How many may be open. 0 until the server starts.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit as u64, Ordering::Relaxed);
    }
}
