//! The request that a guard decides about: the one that a proxy forwards, or the request to the guard itself.

use std::{borrow::Cow, net::IpAddr};

use axum::http::{HeaderName, HeaderValue, Method, header, request::Parts};
use ipnet::IpNet;

use crate::{
    Doorward,
    access::{
        guard::{ProxyStyle, RequestFacts, host_of, is_host_header, path_of},
        refusals::{DecisionId, Refused},
    },
    clock::Timestamp,
    http::client_ip::{client_address, client_at, is_trusted},
    network::ClientInfo,
    request_id::RequestId,
};

/// A host name, a final dot and a port. Anything longer is not a host name.
const MAX_HOST_BYTES: usize = 262;

/// The request that a guard decides about.
#[derive(Clone, Copy)]
pub(super) struct ForwardedRequest<'a> {
    /// The request to the guard.
    pub(super) parts: &'a Parts,
    /// Where it comes from.
    pub(super) peer: IpAddr,
    /// Its id.
    pub(super) id: RequestId,
}

impl<'a> ForwardedRequest<'a> {
    /// The client that sends it.
    pub(super) fn client(&self, doorward: &Doorward) -> ClientInfo {
        client_at(&self.parts.headers, self.peer, doorward)
    }

    /// Records that a guard refuses it.
    pub(super) fn record_refusal(&self, doorward: &Doorward, refused: Refused) -> DecisionId {
        let is_forwarded = self.parts.headers.contains_key(X_FORWARDED_FOR);
        let refused = if is_forwarded { refused.forwarded() } else { refused };
        doorward.record_refusal_of(refused, || (Some(self.client(doorward)), Some(self.id)))
    }

    /// The facts that conditions read, as far as they are `wanted`. With a proxy style, they come from the headers of that
    /// style, and only if the request comes from a trusted proxy.
    pub(super) fn facts(
        &self,
        style: Option<ProxyStyle>,
        trusted: &[IpNet],
        wanted: &[&str],
        time: Timestamp,
    ) -> RequestFacts<'a> {
        let peer = self.peer;
        let sources = match style {
            None => Some(FactSources::of_request_itself()),
            Some(style) if is_trusted(peer, trusted) => Some(FactSources::of(style)),
            Some(_) => None,
        };
        let fact = |field: &str, source: fn(&FactSources) -> &FactSource| {
            let wanted = wanted.contains(&field);
            sources.as_ref().filter(|_| wanted).and_then(|sources| self.text(source(sources)))
        };
        RequestFacts {
            method: fact("method", |sources| &sources.method).map(Cow::Borrowed),
            host: fact("host", |sources| &sources.host)
                .filter(|host| host.len() <= MAX_HOST_BYTES)
                .map(host_of),
            path: fact("path", |sources| &sources.target).and_then(path_of),
            scheme: fact("scheme", |sources| &sources.scheme).map(Cow::Borrowed),
            address: match style {
                Some(_) => client_address(&self.parts.headers, peer, trusted),
                None => Some(peer.to_canonical()),
            },
            time,
        }
    }

    /// Whether this is a CORS preflight, which browsers send without a token.
    pub(super) fn is_preflight(
        &self,
        style: Option<ProxyStyle>,
        trusted: &[IpNet],
        time: Timestamp,
    ) -> bool {
        let names = [header::ORIGIN, header::ACCESS_CONTROL_REQUEST_METHOD];
        names.iter().all(|name| self.parts.headers.contains_key(name))
            && self.facts(style, trusted, &["method"], time).method.as_deref()
                == Some(Method::OPTIONS.as_str())
    }

    /// The origin that the request is for, if a trusted proxy describes it.
    pub(super) fn origin(&self, style: Option<ProxyStyle>, trusted: &[IpNet]) -> Option<String> {
        let sent = self.browser_request(style?, trusted)?;
        let (scheme, host) = (str::from_utf8(sent.scheme).ok()?, str::from_utf8(sent.host).ok()?);
        Some(format!("{scheme}://{}", host.to_ascii_lowercase()))
    }

    /// Whether the proxy describes a request whose `Host` is malformed.
    pub(super) fn has_malformed_host(&self, style: ProxyStyle, trusted: &[IpNet]) -> bool {
        self.browser_request(style, trusted).is_some_and(|sent| !is_host_header(sent.host))
    }

    /// The request as a browser sent it to the proxy; `None` unless a trusted proxy describes it completely.
    pub(super) fn browser_request(
        &self,
        style: ProxyStyle,
        trusted: &[IpNet],
    ) -> Option<BrowserRequest<'a>> {
        if !is_trusted(self.peer, trusted) {
            return None;
        }
        let FactSources { method, host, target, scheme } = FactSources::of(style);
        let target = match target {
            FactSource::PathBelowGuard => {
                let whole = self.parts.uri.path_and_query()?.as_str();
                path_below_guard(whole).unwrap_or("/")
            }
            source => self.text(&source)?,
        };
        // Some proxies do not pass `Upgrade` on.
        let upgrades = [header::UPGRADE, header::SEC_WEBSOCKET_VERSION];
        Some(BrowserRequest {
            method: self.text(&method)?,
            scheme: self.bytes(&scheme)?,
            host: self.bytes(&host)?,
            target,
            is_websocket: upgrades.iter().any(|name| self.parts.headers.contains_key(name)),
        })
    }

    fn text(&self, source: &FactSource) -> Option<&'a str> {
        match source {
            FactSource::Method => Some(self.parts.method.as_str()),
            FactSource::PathBelowGuard => path_below_guard(self.parts.uri.path()),
            FactSource::Fixed(value) => Some(value),
            FactSource::Header(name) => self.header(name)?.to_str().ok(),
        }
    }

    fn bytes(&self, source: &FactSource) -> Option<&'a [u8]> {
        match source {
            FactSource::Header(name) => self.header(name).map(HeaderValue::as_bytes),
            other => self.text(other).map(str::as_bytes),
        }
    }

    /// The value of a header. A repeated header counts as absent.
    fn header(&self, name: &HeaderName) -> Option<&'a HeaderValue> {
        let mut values = self.parts.headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())
    }
}

/// The request that a browser sent to a proxy.
pub(super) struct BrowserRequest<'a> {
    pub(super) method: &'a str,
    /// Not decoded: the origins of a guard are compared with it as bytes.
    pub(super) scheme: &'a [u8],
    /// As the scheme.
    pub(super) host: &'a [u8],
    /// The path and the query, not decoded.
    pub(super) target: &'a str,
    pub(super) is_websocket: bool,
}

/// Where each fact about the forwarded request is found.
struct FactSources {
    method: FactSource,
    host: FactSource,
    target: FactSource,
    scheme: FactSource,
}

enum FactSource {
    /// The method of the request to the guard.
    Method,
    /// What follows the guard in the path of the request to it.
    PathBelowGuard,
    Header(HeaderName),
    Fixed(&'static str),
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const X_ORIGINAL_METHOD: HeaderName = HeaderName::from_static("x-original-method");
const X_ORIGINAL_URI: HeaderName = HeaderName::from_static("x-original-uri");

impl FactSources {
    fn of_request_itself() -> Self {
        Self {
            method: FactSource::Method,
            host: FactSource::Header(header::HOST),
            target: FactSource::PathBelowGuard,
            scheme: FactSource::Fixed("http"),
        }
    }

    fn of(style: ProxyStyle) -> Self {
        let (method, target) = match style {
            ProxyStyle::Nginx => (X_ORIGINAL_METHOD, X_ORIGINAL_URI),
            ProxyStyle::Traefik | ProxyStyle::Caddy | ProxyStyle::Haproxy => {
                (X_FORWARDED_METHOD, X_FORWARDED_URI)
            }
            ProxyStyle::Envoy => {
                let scheme = FactSource::Header(X_FORWARDED_PROTO);
                return Self { scheme, ..Self::of_request_itself() };
            }
        };
        Self {
            method: FactSource::Header(method),
            host: FactSource::Header(X_FORWARDED_HOST),
            target: FactSource::Header(target),
            scheme: FactSource::Header(X_FORWARDED_PROTO),
        }
    }
}

/// The segment of a path that names a guard, not decoded.
pub(super) fn guard_name(path: &str) -> Option<&str> {
    path.split('/').nth(3)
}

/// What follows the guard in a path, not decoded.
fn path_below_guard(path: &str) -> Option<&str> {
    path.match_indices('/').nth(3).map(|(slash, _)| &path[slash..])
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const PROXY: [u8; 4] = [127, 0, 0, 1];
    const ALL: [&str; 4] = ["method", "host", "path", "scheme"];

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request =
            Request::post("/api/auth/staff/tail?x=y").header("host", "Auth.example:3000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn facts(parts: &Parts, peer: [u8; 4], style: Option<ProxyStyle>) -> String {
        let request = ForwardedRequest { parts, peer: peer.into(), id: RequestId::next() };
        let RequestFacts { method, host, path, scheme, address, .. } = request.facts(
            style,
            &["127.0.0.0/8".parse().unwrap()],
            &ALL,
            Timestamp::from_millis(0),
        );
        let [method, host, path, scheme] =
            [&method, &host, &path, &scheme].map(|fact| fact.as_deref().unwrap_or("?"));
        let address = address.map_or("?".into(), |address| address.to_string());
        format!("{method} {scheme}://{host}{path} from {address}")
    }

    const FORWARDED: [(&str, &str); 7] = [
        ("x-forwarded-method", "DELETE"),
        ("x-forwarded-uri", "/forwarded?q"),
        ("x-original-method", "PUT"),
        ("x-original-uri", "/original?q"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "App.Example.com:443"),
        ("x-forwarded-for", "203.0.113.5, 198.51.100.7, 127.0.0.2"),
    ];

    #[test]
    fn a_guard_reads_only_the_headers_of_its_proxy_style() {
        let parts = parts(&FORWARDED);
        let origin = "https://app.example.com";
        assert_eq!(
            facts(&parts, PROXY, Some(ProxyStyle::Nginx)),
            format!("PUT {origin}/original from 198.51.100.7")
        );
        for style in [ProxyStyle::Traefik, ProxyStyle::Caddy, ProxyStyle::Haproxy] {
            assert_eq!(
                facts(&parts, PROXY, Some(style)),
                format!("DELETE {origin}/forwarded from 198.51.100.7")
            );
        }
        assert_eq!(
            facts(&parts, PROXY, Some(ProxyStyle::Envoy)),
            "POST https://auth.example/tail from 198.51.100.7"
        );
        assert_eq!(facts(&parts, PROXY, None), "POST http://auth.example/tail from 127.0.0.1");
    }

    #[test]
    fn headers_from_an_untrusted_peer_give_no_facts() {
        let parts = parts(&FORWARDED);
        assert_eq!(
            facts(&parts, [192, 0, 2, 1], Some(ProxyStyle::Nginx)),
            "? ?://?? from 192.0.2.1"
        );
        assert_eq!(
            facts(&parts, [192, 0, 2, 1], None),
            "POST http://auth.example/tail from 192.0.2.1"
        );
    }

    #[test]
    fn a_missing_or_repeated_header_gives_no_fact() {
        let missing = parts(&[]);
        assert_eq!(facts(&missing, PROXY, Some(ProxyStyle::Nginx)), "? ?://?? from 127.0.0.1");
        let repeated = parts(&[("x-original-method", "GET"), ("x-original-method", "PUT")]);
        assert!(facts(&repeated, PROXY, Some(ProxyStyle::Nginx)).starts_with("? "));
    }

    #[test]
    fn without_a_parsable_hop_the_client_address_is_unknown() {
        for (chain, expected) in [
            ("203.0.113.5:4711", "203.0.113.5"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("203.0.113.5, nonsense", "?"),
            ("nonsense, 203.0.113.5", "203.0.113.5"),
            ("203.0.113.5,,127.0.0.9", "?"),
            ("::ffff:203.0.113.5", "203.0.113.5"),
        ] {
            let parts = parts(&[("x-forwarded-for", chain)]);
            let shown = facts(&parts, PROXY, Some(ProxyStyle::Nginx));
            assert!(shown.ends_with(&format!("from {expected}")), "{chain}: {shown}");
        }
    }
}
