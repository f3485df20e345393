//! Networks of `inNetwork()`, parsed when the condition is parsed.

use std::{any::Any, fmt, net::IpAddr, sync::Arc};

use cel::{
    ExecutionError,
    common::{
        types::{CelBool, CelString, Type},
        value::{StaticVal, Val},
    },
};
use ipnet::IpNet;

/// A parsed network: a CEL value for `inNetwork()` only.
#[derive(Clone)]
pub(super) struct IpNetwork {
    text: Arc<str>,
    network: IpNet,
}

impl IpNetwork {
    /// Parses a network or a single address.
    ///
    /// # Errors
    /// A message, if it is neither.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        match network {
            Ok(network) => Ok(Self { text: text.into(), network }),
            Err(_) => Err(format!(
                "inNetwork(): \"{text}\" is not a network or an address, such as 10.0.0.0/8 or ::1"
            )),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The CEL function `inNetwork`: whether the network contains the address.
pub(super) fn in_network(
    this: &CelString<'_>,
    network: &IpNetwork,
) -> Result<CelBool, ExecutionError> {
    match this.inner().parse::<IpAddr>() {
        Ok(address) => Ok(network.network.contains(&address.to_canonical()).into()),
        Err(error) => Err(ExecutionError::function_error("inNetwork", error.to_string())),
    }
}

impl fmt::Debug for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

static IP_NETWORK: Type = Type::new_unspecified_type("network");

impl Val for IpNetwork {
    fn get_type(&self) -> &Type {
        &IP_NETWORK
    }

    fn cel_type() -> &'static Type {
        &IP_NETWORK
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for IpNetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> Option<bool> {
        let network = IpNetwork::parse(network).unwrap_or_else(|error| panic!("{error}"));
        in_network(&CelString::from(address), &network).ok().map(|contains| *contains.inner())
    }

    #[test]
    fn a_network_contains_its_addresses_in_every_notation() {
        for (network, address) in [
            ("10.0.0.0/8", "10.255.0.1"),
            ("10.1.2.3/8", "10.255.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1"),
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8::/32", "2001:0db8:0::1"),
            ("::1", "::1"),
            ("0.0.0.0/0", "192.0.2.7"),
        ] {
            assert_eq!(contains(network, address), Some(true), "{address} in {network}");
        }
        for (network, address) in [
            ("10.0.0.0/8", "11.0.0.1"),
            ("10.0.0.0/8", "2001:db8::1"),
            ("192.0.2.7", "192.0.2.70"),
            ("2001:db8::/32", "2001:db9::1"),
            ("::/0", "192.0.2.7"),
        ] {
            assert_eq!(contains(network, address), Some(false), "{address} in {network}");
        }
        for not_an_address in ["", "Ada", "10.0.0", "10.0.0.0/8", "[::1]"] {
            assert_eq!(contains("10.0.0.0/8", not_an_address), None, "{not_an_address}");
        }
    }

    #[test]
    fn an_invalid_network_is_refused() {
        for text in ["", "10.0.0.0/33", "10.", "intranet"] {
            let error = IpNetwork::parse(text).map(|_| ()).unwrap_err();
            assert!(error.contains("such as 10.0.0.0/8"), "{text}: {error}");
        }
    }
}
