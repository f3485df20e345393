//! The connections of this process, for metrics.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{count::Counter, metrics::Exposition};

/// The connections of the public listeners.
pub(super) static CONNECTIONS: ConnectionCounts = ConnectionCounts::new();

/// How many connections there are, were and may be.
#[derive(Debug)]
pub struct ConnectionCounts {
    pub(super) open: Counter,
    pub(super) accepted: Counter,
    pub(super) evicted: Counter,
    limit: AtomicU64,
}

impl ConnectionCounts {
    const fn new() -> Self {
        Self {
            open: Counter::new(),
            accepted: Counter::new(),
            evicted: Counter::new(),
            limit: AtomicU64::new(0),
        }
    }

    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit as u64, Ordering::Relaxed);
    }
}

/// Writes the metrics of connections.
pub(crate) fn write_metrics(metrics: &mut Exposition<'_>) -> fmt::Result {
    let ConnectionCounts { open, accepted, evicted, limit } = &CONNECTIONS;
    metrics.gauge("doorward_connections", "Open connections", open.value())?;
    metrics.gauge(
        "doorward_connections_limit",
        "How many connections may be open",
        limit.load(Ordering::Relaxed),
    )?;
    metrics.counter(
        "doorward_connections_accepted",
        "Connections that were accepted",
        accepted.value(),
    )?;
    metrics.counter(
        "doorward_connections_evicted",
        "Connections that were closed early because the limit was reached",
        evicted.value(),
    )
}
