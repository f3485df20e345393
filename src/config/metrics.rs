//! `[metrics]`: the second listener.

use std::net::{Ipv4Addr, SocketAddr};

use super::{
    key::Key,
    server::listen_address,
    value::{Custom, field},
};

/// Where metrics are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MetricsListen {
    /// At [`Self::DEFAULT`], if its port is free.
    #[default]
    Auto,
    Off,
    /// At this address, or the service does not start.
    At(SocketAddr),
}

impl MetricsListen {
    /// The address unless one is set.
    pub(crate) const DEFAULT: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);
}

const AUTO: &str = "auto";
const OFF: &str = "off";

pub(super) const KEYS: &[Key] = &[Key {
    name: "metrics.listen",
    purpose: "Address and port for metrics and health; auto is 127.0.0.1:9464 if that port is free",
    value: &Custom {
        field: field!(metrics_listen),
        parse: |text| match text {
            AUTO => Some(MetricsListen::Auto),
            OFF => Some(MetricsListen::Off),
            address => listen_address(address).map(MetricsListen::At),
        },
        show: |listen| match listen {
            MetricsListen::Auto => AUTO.into(),
            MetricsListen::Off => OFF.into(),
            MetricsListen::At(address) => address.to_string(),
        },
        allowed: || format!("{AUTO}, {OFF}, or an address and a port, such as 127.0.0.1:9464"),
        secret: false,
    },
}];
