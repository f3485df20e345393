//! Which addresses are not those of a server on the internet: this machine, private networks, the metadata of cloud machines,
//! and whatever else the registries of special-purpose addresses list (RFC 6890 and its updates).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where packets to this address go: to the IPv4 address in it, if it is IPv4-mapped (RFC 4291) or of NAT64 (RFC 6052), by
/// which machines without IPv4 reach servers without IPv6. The NAT64 prefix that a network has chosen for itself is not known here.
pub(super) fn destination(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into()
        }
        _ => address,
    }
}

/// Whether an address is not public, and what is registered for a purpose of its own counts as such, even if the internet
/// routes it. `address` is a [`destination`].
pub(super) fn is_special_use(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_special_use_v4(address),
        IpAddr::V6(address) => is_special_use_v6(address),
    }
}

fn is_special_use_v4(address: Ipv4Addr) -> bool {
    matches!(
        address.octets(),
        [0 | 10 | 127, ..]        // this network, private, loopback
        | [100, 64..=127, ..]     // shared by the customers of a carrier (RFC 6598)
        | [169, 254, ..]          // link-local, metadata of cloud machines
        | [172, 16..=31, ..]      // private
        | [192, 0, 0 | 2, _]      // IETF protocols, documentation
        | [192, 31, 196, _]       // AS112
        | [192, 52, 193, _]       // AMT
        | [192, 88, 99, _]        // relays of 6to4
        | [192, 168, ..]          // private
        | [192, 175, 48, _]       // AS112
        | [198, 18..=19, ..]      // benchmarks
        | [198, 51, 100, _]       // documentation
        | [203, 0, 113, _]        // documentation
        | [224..=255, ..] // multicast, reserved, broadcast
    )
}

/// Only 2000::/3 is assigned to the internet. So loopback, IPv4-compatible, NAT64 of a local network (64:ff9b:1::/48), unique-local,
/// link-local, site-local and multicast addresses need no line.
fn is_special_use_v6(address: Ipv6Addr) -> bool {
    matches!(
        address.segments(),
        [..=0x1fff | 0x4000.., ..]
        | [0x2001, ..=0x1ff, ..]      // IETF protocols: Teredo, ORCHID, benchmarks
        | [0x2001, 0xdb8, ..]         // documentation
        | [0x2002, ..]                // 6to4
        | [0x2620, 0x4f, 0x8000, ..]  // AS112
        | [0x3fff, ..=0xfff, ..] // documentation (RFC 9637)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_public(address: &str) -> bool {
        !is_special_use(destination(address.parse().unwrap()))
    }

    #[test]
    fn addresses_of_special_use_are_known_from_the_first_to_the_last() {
        for network in [
            ["0.0.0.0", "0.255.255.255"],
            ["10.0.0.0", "10.255.255.255"],
            ["100.64.0.0", "100.127.255.255"],
            ["127.0.0.0", "127.255.255.255"],
            ["169.254.0.0", "169.254.255.255"],
            ["169.254.169.254", "169.254.170.2"],
            ["172.16.0.0", "172.31.255.255"],
            ["192.0.0.0", "192.0.0.255"],
            ["192.0.2.0", "192.0.2.255"],
            ["192.31.196.0", "192.31.196.255"],
            ["192.52.193.0", "192.52.193.255"],
            ["192.88.99.0", "192.88.99.255"],
            ["192.168.0.0", "192.168.255.255"],
            ["192.175.48.0", "192.175.48.255"],
            ["198.18.0.0", "198.19.255.255"],
            ["198.51.100.0", "198.51.100.255"],
            ["203.0.113.0", "203.0.113.255"],
            ["224.0.0.0", "239.255.255.255"],
            ["240.0.0.0", "255.255.255.255"],
            // Unspecified, loopback, IPv4-compatible, IPv4-translated.
            ["::", "::1"],
            ["::7f00:1", "::808:808"],
            ["::ffff:0:0:0", "::ffff:0:808:808"],
            // NAT64 of a local network, discard, dummy.
            ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
            ["100::", "100::1:0:0:0"],
            ["1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b:0:1::808:808"],
            ["2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
            ["2001:10::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["2002:808:808::1", "2002:7f00:1::1"],
            ["2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"],
            ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["4000::", "5f00::1"],
            ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["fd00:ec2::254", "fd20:ce::254"],
            ["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
            ["ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
        ] {
            for address in network {
                assert!(!is_public(address), "{address}");
            }
        }
    }

    #[test]
    fn their_neighbours_are_public() {
        for address in [
            "1.0.0.0",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.31.195.255",
            "192.31.197.0",
            "192.52.192.255",
            "192.52.194.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "192.175.47.255",
            "192.175.49.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2001:4860:4860::8888",
            "2003::",
            "2606:50c0:8000::153",
            "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8001::",
            "2a00:1450:4001:81b::200e",
            "3fff:1000::",
            "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(is_public(address), "{address}");
        }
    }

    #[test]
    fn an_ipv4_address_counts_in_ipv6_as_well() {
        for (ipv4, is_expected) in [
            ("8.8.8.8", true),
            ("203.0.114.0", true),
            ("0.0.0.0", false),
            ("10.0.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("255.255.255.255", false),
        ] {
            for prefix in ["::ffff:", "64:ff9b::"] {
                let address = format!("{prefix}{ipv4}");
                assert_eq!(destination(address.parse().unwrap()).to_string(), ipv4);
                assert_eq!(is_public(&address), is_expected, "{address}");
            }
        }
    }
}
