//! Warnings about proxies behind which users cannot be distinguished.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The connection that a request came in on.
#[derive(Clone, Copy, Debug)]
pub struct RequestSource {
    /// The address of the peer: a user or a proxy.
    pub peer: IpAddr,
    /// Whether the peer is in `trusted_proxies`.
    pub is_trusted_proxy: bool,
    /// Whether the request has a forwarded address.
    pub has_forwarded_address: bool,
}

/// Warns the operator about each problem at most once an hour.
#[derive(Default)]
pub struct ProxyWarnings {
    missing_address: Mutex<Option<Instant>>,
    untrusted_proxy: Mutex<Option<Instant>>,
}

impl ProxyWarnings {
    const INTERVAL: Duration = Duration::from_secs(60 * 60);

    /// Logs a warning if the proxy of a request is misconfigured.
    pub fn check(&self, source: RequestSource, has_public_url: bool, now: Instant) {
        let RequestSource { peer, is_trusted_proxy, has_forwarded_address } = source;
        if peer.is_loopback()
            && has_public_url
            && !has_forwarded_address
            && is_due(&self.missing_address, now)
        {
            tracing::warn!(
                "requests from loopback carry no forwarded address although public_url is set, so all users share the limits \
                 of one network: configure the proxy to send X-Forwarded-For"
            );
        }
        if has_forwarded_address && !is_trusted_proxy && is_due(&self.untrusted_proxy, now) {
            tracing::warn!(
                %peer,
                "ignored a forwarded address from a peer outside trusted_proxies: if the peer is your proxy, add it to \
                 trusted_proxies"
            );
        }
    }
}

fn is_due(last: &Mutex<Option<Instant>>, now: Instant) -> bool {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let is_due =
        last.is_none_or(|last| now.saturating_duration_since(last) >= ProxyWarnings::INTERVAL);
    if is_due {
        *last = Some(now);
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_due_once_an_hour() {
        let (last, start) = (Mutex::default(), Instant::now());
        let minutes = 0..150;
        let due = minutes.filter(|minute| is_due(&last, start + Duration::from_secs(60) * *minute));
        assert_eq!(due.collect::<Vec<_>>(), [0, 60, 120]);
    }
}
