//! The address that a request comes from, behind the trusted proxies.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Instant,
};

use axum::{
    extract::{ConnectInfo, FromRef, FromRequestParts},
    http::{
        Extensions, HeaderMap, HeaderName,
        header::{ACCEPT_LANGUAGE, USER_AGENT},
        request::Parts,
    },
};
use ipnet::IpNet;

use crate::{
    Doorward,
    language::Language,
    network::{ClientInfo, RequestSource, Requester},
};

// Text as a name would be parsed at each look-up.
static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Who sends a request.
pub(super) fn requester(parts: &Parts, doorward: &Doorward) -> Requester {
    let (headers, settings) = (&parts.headers, doorward.settings());
    let (peer, is_public) = (peer(&parts.extensions), settings.public_url.is_some());
    let source = RequestSource {
        peer: peer.to_canonical(),
        is_trusted_proxy: is_trusted(peer, &settings.trusted_proxies),
        has_forwarded_address: headers.contains_key(&X_FORWARDED_FOR),
    };
    doorward.proxy_warnings().check(source, is_public, Instant::now());
    let requester = Requester::new(client_info(parts, doorward));
    let exempt_from_network_limits =
        requester.network().is_loopback() && !is_public && !is_forwarded(headers);
    Requester {
        exempt_from_network_limits,
        language: accept_language(headers),
        request_id: parts.extensions.get().copied(),
        ..requester
    }
}

/// The client of a request.
pub(super) fn client_info(parts: &Parts, doorward: &Doorward) -> ClientInfo {
    client_at(&parts.headers, peer(&parts.extensions), doorward)
}

/// The client of a request with these headers, which this peer has sent.
pub(super) fn client_at(headers: &HeaderMap, peer: IpAddr, doorward: &Doorward) -> ClientInfo {
    let address = counted_address(headers, peer, doorward);
    let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    ClientInfo::new(address, user_agent.unwrap_or_default())
}

/// The address that limits and the log count as the client: that of the peer if its headers cannot be read.
pub(super) fn counted_address(headers: &HeaderMap, peer: IpAddr, doorward: &Doorward) -> IpAddr {
    let address = client_address(headers, peer, &doorward.settings().trusted_proxies);
    address.unwrap_or(peer).to_canonical()
}

/// The language that a request prefers.
pub(super) fn accept_language(headers: &HeaderMap) -> Language {
    let value = headers.get(ACCEPT_LANGUAGE);
    Language::negotiate(value.and_then(|value| value.to_str().ok()))
}

/// Whether a proxy has forwarded the request.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().map(|name| name.as_str()).any(|name| {
        name.starts_with("x-forwarded-") || ["forwarded", "x-real-ip", "via"].contains(&name)
    })
}

impl<S: Send + Sync> FromRequestParts<S> for Requester
where
    Doorward: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(requester(parts, &Doorward::from_ref(state)))
    }
}

/// The address of the peer. If an embedding app does not provide it, this is the unspecified address, which is never
/// trusted.
pub(super) fn peer(extensions: &Extensions) -> IpAddr {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map_or(Ipv4Addr::UNSPECIFIED.into(), |info| info.0.ip())
}

pub(super) fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    let address = address.to_canonical();
    trusted.iter().any(|network| network.contains(&address))
}

/// The address of the last hop that is not a trusted proxy. Earlier hops are ignored, because that hop may have forged
/// them. `None` if that hop, or a later one, cannot be parsed.
pub(super) fn client_address(
    headers: &HeaderMap,
    peer: IpAddr,
    trusted: &[IpNet],
) -> Option<IpAddr> {
    let lines = headers.get_all(&X_FORWARDED_FOR).iter();
    let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    let mut client = peer.to_canonical();
    for hop in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !is_trusted(client, trusted) {
            break;
        }
        client = parse_hop(hop.trim())?.to_canonical();
    }
    Some(client)
}

/// An address as proxies write it, with or without a port and the brackets of IPv6.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    let with_port = || hop.parse().ok().map(|address: SocketAddr| address.ip());
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn every_header_of_a_proxy_marks_a_request_as_forwarded() {
        let with = |name: &'static str| {
            let header = (HeaderName::from_static(name), HeaderValue::from_static("x"));
            is_forwarded(&HeaderMap::from_iter([header]))
        };
        for name in ["x-forwarded-for", "x-forwarded-proto", "forwarded", "x-real-ip", "via"] {
            assert!(with(name), "{name}");
        }
        assert!(!with("host"));
        assert!(!with("x-request-id"));
    }
}
