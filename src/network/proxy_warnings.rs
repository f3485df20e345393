//! Warnings about proxies behind which clients cannot be told apart.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Who sent a request, a client or a proxy.
#[derive(Clone, Copy, Debug)]
pub struct RequestSource {
    /// The address of the connection.
    pub peer: IpAddr,
    /// Whether it is a proxy that is believed.
    pub is_trusted_proxy: bool,
    /// Whether the request tells the address of a client.
    pub has_forwarded_address: bool,
}

/// Warns the operator, of each problem at most once an hour.
#[derive(Default)]
pub struct ProxyWarnings {
    hidden_clients: Mutex<Option<Instant>>,
    untrusted_proxy: Mutex<Option<Instant>>,
}

impl ProxyWarnings {
    const EVERY: Duration = Duration::from_secs(60 * 60);

    /// Logs what is wrong with the proxy that a request comes through, if anything is.
    pub fn check(&self, source: RequestSource, has_public_url: bool, now: Instant) {
        let RequestSource { peer, is_trusted_proxy, has_forwarded_address } = source;
        if peer.is_loopback()
            && has_public_url
            && !has_forwarded_address
            && is_due(&self.hidden_clients, now)
        {
            tracing::warn!(
                "requests from loopback carry no forwarded address although public_url is set: they share the limits of \
                 one client; have the proxy send X-Forwarded-For"
            );
        }
        if has_forwarded_address && !is_trusted_proxy && is_due(&self.untrusted_proxy, now) {
            tracing::warn!(
                %peer,
                "a peer outside trusted_proxies sends a forwarded address, which is ignored: if it is your proxy, add it \
                 to trusted_proxies"
            );
        }
    }
}

fn is_due(last: &Mutex<Option<Instant>>, now: Instant) -> bool {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let is_due =
        last.is_none_or(|last| now.saturating_duration_since(last) >= ProxyWarnings::EVERY);
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
