//! Who made a request, as far as limits go.

use std::{net::IpAddr, time::Instant};

use axum::http::{HeaderMap, request::Parts};

use super::{
    asked::{client, is_trusted},
    attend::peer,
};
use crate::{
    Doorward,
    client::{Client, Requester, SeenPeer},
};

/// The address of a request behind the proxies that are trusted, and who that is as far as limits go.
pub(super) fn requester(parts: &Parts, doorward: &Doorward) -> (IpAddr, Requester) {
    let (headers, settings) = (&parts.headers, doorward.settings());
    let (peer, trusted) = (peer(&parts.extensions), &settings.trusted_proxies);
    let is_public = settings.public_url.is_some();
    let seen = SeenPeer {
        address: peer.to_canonical(),
        is_trusted: is_trusted(peer, trusted),
        names_client: headers.contains_key("x-forwarded-for"),
    };
    doorward.proxy_warnings().look_at(seen, is_public, Instant::now());
    let address = client(headers, peer, trusted).unwrap_or(peer);
    let network = Client::at(address);
    let is_local_development = network.is_local() && !is_public && !is_forwarded(headers);
    (address, Requester { network, is_local_development })
}

/// Whether a proxy has passed the request on.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().map(|name| name.as_str()).any(|name| {
        name.starts_with("x-forwarded-") || ["forwarded", "x-real-ip", "via"].contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn every_header_of_a_proxy_tells_that_a_request_was_forwarded() {
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
