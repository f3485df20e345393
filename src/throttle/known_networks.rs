//! Networks from which a user has signed in. An attack from other networks does not lock the user out of these.

use std::time::Duration;

use crate::{clock::Timestamp, network::Network};

/// The networks from which a user has signed in recently, each with the time, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNetworks(Vec<(Network, Timestamp)>);

impl KnownNetworks {
    /// The maximum number of networks. Beyond it the one that has been unused longest is dropped.
    pub const MAX: usize = 10;
    /// A sign-in from a network that was recorded within this time is not recorded again.
    pub const RESOLUTION: Duration = Duration::from_secs(24 * 60 * 60);

    /// Records a sign-in. Returns false if there is nothing to write. Loopback is never recorded: behind a proxy that
    /// forwards no address, all users come from there.
    pub fn note(&mut self, network: Network, now: Timestamp) -> bool {
        let recorded = self.0.iter().position(|(known, _)| *known == network);
        if network.is_loopback() || recorded.is_some_and(|at| now < self.0[at].1 + Self::RESOLUTION)
        {
            return false;
        }
        if let Some(at) = recorded {
            self.0.remove(at);
        }
        self.0.insert(0, (network, now));
        self.0.truncate(Self::MAX);
        true
    }

    /// Whether the user has signed in from this network.
    pub fn contains(&self, network: Network) -> bool {
        self.0.iter().any(|(known, _)| *known == network)
    }

    /// The networks with the time of the latest recorded sign-in, the latest first.
    pub fn iter(&self) -> impl Iterator<Item = (Network, Timestamp)> {
        self.0.iter().copied()
    }

    /// The text to store: `address=milliseconds`, separated by spaces.
    pub fn to_text(&self) -> String {
        let words = self.0.iter().map(|(network, at)| format!("{network}={}", at.millis()));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Reads the text from the store and skips what it cannot read.
    pub fn from_store(text: &str) -> Self {
        let parse = |word: &str| {
            let (address, millis) = word.split_once('=')?;
            let at = Timestamp::from_millis(millis.parse().ok()?);
            Some((Network::at(address.parse().ok()?), at))
        };
        Self(text.split(' ').filter_map(parse).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn network(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn the_ten_latest_networks_are_kept() {
        let mut known = KnownNetworks::default();
        for number in 0..12 {
            let at = START + Duration::from_secs(number);
            assert!(known.note(network(&format!("192.0.2.{number}")), at));
        }
        assert_eq!(known.iter().count(), KnownNetworks::MAX);
        assert!(!known.contains(network("192.0.2.1")));
        assert!(known.contains(network("192.0.2.2")));
        assert_eq!(KnownNetworks::from_store(&known.to_text()), known);
    }

    #[test]
    fn a_network_is_written_once_a_day_and_kept_for_as_long_as_it_is_used() {
        let mut known = KnownNetworks::default();
        let (home, day) = (network("2001:db8::1"), KnownNetworks::RESOLUTION);
        assert!(known.note(home, START));
        assert!(!known.note(network("2001:db8::2"), START + day / 2), "the same /64");
        for number in 1..=KnownNetworks::MAX {
            known.note(network(&format!("192.0.2.{number}")), START + day);
            assert_eq!(known.note(home, START + day), number == 1);
        }
        assert!(known.contains(home));
        assert_eq!(KnownNetworks::from_store(&known.to_text()), known);
    }

    #[test]
    fn loopback_is_never_recorded() {
        assert!(!KnownNetworks::default().note(network("::1"), START));
    }

    #[test]
    fn unreadable_entries_of_the_stored_text_are_skipped() {
        assert_eq!(KnownNetworks::from_store("invalid 192.0.2.1 x=1 192.0.2.1=x").to_text(), "");
        assert_eq!(KnownNetworks::from_store("").to_text(), "");
    }
}
