//! Where a proxy is reached: the hosts of the apps and of Doorward over HTTPS, or a port on this machine.

use anyhow::bail;

use crate::{access::guard::AppOrigin, config::PublicUrl};

const DEFAULT_PORT: u16 = 443;
/// The port of the files without TLS.
const PLAIN_PORT: u16 = 8000;

/// How a proxy is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// By plain HTTP on this port of this machine.
    Plain { port: u16 },
    /// By HTTPS. Doorward has this host, and every host has this port.
    Tls { doorward: String, port: u16 },
}

impl Entry {
    /// The entry to guards with these origins: over HTTPS if `public_url` and an origin of each guard are `https`.
    ///
    /// # Errors
    /// If the files with TLS cannot serve these hosts.
    pub(super) fn of(
        public_url: Option<&PublicUrl>,
        origins: &[&[AppOrigin]],
        is_plain: bool,
    ) -> anyhow::Result<Self> {
        let has_https = |of_guard: &&[AppOrigin]| of_guard.iter().any(AppOrigin::is_https);
        let url = public_url.filter(|url| url.is_https() && !is_plain);
        let Some(url) = url.filter(|_| !origins.is_empty() && origins.iter().all(has_https)) else {
            let mut ports = origins.iter().copied().flatten().filter(|origin| !origin.is_https());
            let first = ports.next().map(AppOrigin::port);
            let is_only = first.is_some_and(|port| ports.all(|origin| origin.port() == port));
            return Ok(Self::Plain { port: first.filter(|_| is_only).unwrap_or(PLAIN_PORT) });
        };
        let Ok(doorward) = AppOrigin::parse(&url.to_string()) else {
            bail!(
                "public_url has a path ({url}): --plain prints the files without TLS and without Doorward's pages"
            );
        };
        let port = doorward.port();
        for origin in origins.iter().copied().flatten().filter(|origin| origin.is_https()) {
            if origin.port() != port {
                bail!(
                    "{origin} and public_url ({url}) have different ports: --plain prints the files without TLS"
                );
            }
            if origin.host() == doorward.host() {
                bail!("{origin} is also the public_url: Doorward needs a host of its own");
            }
        }
        Ok(Self::Tls { doorward: doorward.host().to_owned(), port })
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls { .. })
    }

    /// The hosts of a guard with these origins.
    pub(super) fn hosts(&self, origins: &[AppOrigin]) -> Vec<String> {
        let counts = |origin: &&AppOrigin| origin.is_https() || !self.is_tls();
        let mut hosts: Vec<_> =
            origins.iter().filter(counts).map(|origin| origin.host().to_owned()).collect();
        hosts.dedup();
        hosts
    }

    /// The port on which the proxy is reached.
    pub(super) fn port(&self) -> u16 {
        match self {
            Self::Plain { port } | Self::Tls { port, .. } => *port,
        }
    }

    /// The host of Doorward. Without TLS it has none of its own.
    pub(super) fn doorward(&self) -> &str {
        match self {
            Self::Plain { .. } => "",
            Self::Tls { doorward, .. } => doorward,
        }
    }

    /// What follows a host in an `https` URL: nothing for the default port.
    pub(super) fn port_suffix(&self) -> String {
        match self.port() {
            DEFAULT_PORT => String::new(),
            port => format!(":{port}"),
        }
    }

    /// The name of a site in a Caddyfile. Without a host it is that of any host.
    pub(super) fn site(&self, host: &str) -> String {
        match self {
            Self::Plain { port } => format!("http://{host}:{port}"),
            Self::Tls { .. } => format!("{host}{}", self.port_suffix()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(public_url: &str, origins: &[&[&str]]) -> Result<Entry, String> {
        let url = PublicUrl::parse(public_url).unwrap();
        let parse = |text: &&str| AppOrigin::parse(text).unwrap();
        let origins: Vec<Vec<_>> =
            origins.iter().map(|of_guard| of_guard.iter().map(parse).collect()).collect();
        let origins: Vec<_> = origins.iter().map(Vec::as_slice).collect();
        Entry::of(Some(&url), &origins, false).map_err(|error| error.to_string())
    }

    #[test]
    fn the_tls_form_needs_https_for_everything_and_one_port() {
        let tls = |port| Ok(Entry::Tls { doorward: "door.test".into(), port });
        let plain = |port| Ok(Entry::Plain { port });
        assert_eq!(entry("https://door.test", &[&[]]), plain(8000));
        assert_eq!(entry("https://door.test", &[]), plain(8000));
        assert_eq!(entry("https://door.test", &[&["http://localhost:8123"]]), plain(8123));
        assert_eq!(entry("http://127.0.0.1:3000", &[&["https://app.test"]]), plain(8000));
        let apart: [&[&str]; 2] = [&["http://a.localhost:1"], &["http://b.localhost:2"]];
        assert_eq!(entry("http://127.0.0.1:3000", &apart), plain(8000));
        let mixed: &[&str] = &["https://app.test", "http://localhost:8000"];
        assert_eq!(entry("https://door.test", &[mixed]), tls(443));
        assert_eq!(entry("https://door.test", &[mixed, &["https://other.test"]]), tls(443));
        assert_eq!(entry("https://door.test", &[mixed, &[]]), plain(8000));
        assert_eq!(entry("https://door.test:8443", &[&["https://app.test:8443"]]), tls(8443));
        for (public_url, origins, part) in [
            ("https://door.test/auth", &["https://app.test"][..], "has a path"),
            ("https://door.test", &["https://app.test:8443"], "different ports"),
            ("https://door.test", &["https://a.test", "https://b.test:8443"], "different ports"),
            ("https://door.test", &["https://door.test"], "host of its own"),
        ] {
            let error = entry(public_url, &[origins]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
