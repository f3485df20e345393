//! Requests that another site has caused. `Sec-Fetch-Site` tells them apart; browsers do not send it to plain-HTTP origins,
//! where `Origin` decides.

use axum::http::{HeaderMap, header};

use super::{
    SEC_FETCH_SITE, Single,
    navigation::{accepts_html, is_in_window},
    single,
};
#[cfg(feature = "cli")]
use crate::access::guard::{host_of, is_loopback_host};

/// Whether a page of `origin` itself, or the person directly, has caused a request. Another origin of the same site does not
/// count. A request with neither header is not from a browser that could be trusted to tell.
pub(in crate::http) fn is_own_request(headers: &HeaderMap, origin: &str) -> bool {
    match single(headers, &SEC_FETCH_SITE) {
        Single::Value(site) => ["same-origin", "none"].contains(&site),
        Single::Ambiguous => false,
        Single::Absent => {
            matches!(single(headers, &header::ORIGIN), Single::Value(sent) if sent == origin)
        }
    }
}

/// Whether a request that changes nothing may be answered with what its visitor alone may see. Another origin may open a page in a
/// window, and learns nothing of it. What it loads otherwise, it could frame, or measure how long the answer takes. Browsers without
/// Fetch Metadata do not tell.
pub(in crate::http) fn may_read(headers: &HeaderMap) -> bool {
    match single(headers, &SEC_FETCH_SITE) {
        Single::Absent | Single::Value("same-origin" | "none") => true,
        Single::Value(_) => is_in_window(headers),
        Single::Ambiguous => false,
    }
}

/// Whether a request with credentials that a browser sends by itself was sent on purpose: by a program, by a page of `own` itself, or by
/// the person directly. Without Fetch Metadata, `Origin` and `Referer` tell where a request comes from. A page without a `Referer` may
/// come from a site that sends none.
pub(in crate::http) fn is_sent_on_purpose(headers: &HeaderMap, own: Option<&str>) -> bool {
    let is_own = |name| match single(headers, &name) {
        Single::Absent => true,
        Single::Value(sent) => own.is_some_and(|own| {
            let rest = sent.strip_prefix(own);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }),
        Single::Ambiguous => false,
    };
    match single(headers, &SEC_FETCH_SITE) {
        Single::Value(site) => ["same-origin", "none"].contains(&site),
        Single::Absent => {
            let is_told =
                [header::ORIGIN, header::REFERER].iter().any(|name| headers.contains_key(name));
            is_own(header::ORIGIN) && is_own(header::REFERER) && (is_told || !accepts_html(headers))
        }
        Single::Ambiguous => false,
    }
}

/// Whether a request to the API that changes something counts: a page of an own origin has caused it, the person directly, or a
/// program, which sends neither header. `is_own` tells our own origins.
pub(in crate::http) fn may_use_api(headers: &HeaderMap, is_own: impl Fn(&str) -> bool) -> bool {
    let origin = single(headers, &header::ORIGIN);
    let is_of_own_origin = matches!(origin, Single::Value(sent) if is_own(sent));
    match single(headers, &SEC_FETCH_SITE) {
        Single::Value("same-origin" | "none") => true,
        Single::Value("same-site") => is_of_own_origin,
        Single::Absent => origin == Single::Absent || is_of_own_origin,
        Single::Value(_) | Single::Ambiguous => false,
    }
}

/// Whether a request to a service on loopback names it. A host name that is not loopback is that of another site which resolves to
/// this machine.
#[cfg(feature = "cli")]
pub(in crate::http) fn is_for_loopback(headers: &HeaderMap) -> bool {
    matches!(single(headers, &header::HOST), Single::Value(host) if is_loopback_host(&host_of(host)))
}

/// Whether a page of another origin may have caused a request to a service on loopback. Programs send neither header.
#[cfg(feature = "cli")]
pub(in crate::http) fn is_from_other_site(headers: &HeaderMap) -> bool {
    let Single::Value(host) = single(headers, &header::HOST) else { return true };
    if !is_for_loopback(headers) {
        return true;
    }
    let is_own_origin = match single(headers, &header::ORIGIN) {
        Single::Absent => true,
        Single::Value(origin) => origin.strip_prefix("http://") == Some(host),
        Single::Ambiguous => false,
    };
    let is_own_site = match single(headers, &SEC_FETCH_SITE) {
        Single::Absent => true,
        Single::Value(site) => ["same-origin", "none"].contains(&site),
        Single::Ambiguous => false,
    };
    !(is_own_origin && is_own_site)
}

/// Whether requests with this method change nothing.
pub(in crate::http) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const OWN: &str = "https://auth.example.com";

    #[test]
    fn only_requests_of_the_origin_itself_are_its_own() {
        let sites = [
            None,
            Some("same-origin"),
            Some("none"),
            Some("same-site"),
            Some("cross-site"),
            Some(""),
            Some("Same-Origin"),
        ];
        let origins = [
            None,
            Some(OWN),
            Some("null"),
            Some("https://evil.example.com"),
            Some("http://auth.example.com"),
            Some("https://auth.example.com:444"),
            Some("https://auth.example.com.evil.com"),
            Some(""),
        ];
        for site in sites {
            for origin in origins {
                let sent = [(SEC_FETCH_SITE, site), (header::ORIGIN, origin)];
                let headers: HeaderMap = sent
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, HeaderValue::from_static(value?))))
                    .collect();
                let own = match site {
                    Some(site) => site == "same-origin" || site == "none",
                    None => origin == Some(OWN),
                };
                assert_eq!(is_own_request(&headers, OWN), own, "{site:?} {origin:?}");
            }
        }
    }

    #[test]
    fn another_origin_opens_pages_and_reads_nothing_else() {
        let may_read = |sent: &[(&'static str, &'static str)]| {
            let header = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            super::may_read(&sent.iter().map(header).collect())
        };
        let (site, mode, dest) = ("sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest");
        for own in ["same-origin", "none"] {
            assert!(may_read(&[(site, own), (mode, "cors"), (dest, "empty")]), "{own}");
        }
        assert!(may_read(&[]), "nothing is known");
        for other in ["same-site", "cross-site", "", "Same-Origin"] {
            let from = |sent: &[(&'static str, &'static str)]| {
                may_read(&[&[(site, other)], sent].concat())
            };
            assert!(from(&[(mode, "navigate"), (dest, "document")]), "{other}");
            for (mode_sent, dest_sent) in [
                ("navigate", "iframe"),
                ("navigate", "object"),
                ("no-cors", "image"),
                ("no-cors", "empty"),
                ("cors", "empty"),
            ] {
                assert!(!from(&[(mode, mode_sent), (dest, dest_sent)]), "{other} {dest_sent}");
            }
        }
        assert!(!may_read(&[(site, "same-origin"), (site, "cross-site")]), "repeated");
    }

    #[test]
    fn a_cached_password_counts_only_for_requests_of_its_own_origin() {
        let counts = |sent: &[(HeaderName, &'static str)], own: Option<&str>| {
            let header = |(name, value): &(HeaderName, &'static str)| {
                (name.clone(), HeaderValue::from_static(value))
            };
            is_sent_on_purpose(&sent.iter().map(header).collect(), own)
        };
        let (origin, referer, site) = (header::ORIGIN, header::REFERER, SEC_FETCH_SITE);
        let page = "https://auth.example.com/a?b";
        for sent in [
            &[][..],
            &[(site.clone(), "same-origin"), (referer.clone(), page)],
            &[(site.clone(), "none")],
            &[(origin.clone(), OWN)],
            &[(referer.clone(), page)],
            &[(referer.clone(), page), (header::ACCEPT, "text/html")],
            &[(header::ACCEPT, "*/*")],
            &[(header::ACCEPT, "text/calendar,*/*;q=0.5")],
        ] {
            assert!(counts(sent, Some(OWN)), "{sent:?}");
        }
        for sent in [
            &[(site.clone(), "same-site")][..],
            &[(site.clone(), "cross-site"), (referer.clone(), page)],
            &[(site, ""), (origin.clone(), OWN)],
            &[(origin.clone(), "https://evil.example.com")],
            &[(origin.clone(), "null")],
            &[(referer.clone(), "https://evil.example.com/")],
            &[(referer.clone(), "https://auth.example.com.evil.com/")],
            &[(referer.clone(), "https://auth.example.com:444/")],
            &[(referer.clone(), "about:blank")],
            &[(origin.clone(), OWN), (referer.clone(), "https://evil.example.com/")],
            &[(referer.clone(), page), (referer.clone(), page)],
            &[(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")],
        ] {
            assert!(!counts(sent, Some(OWN)), "{sent:?}");
        }
        assert!(counts(&[], None));
        assert!(!counts(&[(origin, OWN)], None) && !counts(&[(referer, page)], None));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_page_of_another_origin_or_of_a_name_that_is_not_loopback_is_another_site() {
        let is_other = |sent: &[(HeaderName, &'static str)]| {
            let value = |(name, value): &(HeaderName, &'static str)| {
                (name.clone(), HeaderValue::from_static(value))
            };
            is_from_other_site(&sent.iter().map(value).collect())
        };
        let host = (header::HOST, "127.0.0.1:3000");
        let (origin, site) = (header::ORIGIN, SEC_FETCH_SITE);
        for own in [
            &[][..],
            &[(origin.clone(), "http://127.0.0.1:3000"), (site.clone(), "same-origin")],
            &[(site.clone(), "none")],
        ] {
            assert!(!is_other(&[std::slice::from_ref(&host), own].concat()), "{own:?}");
        }
        for other in [
            &[(origin.clone(), "http://127.0.0.1:5173")][..],
            &[(origin.clone(), "https://127.0.0.1:3000")],
            &[(origin.clone(), "null")],
            &[(site.clone(), "same-site")],
            &[(site.clone(), "cross-site")],
            &[(origin, "http://127.0.0.1:3000"), (site, "cross-site")],
        ] {
            assert!(is_other(&[std::slice::from_ref(&host), other].concat()), "{other:?}");
        }
        assert!(!is_other(&[(header::HOST, "localhost:3000")]));
        assert!(is_other(&[(header::HOST, "evil.example:3000")]));
        assert!(is_other(&[]));
    }

    #[test]
    fn a_repeated_header_is_not_trusted() {
        for (name, value) in [(SEC_FETCH_SITE, "same-origin"), (header::ORIGIN, OWN)] {
            let name: HeaderName = name;
            let mut headers = HeaderMap::new();
            headers.append(name.clone(), HeaderValue::from_static(value));
            assert!(is_own_request(&headers, OWN), "{name}");
            headers.append(name.clone(), HeaderValue::from_static(value));
            assert!(!is_own_request(&headers, OWN), "{name}");
        }
    }
}
