//! What browsers may do with the API. A page of another site can send requests from its visitor's network, and a page under a
//! name that resolves to this service (DNS rebinding) can also read the answers. Sites in `cors.origins` are the service's own.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    browser::{
        Single,
        cross_site::{is_safe, may_use_api},
        single,
    },
    client_ip::{is_trusted, peer},
    cors,
    error::Error,
    html::Pages,
};
use crate::access::guard::{host_of, is_loopback_host};

const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Below this path, only the service's own hosts are answered. Other paths are public, or need a secret that no page has.
const API_PREFIX: &str = "/api/";

/// The middleware of the API. It refuses before the body is read and before anything is charged.
pub(super) async fn refuse_other_sites(
    State(pages): State<Arc<Pages>>,
    request: Request,
    next: Next,
) -> Response {
    let destination = Destination::of(&request, &pages);
    if request.uri().path().starts_with(API_PREFIX) && !destination.is_own_host(&pages) {
        return Error::OtherHost.into_response();
    }
    let is_own_origin = |origin: &str| destination.is_own_origin(origin, &pages);
    if !is_safe(request.method().as_str())
        && !may_use_api(request.headers(), is_own_origin)
        && !cors::is_allowed(pages.doorward(), request.uri(), request.headers())
    {
        return Error::CrossSite(None).into_response();
    }
    next.run(request).await
}

/// Where a client sent a request to, as far as the service can tell.
struct Destination {
    is_https: bool,
    /// The host and the port.
    host: Option<String>,
}

impl Destination {
    fn of(request: &Request, pages: &Pages) -> Self {
        let (headers, settings) = (request.headers(), pages.doorward().settings());
        let is_forwarded = is_trusted(peer(request.extensions()), &settings.trusted_proxies);
        let forwarded = |name: &HeaderName| is_forwarded.then(|| text(headers, name)).flatten();
        let scheme = forwarded(&X_FORWARDED_PROTO).unwrap_or(settings.scheme());
        let host = forwarded(&X_FORWARDED_HOST).or_else(|| text(headers, &header::HOST));
        Self { is_https: scheme == "https", host: host.map(str::to_ascii_lowercase) }
    }

    /// Whether pages of an origin may change something here: the origin of `public_url`, and that of the host that the request is
    /// for. Where `public_url` is HTTPS, anybody on the way could make pages of a host without it.
    fn is_own_origin(&self, origin: &str, pages: &Pages) -> bool {
        let (scheme, default_port) =
            if self.is_https { ("https://", ":443") } else { ("http://", ":80") };
        let host = self.host.as_deref().map(|host| host.strip_suffix(default_port).unwrap_or(host));
        let is_trustworthy =
            |host| self.is_https || !pages.site().is_https || is_loopback_host(&host_of(host));
        origin == pages.site().origin()
            || host.is_some_and(|host| {
                origin.strip_prefix(scheme) == Some(host) && is_trustworthy(host)
            })
    }

    /// Whether the service answers under this host. Where `public_url` names the service, another name that anybody could have
    /// registered is refused. With HTTPS the certificate has proved the name.
    fn is_own_host(&self, pages: &Pages) -> bool {
        let Some(host) = &self.host else { return true };
        let (name, doorward) = (host_of(host), pages.doorward());
        doorward.settings().public_url.is_none()
            || self.is_https
            || cannot_be_rebound(&name)
            || name == pages.site().host()
            || doorward
                .guards()
                .iter()
                .any(|guard| guard.origins.iter().any(|origin| origin.host() == name))
    }
}

/// The value of a header that occurs once.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    match single(headers, name) {
        Single::Value(value) => Some(value),
        Single::Absent | Single::Ambiguous => None,
    }
}

/// Whether nobody on the Internet can let a name lead to this service: an address, a name without a dot, or one below a domain
/// that is reserved for local names.
fn cannot_be_rebound(name: &str) -> bool {
    const LOCAL: [&str; 3] = [".local", ".internal", ".home.arpa"];
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    !name.contains('.')
        || address.parse::<IpAddr>().is_ok()
        || is_loopback_host(name)
        || LOCAL.iter().any(|domain| name.ends_with(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_anybody_can_register_can_be_rebound() {
        for name in [
            "localhost",
            "auth.localhost",
            "127.0.0.1",
            "192.168.1.5",
            "[::1]",
            "[2001:db8::1]",
            "doorward",
            "doorward.auth.svc.cluster.local",
            "doorward.internal",
            "door.home.arpa",
        ] {
            assert!(cannot_be_rebound(name), "{name}");
        }
        for name in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "local.example",
            "notlocal.example",
            "1.2.3",
        ] {
            assert!(!cannot_be_rebound(name), "{name}");
        }
    }
}
