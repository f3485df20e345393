//! `listen` and `public_url`.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
};

use super::{
    key::Key,
    value::{Custom, field},
};

/// The public URL is derived from the listen address.
const AUTO: &str = "auto";

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "listen",
        purpose: "Address and port to listen on",
        value: &Custom {
            field: field!(listen),
            parse: listen_address,
            show: ToString::to_string,
            allowed: || "an address and a port, such as 127.0.0.1:3000 or [::]:3000".into(),
            secret: false,
        },
    },
    Key {
        name: "public_url",
        purpose: "URL at which others reach the service; auto is the address it listens on, or localhost",
        value: &Custom {
            field: field!(public_url),
            parse: |text| match text {
                AUTO => Some(None),
                url => PublicUrl::parse(url).map(Some),
            },
            show: |url| url.as_ref().map_or_else(|| AUTO.into(), PublicUrl::to_string),
            allowed: || {
                format!(
                    "{AUTO}, or http:// or https:// and a host, such as https://auth.example.com"
                )
            },
            secret: false,
        },
    },
];

/// An address and a port. `localhost` is 127.0.0.1; no other name is resolved, because every command reads the settings.
pub(super) fn listen_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?))),
        None => text.parse().ok(),
    }
}

/// How others reach the service: `http://` or `https://`, a host, and optionally a path. Has no slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    const MAX_BYTES: usize = 200;

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        let plain = rest.chars().all(|c| c.is_ascii_graphic() && !r#"?#@"\<>"#.contains(c));
        let has_host = !rest.is_empty() && !rest.starts_with('/');
        let valid = plain && has_host && text.len() <= Self::MAX_BYTES;
        valid.then(|| Self(text.trim_end_matches('/').to_owned()))
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
