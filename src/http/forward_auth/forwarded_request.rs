//! What a guard is asked about: its own request, or the one that a proxy tells of.

use std::borrow::Cow;

use axum::http::{Method, header, request::Parts};
use ipnet::IpNet;

use crate::{
    access::guard::{ProxyStyle, RequestFacts, host_of, path_of},
    clock::Timestamp,
    http::client_ip::{client, is_trusted, peer},
};

/// A name, a final dot and a port: a longer host is no name, and is not even read.
const MAX_HOST_BYTES: usize = 262;

/// A request to a guard.
pub(in crate::http) struct Asked<'a> {
    pub(in crate::http) parts: &'a Parts,
}

impl<'a> Asked<'a> {
    /// What conditions may look at, as far as `wanted`. A proxy's account counts only in the style that the guard names,
    /// and only from a proxy that is trusted; from anybody else nothing is believed.
    pub(in crate::http) fn facts(
        &self,
        style: Option<ProxyStyle>,
        trusted: &[IpNet],
        wanted: &[&str],
        time: Timestamp,
    ) -> RequestFacts<'a> {
        let peer = peer(&self.parts.extensions);
        let account = match style {
            None => Some(Account::own()),
            Some(style) if is_trusted(peer, trusted) => Some(Account::of(style)),
            Some(_) => None,
        };
        let source = |field: &str, source: fn(&Account) -> &Source| {
            let wanted = wanted.contains(&field);
            account.as_ref().filter(|_| wanted).and_then(|account| self.told(source(account)))
        };
        RequestFacts {
            method: source("method", |account| &account.method).map(Cow::Borrowed),
            host: source("host", |account| &account.host)
                .filter(|host| host.len() <= MAX_HOST_BYTES)
                .map(host_of),
            path: source("path", |account| &account.target).and_then(path_of),
            scheme: source("scheme", |account| &account.scheme).map(Cow::Borrowed),
            address: match style {
                Some(_) => client(&self.parts.headers, peer, trusted),
                None => Some(peer.to_canonical()),
            },
            time,
        }
    }

    /// Whether a browser asks what it may ask (CORS), which it does without a token.
    pub(in crate::http) fn is_preflight(
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

    fn told(&self, source: &Source) -> Option<&'a str> {
        match source {
            Source::Method => Some(self.parts.method.as_str()),
            Source::Tail => tail(self.parts.uri.path()),
            Source::Known(value) => Some(value),
            Source::Header(name) => {
                // Said twice is not said.
                let mut values = self.parts.headers.get_all(*name).iter();
                let value = values.next()?;
                if values.next().is_some() { None } else { value.to_str().ok() }
            }
        }
    }
}

/// Where each fact about the guarded request is found.
struct Account {
    method: Source,
    host: Source,
    target: Source,
    scheme: Source,
}

enum Source {
    /// The method of the request to the guard.
    Method,
    /// What stands behind the guard in its path.
    Tail,
    Header(&'static str),
    Known(&'static str),
}

impl Account {
    /// The request to the guard itself.
    fn own() -> Self {
        Self {
            method: Source::Method,
            host: Source::Header("host"),
            target: Source::Tail,
            scheme: Source::Known("http"),
        }
    }

    fn of(style: ProxyStyle) -> Self {
        let (method, target) = match style {
            ProxyStyle::Nginx => ("x-original-method", "x-original-uri"),
            ProxyStyle::Traefik | ProxyStyle::Caddy | ProxyStyle::Haproxy => {
                ("x-forwarded-method", "x-forwarded-uri")
            }
            ProxyStyle::Envoy => {
                return Self { scheme: Source::Header("x-forwarded-proto"), ..Self::own() };
            }
        };
        Self {
            method: Source::Header(method),
            host: Source::Header("x-forwarded-host"),
            target: Source::Header(target),
            scheme: Source::Header("x-forwarded-proto"),
        }
    }
}

/// The segment of a path that names a guard, as it was sent.
pub(in crate::http) fn guard_name(path: &str) -> Option<&str> {
    path.split('/').nth(3)
}

/// What stands behind the guard in a path, as it was sent: decoding it is for whoever looks at it.
fn tail(path: &str) -> Option<&str> {
    path.match_indices('/').nth(3).map(|(slash, _)| &path[slash..])
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::{extract::ConnectInfo, http::Request};

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
        let mut parts = parts.clone();
        parts.extensions.insert(ConnectInfo(SocketAddr::from((peer, 9))));
        let asked = Asked { parts: &parts };
        let RequestFacts { method, host, path, scheme, address, .. } =
            asked.facts(style, &["127.0.0.0/8".parse().unwrap()], &ALL, Timestamp::from_millis(0));
        let [method, host, path, scheme] =
            [&method, &host, &path, &scheme].map(|fact| fact.as_deref().unwrap_or("?"));
        let address = address.map_or("?".into(), |address| address.to_string());
        format!("{method} {scheme}://{host}{path} from {address}")
    }

    const FORGED: [(&str, &str); 7] = [
        ("x-forwarded-method", "DELETE"),
        ("x-forwarded-uri", "/forwarded?q"),
        ("x-original-method", "PUT"),
        ("x-original-uri", "/original?q"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "App.Example.com:443"),
        ("x-forwarded-for", "203.0.113.5, 198.51.100.7, 127.0.0.2"),
    ];

    #[test]
    fn a_proxy_is_believed_in_its_own_style_only() {
        let parts = parts(&FORGED);
        let told = "https://app.example.com";
        assert_eq!(
            facts(&parts, PROXY, Some(ProxyStyle::Nginx)),
            format!("PUT {told}/original from 198.51.100.7")
        );
        for style in [ProxyStyle::Traefik, ProxyStyle::Caddy, ProxyStyle::Haproxy] {
            assert_eq!(
                facts(&parts, PROXY, Some(style)),
                format!("DELETE {told}/forwarded from 198.51.100.7")
            );
        }
        assert_eq!(
            facts(&parts, PROXY, Some(ProxyStyle::Envoy)),
            "POST https://auth.example/tail from 198.51.100.7"
        );
        assert_eq!(facts(&parts, PROXY, None), "POST http://auth.example/tail from 127.0.0.1");
    }

    #[test]
    fn whoever_is_not_a_trusted_proxy_tells_nothing() {
        let parts = parts(&FORGED);
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
    fn what_a_proxy_leaves_out_or_says_twice_is_missing() {
        let left_out = parts(&[]);
        assert_eq!(facts(&left_out, PROXY, Some(ProxyStyle::Nginx)), "? ?://?? from 127.0.0.1");
        let twice = parts(&[("x-original-method", "GET"), ("x-original-method", "PUT")]);
        assert!(facts(&twice, PROXY, Some(ProxyStyle::Nginx)).starts_with("? "));
    }

    #[test]
    fn a_hop_that_cannot_be_read_hides_the_client() {
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
