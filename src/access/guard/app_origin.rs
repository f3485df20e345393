//! Origins of apps: where a guard signs browsers in and sends them back to.

use std::fmt;

/// The origin of an app: `https://`, a host and a port unless it is 443. Plain HTTP is allowed on loopback hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppOrigin {
    text: String,
    is_https: bool,
    host: String,
    port: u16,
    /// The length of the scheme and `://` in `text`. The host and the port, as browsers send them, follow.
    scheme_length: usize,
}

/// Why a text is not the origin of an app. Follows the text in an error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrigin {
    /// It is not a scheme and a host.
    #[error("is not https:// and a host, such as https://app.example.com")]
    Syntax,
    /// It has a path, a query or a user.
    #[error("is more than an origin: remove everything after the host and port")]
    MoreThanOrigin,
    /// It is plain HTTP on a host that is not loopback.
    #[error("is plain HTTP: cookies need https://, except on localhost")]
    PlainHttp,
}

impl AppOrigin {
    /// Reads an origin as an operator writes it.
    ///
    /// # Errors
    /// If it is not an origin, or browsers would not keep cookies safe there.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let (is_https, authority) = match text.split_once("://") {
            Some(("https", authority)) => (true, authority),
            Some(("http", authority)) => (false, authority),
            _ => return Err(InvalidOrigin::Syntax),
        };
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        if authority.contains(['/', '?', '#', '@', '\\']) {
            return Err(InvalidOrigin::MoreThanOrigin);
        }
        let default_port = if is_https { 443 } else { 80 };
        let (host, port) = split_port(authority);
        let port = match port {
            None => default_port,
            Some(port) => {
                port.parse().ok().filter(|port| *port > 0).ok_or(InvalidOrigin::Syntax)?
            }
        };
        let host = host.to_ascii_lowercase();
        if !is_host(&host) {
            return Err(InvalidOrigin::Syntax);
        }
        if !is_https && !is_loopback_host(&host) {
            return Err(InvalidOrigin::PlainHttp);
        }
        let scheme = if is_https { "https" } else { "http" };
        let text = match port == default_port {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{port}"),
        };
        Ok(Self { text, is_https, host, port, scheme_length: scheme.len() + "://".len() })
    }

    /// The origin as in the `Origin` header.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is HTTPS.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// The host, without the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether a request with this scheme and `Host` is one to this origin. Proxies may omit the port.
    pub fn matches(&self, scheme: &[u8], host: &[u8]) -> bool {
        // Some proxies name the scheme of a WebSocket.
        let [own_scheme, of_websocket] =
            if self.is_https { ["https", "wss"] } else { ["http", "ws"] };
        (scheme == own_scheme.as_bytes() || scheme == of_websocket.as_bytes())
            && (host == &self.text.as_bytes()[self.scheme_length..]
                || str::from_utf8(host).is_ok_and(|host| self.is_at(host)))
    }

    /// Whether a `Host` that is not written as in the origin means the same.
    fn is_at(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        name.eq_ignore_ascii_case(&self.host)
            && port.is_none_or(|port| port.parse() == Ok(self.port))
    }

    /// Whether a URL is on this origin.
    pub fn contains(&self, url: &str) -> bool {
        url.strip_prefix(&*self.text).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for AppOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The host and the text after its colon. The colons of an IPv6 address in brackets do not count.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether the text is a host name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').map(str::parse::<std::net::Ipv6Addr>);
        return matches!(address, Some(Ok(_)));
    }
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    (1..=253).contains(&host.len())
        && host.bytes().all(allowed)
        && !host.starts_with(['.', '-'])
        && !host.contains("..")
}

/// Whether a host name always means this machine. Browsers treat these as trustworthy without TLS.
pub fn is_loopback_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match address.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => {
            let host = host.to_ascii_lowercase();
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let read = |text| AppOrigin::parse(text).map(|origin| origin.text);
        for (text, origin) in [
            ("https://app.example.com", "https://app.example.com"),
            ("https://App.Example.com:443/", "https://app.example.com"),
            ("https://app.example.com:8443", "https://app.example.com:8443"),
            ("http://localhost:8000", "http://localhost:8000"),
            ("http://wiki.localhost", "http://wiki.localhost"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://[::1]:8000", "http://[::1]:8000"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(origin));
        }
        for text in [
            "",
            "app.example.com",
            "ftp://a.b",
            "https://",
            "https://a b",
            "https://.a",
            "https://a..b",
            "https://a:0",
            "https://a:99999",
            "https://a:x",
            "https://[::1",
            "https://ä.example",
        ] {
            assert_eq!(read(text), Err(InvalidOrigin::Syntax), "{text}");
        }
        for text in
            ["https://a.b/x", "https://a.b?x", "https://u@a.b", "https://a.b#x", "https://a.b\\c"]
        {
            assert_eq!(read(text), Err(InvalidOrigin::MoreThanOrigin), "{text}");
        }
        assert_eq!(read("http://app.example.com"), Err(InvalidOrigin::PlainHttp));
        assert_eq!(read("http://localhost.example.com"), Err(InvalidOrigin::PlainHttp));
    }

    #[test]
    fn a_request_matches_by_scheme_host_and_any_port_that_it_names() {
        let origin = AppOrigin::parse("https://app.example.com:8443").unwrap();
        assert!(origin.matches(b"https", b"APP.example.com:8443"));
        assert!(origin.matches(b"https", b"app.example.com"));
        assert!(origin.matches(b"wss", b"app.example.com"));
        for (scheme, host) in [
            ("http", "app.example.com:8443"),
            ("https", "app.example.com:443"),
            ("https", "app.example.com:x"),
            ("https", "app.example.com."),
            ("https", "evil.example.com"),
            ("https", "app.example.com.evil.com"),
            ("https", ""),
        ] {
            assert!(!origin.matches(scheme.as_bytes(), host.as_bytes()), "{scheme} {host}");
        }
    }

    #[test]
    fn a_url_is_on_its_origin_only() {
        let origin = AppOrigin::parse("https://app.example.com").unwrap();
        assert!(origin.contains("https://app.example.com/a?b"));
        for url in [
            "https://app.example.com",
            "https://app.example.com.evil.com/",
            "https://app.example.com@evil/",
            "http://app.example.com/",
            "https://app.example.com:444/",
            "//app.example.com/",
        ] {
            assert!(!origin.contains(url), "{url}");
        }
    }
}
