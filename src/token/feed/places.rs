//! Places that callers hold for a while: so many in all, and so many for each network.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::network::{Network, Requester};

/// Hands out places until none is left, for everybody or for one network.
pub(super) struct Places {
    most: usize,
    most_each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    total: usize,
    by_network: HashMap<Network, usize>,
}

impl Places {
    /// The prefix by which IPv6 networks count as one: what a subscriber gets at most.
    const SUBSCRIBER: u32 = 48;

    pub(super) fn new(most: usize, most_each: usize) -> Arc<Self> {
        Arc::new(Self { most, most_each, taken: Mutex::default() })
    }

    /// A place for whoever asks, if there is one.
    pub(super) fn take(self: &Arc<Self>, requester: Requester) -> Option<Place> {
        let network = requester.network.supernet(Self::SUBSCRIBER);
        let mut taken = self.taken();
        let own = taken.by_network.get(&network).copied().unwrap_or(0);
        let most_each = requester.limited_network().map_or(usize::MAX, |_| self.most_each);
        if taken.total >= self.most || own >= most_each {
            return None;
        }
        taken.total += 1;
        taken.by_network.insert(network, own + 1);
        Some(Place { places: Arc::clone(self), network })
    }

    /// How many places are taken.
    pub(super) fn count(&self) -> usize {
        self.taken().total
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is given back when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    network: Network,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.total -= 1;
        if let Some(own) = taken.by_network.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                taken.by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Requester {
        let network = Network::at(address.parse().unwrap());
        Requester { network, exempt_from_network_limits: network.is_loopback() }
    }

    #[test]
    fn a_network_gets_its_share_and_all_of_them_the_rest() {
        let places = Places::new(4, 2);
        let one = [places.take(client("192.0.2.1")), places.take(client("192.0.2.1"))];
        assert!(one.iter().all(Option::is_some));
        assert!(places.take(client("192.0.2.1")).is_none());
        let other = [places.take(client("2001:db8::1")), places.take(client("2001:db8:0:1::1"))];
        assert!(other.iter().all(Option::is_some));
        assert!(places.take(client("2001:db8::2")).is_none(), "of the same subscriber");
        assert!(places.take(client("192.0.2.9")).is_none(), "all are taken");
        drop(one);
        assert!(places.take(client("192.0.2.1")).is_some());
        drop(other);
        assert_eq!((places.count(), places.taken().by_network.len()), (0, 0));
    }

    #[test]
    fn local_development_is_bound_by_the_total_alone() {
        let places = Places::new(3, 1);
        let taken: Vec<_> = (0..4).map(|_| places.take(client("127.0.0.1"))).collect();
        assert_eq!(taken.iter().flatten().count(), 3);
    }
}
