//! The guarded apps of a configuration: where each listens, its hosts and its headers.

use std::net::{IpAddr, Ipv6Addr};

use anyhow::bail;

use super::{hosts::Entry, identity::HeaderLists};
use crate::access::guard::{AppOrigin, Guard};

/// An app behind a guard.
pub(super) struct App<'a> {
    /// The name of the guard.
    pub(super) guard: &'a str,
    /// Unless the guard is one that every service has.
    pub(super) declared: Option<&'a Guard>,
    pub(super) address: AppAddress,
    pub(super) headers: HeaderLists,
    /// The hosts that tell the apps of one proxy apart; none if there is only one, without TLS.
    pub(super) hosts: Vec<String>,
    /// What follows the names of its parts in the file: nothing if there is only one app.
    pub(super) suffix: String,
}

impl<'a> App<'a> {
    pub(super) fn origins(&self) -> &'a [AppOrigin] {
        self.declared.map_or(&[], |guard| &guard.origins)
    }

    /// Its hosts, with spaces between them.
    pub(super) fn host_names(&self) -> String {
        self.hosts.join(" ")
    }

    /// What Traefik recognises its requests by.
    pub(super) fn rule(&self) -> String {
        match &self.hosts[..] {
            [] => "PathPrefix(`/`)".to_owned(),
            hosts => {
                hosts.iter().map(|host| format!("Host(`{host}`)")).collect::<Vec<_>>().join(" || ")
            }
        }
    }

    /// The names of its site in a Caddyfile.
    pub(super) fn sites(&self, entry: &Entry) -> String {
        match &self.hosts[..] {
            [] => entry.site(""),
            hosts => hosts.iter().map(|host| entry.site(host)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Where an app listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppAddress {
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl AppAddress {
    const FIRST_PORT: u16 = 8080;

    /// The address of the app with this number, if nothing is said about it.
    pub(super) fn default_of(number: usize) -> Self {
        let port =
            u16::try_from(number).map_or(Self::FIRST_PORT, |number| Self::FIRST_PORT + number);
        Self { host: "127.0.0.1".into(), port }
    }

    /// Reads `http://HOST:PORT` or `HOST:PORT`.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let form = "write http://HOST:PORT, such as http://127.0.0.1:8081";
        if text.starts_with("https://") {
            bail!("--app {text}: the files speak plain HTTP to the app: {form}");
        }
        let authority = text.strip_prefix("http://").unwrap_or(text);
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let parsed = authority.rsplit_once(':').and_then(|(host, port)| {
            let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let is_name = |host: &str| {
                let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
                !host.is_empty() && host.bytes().all(allowed)
            };
            let host = match v6 {
                Some(v6) => v6.parse::<Ipv6Addr>().ok()?.to_string(),
                None => is_name(host).then(|| host.to_owned())?,
            };
            Some(Self { host, port: port.parse().ok().filter(|port| *port > 0)? })
        });
        match parsed {
            Some(address) => Ok(address),
            None => bail!("--app {text}: not the address of an app: {form}"),
        }
    }

    /// The host as a value in YAML.
    pub(super) fn host_in_yaml(&self) -> String {
        match self.host.contains(':') {
            true => format!("\"{}\"", self.host),
            false => self.host.clone(),
        }
    }

    pub(super) fn is_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }
}

/// The host, in brackets if necessary, and the port.
impl std::fmt::Display for AppAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The addresses of the apps behind these guards. Each value is `URL`, or `GUARD=URL` if there are several guards.
pub(super) fn addresses(guards: &[String], typed: &[String]) -> anyhow::Result<Vec<AppAddress>> {
    let mut addresses: Vec<Option<AppAddress>> = vec![None; guards.len()];
    for text in typed {
        let (at, url) = match text.split_once('=') {
            Some((guard, url)) => match guards.iter().position(|known| known == guard) {
                Some(at) => (at, url),
                None => bail!("--app {text}: {guard} is not one of the named guards"),
            },
            None if guards.len() == 1 => (0, text.as_str()),
            None => bail!(
                "--app {text}: of which guard? Write --app {}={text} for each guard",
                guards[0]
            ),
        };
        if addresses[at].replace(AppAddress::parse(url)?).is_some() {
            bail!("--app {text}: {} has two addresses", guards[at]);
        }
    }
    let with_default = |(number, address): (usize, Option<AppAddress>)| {
        address.unwrap_or_else(|| AppAddress::default_of(number))
    };
    Ok(addresses.into_iter().enumerate().map(with_default).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(guards: &[&str], typed: &[&str]) -> Result<Vec<String>, String> {
        let owned =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let addresses = addresses(&owned(guards), &owned(typed));
        let addresses = addresses.map_err(|error| error.to_string())?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_app_has_an_address_for_its_guard() {
        assert_eq!(read(&["a"], &[]).unwrap(), ["127.0.0.1:8080"]);
        assert_eq!(read(&["a", "b"], &[]).unwrap(), ["127.0.0.1:8080", "127.0.0.1:8081"]);
        assert_eq!(read(&["a"], &["http://notes:80/"]).unwrap(), ["notes:80"]);
        assert_eq!(read(&["a"], &["[::1]:9000"]).unwrap(), ["[::1]:9000"]);
        let both = read(&["a", "b"], &["b=http://10.0.0.7:81", "a=localhost:82"]).unwrap();
        assert_eq!(both, ["localhost:82", "10.0.0.7:81"]);
        for (typed, part) in [
            (&["http://x:80"][..], "of which guard? Write --app a=http://x:80"),
            (&["c=http://x:80"], "c is not one of the named guards"),
            (&["a=x:80", "a=y:80"], "a has two addresses"),
            (&["a=https://x:443"], "plain HTTP"),
            (&["a=http://x:80/path"], "not the address of an app"),
            (&["a=http://x"], "not the address of an app"),
            (&["a=http://x y:80"], "not the address of an app"),
            (&["a=x;:80"], "not the address of an app"),
            (&["a=x:0"], "not the address of an app"),
        ] {
            let error = read(&["a", "b"], typed).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
