//! Limits concurrent requests, in total and per network.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::network::{Network, Requester};

/// A semaphore with a limit in total and one per network.
pub(super) struct Permits {
    max: usize,
    max_per_network: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    total: usize,
    by_network: HashMap<Network, usize>,
}

impl Permits {
    pub(super) fn new(max: usize, max_per_network: usize) -> Arc<Self> {
        Arc::new(Self { max, max_per_network, held: Mutex::default() })
    }

    /// A permit, unless a limit is reached.
    pub(super) fn acquire(self: &Arc<Self>, requester: &Requester) -> Option<Permit> {
        let network = requester.network().subscriber();
        let mut held = self.held();
        let own = held.by_network.get(&network).copied().unwrap_or(0);
        let max = requester.limited_network().map_or(usize::MAX, |_| self.max_per_network);
        if held.total >= self.max || own >= max {
            return None;
        }
        held.total += 1;
        held.by_network.insert(network, own + 1);
        Some(Permit { permits: Arc::clone(self), network })
    }

    /// How many permits are held.
    #[cfg(feature = "internals")]
    pub(super) fn count(&self) -> usize {
        self.held().total
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit, released when it is dropped.
pub(super) struct Permit {
    permits: Arc<Permits>,
    network: Network,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.permits.held();
        held.total -= 1;
        if let Some(own) = held.by_network.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                held.by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ClientInfo;

    fn requester(address: &str) -> Requester {
        let requester = Requester::new(ClientInfo::new(address.parse().unwrap(), ""));
        let exempt_from_network_limits = requester.network().is_loopback();
        Requester { exempt_from_network_limits, ..requester }
    }

    #[test]
    fn permits_are_limited_per_network_and_in_total() {
        let permits = Permits::new(4, 2);
        let one =
            [permits.acquire(&requester("192.0.2.1")), permits.acquire(&requester("192.0.2.1"))];
        assert!(one.iter().all(Option::is_some));
        assert!(permits.acquire(&requester("192.0.2.1")).is_none());
        let other = [
            permits.acquire(&requester("2001:db8::1")),
            permits.acquire(&requester("2001:db8:0:1::1")),
        ];
        assert!(other.iter().all(Option::is_some));
        assert!(permits.acquire(&requester("2001:db8::2")).is_none(), "the same subscriber");
        assert!(permits.acquire(&requester("192.0.2.9")).is_none(), "the total is reached");
        drop(one);
        assert!(permits.acquire(&requester("192.0.2.1")).is_some());
        drop(other);
        assert_eq!((permits.count(), permits.held().by_network.len()), (0, 0));
    }

    #[test]
    fn local_development_is_limited_only_in_total() {
        let permits = Permits::new(3, 1);
        let held: Vec<_> = (0..4).map(|_| permits.acquire(&requester("127.0.0.1"))).collect();
        assert_eq!(held.iter().flatten().count(), 3);
    }
}
