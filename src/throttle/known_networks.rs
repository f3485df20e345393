//! Networks from which a user has signed in: whoever attacks an account from elsewhere does not lock these out.

use std::time::Duration;

use crate::{clock::Timestamp, network::Network};

/// The networks from which a user has signed in lately, each with the time, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNetworks(Vec<(Network, Timestamp)>);

impl KnownNetworks {
    /// Networks kept at most: beyond it the one that was not used for the longest time is dropped.
    pub const MAX: usize = 10;
    /// A sign-in from a network that was noted within this time is not noted again.
    pub const COARSENESS: Duration = Duration::from_secs(24 * 60 * 60);

    /// Notes a sign-in; false if there is nothing new to write. Loopback is no network of a user: behind a proxy that
    /// tells no address, everybody comes from there.
    pub fn note(&mut self, network: Network, now: Timestamp) -> bool {
        let noted = self.0.iter().position(|(known, _)| *known == network);
        if network.is_loopback() || noted.is_some_and(|at| now < self.0[at].1 + Self::COARSENESS) {
            return false;
        }
        if let Some(at) = noted {
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

    /// The networks with the time of the latest sign-in that was noted, the latest first.
    pub fn iter(&self) -> impl Iterator<Item = (Network, Timestamp)> {
        self.0.iter().copied()
    }

    /// As the store keeps them: `address=milliseconds`, separated by spaces.
    pub fn to_text(&self) -> String {
        let words = self.0.iter().map(|(network, at)| format!("{network}={}", at.millis()));
        words.collect::<Vec<_>>().join(" ")
    }

    /// As the store has kept them; what cannot be read is left out.
    pub fn from_store(text: &str) -> Self {
        let network = |word: &str| {
            let (address, millis) = word.split_once('=')?;
            let at = Timestamp::from_millis(millis.parse().ok()?);
            Some((Network::at(address.parse().ok()?), at))
        };
        Self(text.split(' ').filter_map(network).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn client(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn the_ten_latest_networks_are_kept() {
        let mut known = KnownNetworks::default();
        for number in 0..12 {
            let at = START + Duration::from_secs(number);
            assert!(known.note(client(&format!("192.0.2.{number}")), at));
        }
        assert_eq!(known.iter().count(), KnownNetworks::MAX);
        assert!(!known.contains(client("192.0.2.1")));
        assert!(known.contains(client("192.0.2.2")));
        assert_eq!(KnownNetworks::from_store(&known.to_text()), known);
    }

    #[test]
    fn a_network_is_written_once_a_day_and_kept_for_as_long_as_it_is_used() {
        let mut known = KnownNetworks::default();
        let (home, day) = (client("2001:db8::1"), KnownNetworks::COARSENESS);
        assert!(known.note(home, START));
        assert!(!known.note(client("2001:db8::2"), START + day / 2), "the same /64");
        for number in 1..=KnownNetworks::MAX {
            known.note(client(&format!("192.0.2.{number}")), START + day);
            assert_eq!(known.note(home, START + day), number == 1);
        }
        assert!(known.contains(home));
        assert_eq!(KnownNetworks::from_store(&known.to_text()), known);
    }

    #[test]
    fn loopback_is_no_network_of_a_user() {
        assert!(!KnownNetworks::default().note(client("::1"), START));
        assert_eq!(KnownNetworks::from_store("nonsense 192.0.2.1 x=1 192.0.2.1=x").to_text(), "");
        assert_eq!(KnownNetworks::from_store("").to_text(), "");
    }
}
