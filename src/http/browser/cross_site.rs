//! Requests that another site has caused. `Sec-Fetch-Site` tells them apart; browsers do not send it to plain-HTTP origins,
//! where `Origin` decides.

use axum::http::{HeaderMap, header};

use super::{SEC_FETCH_SITE, Single, single};

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
