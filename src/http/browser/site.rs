//! The origin of Doorward's own pages, and whether a request was sent to it.

use std::borrow::Cow;

use axum::http::{HeaderMap, Uri, header};

use super::{Single, single};
use crate::access::guard::{AppOrigin, host_of, is_loopback_host};

/// Where Doorward's pages are: an origin, and the path below which they are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct Site {
    /// The public URL without a slash at the end.
    pub(in crate::http) url: String,
    origin_length: usize,
    pub(in crate::http) is_https: bool,
}

/// Pages on plain HTTP were asked for under a host name that is not loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct NeedsHttps;

impl Site {
    /// The site with this public URL.
    pub(in crate::http) fn new(url: String) -> Self {
        let authority = url.find("://").map_or(0, |colon| colon + 3);
        let origin_length = url[authority..].find('/').map_or(url.len(), |slash| authority + slash);
        let (origin, path) = url.split_at(origin_length);
        // As browsers write it in the `Origin` header: in lower case, without the default port.
        let origin = match AppOrigin::parse(origin) {
            Ok(origin) => origin.as_str().to_owned(),
            Err(_) => origin.to_ascii_lowercase(),
        };
        let url = format!("{origin}{path}");
        Self { is_https: url.starts_with("https://"), origin_length: origin.len(), url }
    }

    /// Scheme, host and port of the public URL.
    pub(in crate::http) fn origin(&self) -> &str {
        &self.url[..self.origin_length]
    }

    /// The host of the public URL, without the port.
    pub(in crate::http) fn host(&self) -> Cow<'_, str> {
        host_of(self.origin().split_once("://").map_or("", |(_, authority)| authority))
    }

    /// The path of the public URL, without a slash at the end: the start of the path of every link. Usually empty.
    pub(in crate::http) fn base_path(&self) -> &str {
        &self.url[self.origin_length..]
    }

    /// The URL of a page that a browser asked for under another name of this machine, such as `localhost` for `127.0.0.1`.
    /// Names do not share cookies, so a person signed in under one would not be signed in under the other.
    pub(in crate::http) fn url_under_own_name(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Option<String> {
        let Single::Value(sent) = single(headers, &header::HOST) else { return None };
        let (own_name, own_port) = self.loopback_name()?;
        let (name, port) = split_loopback(sent)?;
        (name != own_name && port == own_port).then(|| format!("{}{uri}", self.url))
    }

    /// The name and the port of a site on plain HTTP that is on this machine.
    fn loopback_name(&self) -> Option<(&str, &str)> {
        split_loopback(self.origin().strip_prefix("http://")?)
    }

    /// The origin that a browser names in the `Origin` header of a form on our pages. On plain HTTP this is the host that it
    /// asked for, which must be loopback: `localhost` and `127.0.0.1` reach the same service.
    pub(in crate::http) fn expected_origin(
        &self,
        headers: &HeaderMap,
    ) -> Result<String, NeedsHttps> {
        if self.is_https {
            return Ok(self.origin().to_owned());
        }
        match single(headers, &header::HOST) {
            Single::Value(host) if is_loopback_host(&host_of(host)) => Ok(format!("http://{host}")),
            _ => Err(NeedsHttps),
        }
    }
}

/// The name and the port of a host that is this machine under one of its usual names.
fn split_loopback(host: &str) -> Option<(&str, &str)> {
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let (name, rest) = names.into_iter().find_map(|name| Some((name, host.strip_prefix(name)?)))?;
    match rest {
        "" => Some((name, "80")),
        rest => Some((name, rest.strip_prefix(':')?)),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_public_url_has_an_origin_and_a_path() {
        let site = Site::new("https://example.com:8443/auth".into());
        assert_eq!((site.origin(), site.base_path()), ("https://example.com:8443", "/auth"));
        assert!(site.is_https);
        let site = Site::new("https://Auth.Example.com:443/A".into());
        assert_eq!((site.origin(), site.base_path()), ("https://auth.example.com", "/A"));
        assert_eq!(site.host(), "auth.example.com");
        let site = Site::new("http://127.0.0.1:3000".into());
        assert_eq!((site.origin(), site.base_path()), ("http://127.0.0.1:3000", ""));
        assert_eq!(site.host(), "127.0.0.1");
        assert!(!site.is_https);
    }

    #[test]
    fn plain_http_is_for_loopback_hosts() {
        let expected = |url: &str, host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            Site::new(url.to_owned()).expected_origin(&headers)
        };
        let plain = "http://127.0.0.1:3000";
        for host in ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "auth.localhost"] {
            assert_eq!(expected(plain, host), Ok(format!("http://{host}")));
        }
        for host in ["192.168.1.5:3000", "auth.example.com", "localhost.example.com"] {
            assert_eq!(expected(plain, host), Err(NeedsHttps));
        }
        assert_eq!(expected("https://a.b/c", "anything"), Ok("https://a.b".into()));
        assert_eq!(Site::new(plain.into()).expected_origin(&HeaderMap::new()), Err(NeedsHttps));
    }

    #[test]
    fn one_name_of_this_machine_leads_to_the_other_on_the_same_port() {
        let under_own_name = |url: &str, host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            let uri = Uri::from_static("/account?a=b");
            Site::new(url.to_owned()).url_under_own_name(&headers, &uri)
        };
        let plain = "http://127.0.0.1:3000";
        for host in ["localhost:3000", "[::1]:3000"] {
            assert_eq!(under_own_name(plain, host), Some(format!("{plain}/account?a=b")));
        }
        let localhost = under_own_name("http://localhost/auth", "127.0.0.1");
        assert_eq!(localhost.as_deref(), Some("http://localhost/auth/account?a=b"));
        // Another port may be a tunnel, behind which the own one does not exist.
        for host in
            ["127.0.0.1:3000", "localhost:8080", "auth.localhost:3000", "localhost.org:3000"]
        {
            assert_eq!(under_own_name(plain, host), None);
        }
        assert_eq!(under_own_name("https://localhost:3000", "127.0.0.1:3000"), None);
        assert_eq!(under_own_name("http://auth.example.com", "localhost"), None);
    }
}
