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
        let (host, port) = split_port(authority);
        let port = match port {
            None => default_port(is_https),
            Some(port) => parse_port(port).ok_or(InvalidOrigin::Syntax)?,
        };
        let host = host.to_ascii_lowercase();
        if !is_host(&host) {
            return Err(InvalidOrigin::Syntax);
        }
        if !is_https && !is_loopback_host(&host) {
            return Err(InvalidOrigin::PlainHttp);
        }
        let scheme = if is_https { "https" } else { "http" };
        let text = match port == default_port(is_https) {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{port}"),
        };
        Ok(Self { text, is_https, host, port, scheme_length: scheme.len() + "://".len() })
    }

    /// The origin as in the `Origin` header.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// The host, without the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The origin that a request with this scheme and `Host` is one to. Origins may differ only in their port, so one that is
    /// written exactly as in the request counts first.
    pub fn of_request<'o>(origins: &'o [Self], scheme: &[u8], host: &[u8]) -> Option<&'o Self> {
        let is_exact = |origin: &&Self| {
            origin.has_scheme(scheme) && host == &origin.text.as_bytes()[origin.scheme_length..]
        };
        origins.iter().find(is_exact).or_else(|| Self::of_other_spelling(origins, scheme, host))
    }

    /// The origin that a `Host` means which is not written as in any of them.
    fn of_other_spelling<'o>(origins: &'o [Self], scheme: &[u8], host: &[u8]) -> Option<&'o Self> {
        let (name, port) = split_port(str::from_utf8(host).ok()?);
        let find = |has_port: &dyn Fn(&Self) -> bool| {
            origins.iter().find(|origin| {
                origin.has_scheme(scheme)
                    && name.eq_ignore_ascii_case(&origin.host)
                    && has_port(origin)
            })
        };
        match port {
            // Proxies may omit the port.
            None | Some("") => find(&Self::has_default_port).or_else(|| find(&|_| true)),
            Some(port) => {
                let port = parse_port(port)?;
                find(&|origin| origin.port == port)
            }
        }
    }

    fn has_scheme(&self, scheme: &[u8]) -> bool {
        // Some proxies name the scheme of a WebSocket.
        let [own_scheme, of_websocket] =
            if self.is_https { ["https", "wss"] } else { ["http", "ws"] };
        scheme == own_scheme.as_bytes() || scheme == of_websocket.as_bytes()
    }

    fn has_default_port(&self) -> bool {
        self.port == default_port(self.is_https)
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

/// Whether a `Host` header is a host and perhaps a port (RFC 9110, section 7.2). Proxies and apps read others in different ways.
pub fn is_host_header(value: &[u8]) -> bool {
    // What RFC 3986 allows in a name, so that no name of another system is refused.
    let is_of_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
    let Ok(text) = str::from_utf8(value) else { return false };
    let (host, port) = split_port(text);
    let is_name = if host.starts_with('[') { is_host(host) } else { host.bytes().all(is_of_name) };
    is_name && port.is_none_or(|port| port.is_empty() || parse_port(port).is_some())
}

fn default_port(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

/// A port: digits only, without a sign.
fn parse_port(port: &str) -> Option<u16> {
    let is_number = port.bytes().all(|b| b.is_ascii_digit());
    port.parse().ok().filter(|port| is_number && *port > 0)
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
            "https://a:+443",
            "https://a:",
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
        let matches = |scheme: &[u8], host: &[u8]| {
            AppOrigin::of_request(std::slice::from_ref(&origin), scheme, host).is_some()
        };
        assert!(matches(b"https", b"APP.example.com:8443"));
        assert!(matches(b"https", b"app.example.com"));
        assert!(matches(b"https", b"app.example.com:"));
        assert!(matches(b"wss", b"app.example.com"));
        for (scheme, host) in [
            ("http", "app.example.com:8443"),
            ("https", "app.example.com:443"),
            ("https", "app.example.com:x"),
            ("https", "app.example.com:+8443"),
            ("https", "app.example.com."),
            ("https", "evil.example.com"),
            ("https", "app.example.com.evil.com"),
            ("https", ""),
        ] {
            assert!(!matches(scheme.as_bytes(), host.as_bytes()), "{scheme} {host}");
        }
    }

    #[test]
    fn origins_that_differ_only_in_port_match_exactly_first() {
        let [default, other, last] = ["https://a.b", "https://a.b:8443", "https://a.b:9443"];
        for order in [[default, other, last], [last, other, default], [other, last, default]] {
            let origins = order.map(|origin| AppOrigin::parse(origin).unwrap());
            for (host, expected) in [
                ("a.b", Some(default)),
                ("A.b", Some(default)),
                ("a.b:", Some(default)),
                ("a.b:443", Some(default)),
                ("a.b:8443", Some(other)),
                ("A.B:8443", Some(other)),
                ("a.b:9443", Some(last)),
                ("a.b:+443", None),
                ("a.b:444", None),
            ] {
                let found = AppOrigin::of_request(&origins, b"https", host.as_bytes());
                assert_eq!(found.map(AppOrigin::as_str), expected, "{host} of {order:?}");
            }
        }
    }

    #[test]
    fn a_host_header_is_a_host_and_perhaps_a_port() {
        for host in [
            "",
            "app",
            "app:",
            "app:443",
            "App.example.com:65535",
            "app_1.example.com.",
            "127.0.0.1:3000",
            "[::1]",
            "[::1]:3000",
        ] {
            assert!(is_host_header(host.as_bytes()), "{host}");
        }
        for host in [
            "app:+443",
            "app:-1",
            "app: 443",
            "app:0x1bb",
            "app:443:443",
            "app:65536",
            "app:0",
            "user@app",
            "app/path",
            "app\\path",
            "app?x",
            "app#x",
            "a b",
            "a\tb",
            "::1",
            "[::1",
            "[::1]x",
            "[app]",
            "\u{e4}.example",
        ] {
            assert!(!is_host_header(host.as_bytes()), "{host}");
        }
        assert!(!is_host_header(b"\xff"));
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
