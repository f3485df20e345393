//! `trusted_proxies`, and the `identity_headers` that they receive for an admitted user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{
    key::Key,
    value::{List, NONE, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "trusted_proxies",
        purpose: "Networks of proxies whose X-Forwarded-… headers are trusted",
        value: &List {
            field: field!(trusted_proxies),
            parse: |text| {
                text.parse().ok().or_else(|| text.parse::<IpAddr>().map(IpNet::from).ok())
            },
            collect: Some,
            show: |networks| networks.iter().map(ToString::to_string).collect(),
            allowed: || {
                format!(
                    "a list of networks or addresses, such as 127.0.0.0/8 and ::1/128, or {NONE}"
                )
            },
            choices: &[],
            reason: |_| None,
            secret: false,
        },
    },
    Key {
        name: "identity_headers",
        purpose: "Sets of identity headers that an admission has besides X-Auth-…",
        value: &List {
            field: field!(identity_headers),
            parse: IdentityHeaders::by_name,
            collect: Some,
            show: |sets| sets.iter().map(|set| set.name().to_owned()).collect(),
            allowed: || format!("{}, a list of both, or {NONE}", IdentityHeaders::NAMES.join(", ")),
            choices: &IdentityHeaders::NAMES,
            reason: |_| None,
            secret: false,
        },
    },
];

/// The networks of this machine.
pub(super) fn loopback() -> [IpNet; 2] {
    let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
    let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
    [v4.into(), v6.into()]
}

/// A set of identity headers that other programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityHeaders {
    /// `Remote-User`, `-Name`, `-Email`, `-Groups`, as Authelia sends them.
    Remote,
    /// `X-Auth-Request-User`, `-Preferred-Username`, `-Email`, `-Groups`, as oauth2-proxy sends them.
    XAuthRequest,
}

impl IdentityHeaders {
    const ALL: [Self; 2] = [Self::Remote, Self::XAuthRequest];
    const NAMES: [&str; 2] = [Self::ALL[0].name(), Self::ALL[1].name()];

    const fn name(self) -> &'static str {
        match self {
            Self::Remote => "remote",
            Self::XAuthRequest => "x-auth-request",
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }
}
