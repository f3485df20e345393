//! Networks: the unit by which limits and the hashing queue count requests.

mod probes;
mod proxy_warnings;
mod requester;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

pub use self::{
    probes::{Arrival, PROBE_HEADER, Probes},
    proxy_warnings::{ProxyWarnings, RequestSource},
    requester::{ClientInfo, Requester},
};

/// The smallest unit that limits apply to: an IPv4 address, or an IPv6 /64, from which one host can choose any address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// This machine.
    pub const LOOPBACK: Self = Self(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// The network of an address.
    pub fn at(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            local if local.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
            v4 => v4,
        })
    }

    /// The IPv6 /48 that contains this network, the largest that one subscriber gets. An IPv4 address is returned as it is.
    pub fn subscriber(self) -> Self {
        self.supernet(48)
    }

    /// The wider IPv6 network that contains this one. An IPv4 address has none and is returned as it is.
    fn supernet(self, prefix_length: u32) -> Self {
        match self.0 {
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - prefix_length).unwrap_or(0);
                Self(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask)))
            }
            IpAddr::V4(_) => self,
        }
    }

    /// This network and those that contain it, each with the factor by which its budgets are larger: the /64, /56 and /48
    /// of IPv6, or the IPv4 address alone.
    pub fn enclosing(self) -> Vec<(Prefix, u32)> {
        let lengths: &[u32] = match self.0 {
            IpAddr::V6(_) => &[64, 56, 48],
            IpAddr::V4(_) => &[32],
        };
        let prefixes = lengths.iter().map(|length| {
            let prefix = Prefix { network: self.supernet(*length), length: *length };
            (prefix, prefix.budget_factor())
        });
        prefixes.collect()
    }

    /// Whether it is this machine: the operator, a test, or a local proxy on behalf of all users.
    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

/// A network with its prefix length, such as a /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: Network,
    length: u32,
}

impl Prefix {
    /// The factor by which its budgets are larger than those of the smallest network.
    pub fn budget_factor(self) -> u32 {
        match self.length {
            48 => 4,
            56 => 2,
            _ => 1,
        }
    }
}

/// An IPv4 address, or an IPv6 network with its length.
impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.network.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(address) => write!(f, "{address}/{}", self.length),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_one_ipv6_64_are_one_network() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }

    #[test]
    fn networks_of_one_subscriber_share_a_wider_one() {
        let (one, other) = (network("2001:db8:0:1::1"), network("2001:db8:0:100::1"));
        assert_ne!(one.supernet(56), other.supernet(56));
        assert_eq!(one.subscriber(), other.subscriber());
        assert_ne!(one.subscriber(), network("2001:db8:1::1").subscriber());
        assert_eq!(one.supernet(56), network("2001:db8:0:ff::1").supernet(56));
        assert_eq!(network("192.0.2.1").subscriber(), network("192.0.2.1"));
    }

    #[test]
    fn a_network_differs_from_a_wider_one_with_the_same_address() {
        let networks = network("2001:db8::1").enclosing();
        assert_eq!(networks.len(), 3);
        assert_ne!(networks[0].0, networks[2].0);
        assert_eq!(network("192.0.2.1").enclosing().len(), 1);
    }

    #[test]
    fn loopback_is_recognized_in_every_notation() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(network(address).is_loopback(), "{address}");
        }
        for address in ["192.0.2.1", "2001:db8::1", "0.0.0.0", "::"] {
            assert!(!network(address).is_loopback(), "{address}");
        }
    }
}
