//! Requests that `doorward doctor` sends to the public URL, and how they arrived: whether a proxy passes them to this process
//! with the address of the client.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header that marks such a request.
pub const PROBE_HEADER: &str = "x-doorward-probe";

/// How a request arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arrival {
    /// The other end of the connection: the client, or the last proxy.
    pub peer: Option<SocketAddr>,
    /// Whether the peer is in `trusted_proxies`.
    pub is_trusted: bool,
    /// The address that limits and guards count as the client.
    pub client: IpAddr,
    /// `X-Forwarded-For`.
    pub forwarded_for: Option<String>,
    /// `X-Forwarded-Proto`.
    pub forwarded_proto: Option<String>,
}

/// The requests that are expected. Nobody else can add one, because only a command announces them.
#[derive(Default)]
pub struct Probes {
    expected: Mutex<VecDeque<(String, Option<Arrival>)>>,
}

impl Probes {
    const MAX: usize = 16;

    /// Records the arrival of the request with this value of [`PROBE_HEADER`]. Forgets the oldest ones.
    pub fn expect(&self, nonce: String) {
        let mut expected = self.expected();
        expected.push_back((nonce, None));
        while expected.len() > Self::MAX {
            expected.pop_front();
        }
    }

    /// Records how a request arrived, if it is expected.
    pub fn record(&self, nonce: &str, arrival: impl FnOnce() -> Arrival) {
        if let Some((_, seen)) = self.expected().iter_mut().find(|(expected, _)| expected == nonce)
        {
            *seen = Some(arrival());
        }
    }

    /// How this request arrived, if it did.
    pub fn arrival(&self, nonce: &str) -> Option<Arrival> {
        let expected = self.expected();
        expected.iter().find(|(expected, _)| expected == nonce).and_then(|(_, seen)| seen.clone())
    }

    fn expected(&self) -> MutexGuard<'_, VecDeque<(String, Option<Arrival>)>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival() -> Arrival {
        Arrival {
            peer: None,
            is_trusted: false,
            client: [192, 0, 2, 1].into(),
            forwarded_for: None,
            forwarded_proto: None,
        }
    }

    #[test]
    fn only_an_announced_request_is_recorded_and_only_the_latest_are_kept() {
        let probes = Probes::default();
        probes.record("forged", || panic!("nobody has announced it"));
        for number in 0..=Probes::MAX {
            probes.expect(number.to_string());
        }
        probes.record("0", || panic!("it is forgotten"));
        assert_eq!(probes.arrival("1"), None);
        probes.record("1", arrival);
        assert_eq!(probes.arrival("1"), Some(arrival()));
    }
}
