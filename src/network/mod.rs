//! Whose request it is, as far as fairness goes: the network that it comes from.

mod proxy_warnings;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

pub use self::proxy_warnings::{ProxyWarnings, RequestSource};

/// The network of one caller: an IPv4 address, or the /64 that an IPv6 caller can choose addresses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// This machine itself.
    pub const LOOPBACK: Self = Self(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// The client behind an address.
    pub fn at(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            local if local.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
            v4 => v4,
        })
    }

    /// The wider network that an IPv6 client lies in, such as the /56 or /48 of one subscriber; an IPv4 client is its own.
    pub fn supernet(self, prefix_length: u32) -> Self {
        match self.0 {
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - prefix_length).unwrap_or(0);
                Self(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask)))
            }
            IpAddr::V4(_) => self,
        }
    }

    /// The networks that this one lies in, itself first, each with how much larger its budgets are than those of one
    /// client: the /64, /56 and /48 of IPv6; an IPv4 address lies in no other.
    pub fn networks(self) -> Vec<(Prefix, u32)> {
        let prefix = |length| Prefix { network: self.supernet(length), length };
        match self.0 {
            IpAddr::V6(_) => vec![(prefix(64), 1), (prefix(56), 2), (prefix(48), 4)],
            IpAddr::V4(_) => vec![(prefix(32), 1)],
        }
    }

    /// This machine itself: the operator, a test, or a local proxy that stands for everybody.
    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

/// A network of a certain width, such as a /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: Network,
    length: u32,
}

/// Who made a request, as far as limits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The network that the request comes from.
    pub network: Network,
    /// Made on this machine, not passed on by a proxy, to a service without a public URL: development. Limits per
    /// network do not apply, so that tests and tools can work at full speed.
    pub exempt_from_network_limits: bool,
}

impl Requester {
    /// The network whose budgets the request counts against; none in local development.
    pub fn limited_network(self) -> Option<Network> {
        (!self.exempt_from_network_limits).then_some(self.network)
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

    fn client(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:2"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
    }

    #[test]
    fn networks_of_one_subscriber_share_a_wider_one() {
        let (one, other) = (client("2001:db8:0:1::1"), client("2001:db8:0:100::1"));
        assert_ne!(one.supernet(56), other.supernet(56));
        assert_eq!(one.supernet(48), other.supernet(48));
        assert_eq!(one.supernet(56), client("2001:db8:0:ff::1").supernet(56));
        assert_eq!(client("192.0.2.1").supernet(48), client("192.0.2.1"));
    }

    #[test]
    fn a_network_is_not_mistaken_for_a_wider_one_with_the_same_address() {
        let networks = client("2001:db8::1").networks();
        assert_eq!(networks.len(), 3);
        assert_ne!(networks[0].0, networks[2].0);
        assert_eq!(client("192.0.2.1").networks().len(), 1);
    }

    #[test]
    fn loopback_is_local_in_every_spelling() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(client(address).is_loopback(), "{address}");
        }
        for address in ["192.0.2.1", "2001:db8::1", "0.0.0.0", "::"] {
            assert!(!client(address).is_loopback(), "{address}");
        }
    }
}
