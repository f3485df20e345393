//! Navigations: requests of a browser for a page that a person sees. Only these are redirected to a sign-in page.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use memchr::memmem;

use super::{
    PURPOSES, SEC_FETCH_DEST, SEC_FETCH_MODE, SEC_FETCH_SITE, Single, X_REQUESTED_WITH, single,
};

/// Whether a person sees the answer. A frame, a script, a WebSocket or a program does not follow redirects to a page. What a
/// browser prefetches, nobody may ever see.
pub(in crate::http) fn is_navigation(headers: &HeaderMap, method: &str) -> bool {
    if is_prefetch(headers) {
        return false;
    }
    match (single(headers, &SEC_FETCH_MODE), single(headers, &SEC_FETCH_DEST)) {
        (Single::Absent, Single::Absent) => {
            ["GET", "HEAD"].contains(&method)
                && accepts_html(headers)
                && !headers.contains_key(&X_REQUESTED_WITH)
                && !headers.contains_key(header::UPGRADE)
        }
        (mode, dest) => mode == Single::Value("navigate") && dest == Single::Value("document"),
    }
}

/// Whether a browser asks before somebody has opened the link, if they ever do. A page can cause it without its visitor.
pub(in crate::http) fn is_prefetch(headers: &HeaderMap) -> bool {
    // `prefetch`, or `prefetch;prerender`.
    let is_said = |value: &HeaderValue| {
        let start = value.as_bytes().trim_ascii_start().get(..b"prefetch".len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(b"prefetch"))
    };
    PURPOSES.iter().any(|name| headers.get_all(name).iter().any(is_said))
}

/// Whether the answer is for a window and not for a frame or a script, as far as the browser tells.
pub(in crate::http) fn is_in_window(headers: &HeaderMap) -> bool {
    let is = |name: HeaderName, expected| match single(headers, &name) {
        Single::Absent => true,
        Single::Value(value) => value == expected,
        Single::Ambiguous => false,
    };
    is(SEC_FETCH_MODE, "navigate") && is(SEC_FETCH_DEST, "document")
}

/// Whether a program and no browser has sent a request, as far as the headers tell. A browser without Fetch Metadata is known by its
/// name, by the page that it comes from, and by what it accepts for a page, an image or a style sheet. Thunderbird, which reads
/// calendars and contacts, has the name of a browser.
pub(in crate::http) fn is_from_program(headers: &HeaderMap) -> bool {
    let of_browsers = [
        SEC_FETCH_SITE,
        SEC_FETCH_MODE,
        SEC_FETCH_DEST,
        X_REQUESTED_WITH,
        header::ORIGIN,
        header::REFERER,
    ];
    let name = headers.get(header::USER_AGENT).map_or(&b""[..], HeaderValue::as_bytes);
    !of_browsers.iter().any(|name| headers.contains_key(name))
        && (!name.starts_with(b"Mozilla/") || memmem::find(name, b"Thunderbird/").is_some())
        && !is_prefetch(headers)
        && !accepts(headers, |media| {
            media == "text/html" || media == "text/css" || media.starts_with("image/")
        })
}

/// Whether `Accept` names HTML. `*/*` alone is what programs send.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    accepts(headers, |media| media == "text/html")
}

/// Whether `Accept` names such a type.
fn accepts(headers: &HeaderMap, is_meant: impl Fn(&str) -> bool) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|range| {
        let essence = range.split(';').next().unwrap_or_default();
        is_meant(&essence.trim().to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_page(method: &str, sent: &[(&'static str, &'static str)]) -> bool {
        let pairs = sent
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        is_navigation(&pairs.collect(), method)
    }

    const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

    #[test]
    fn fetch_metadata_decides_where_it_is_sent() {
        let mode = |mode, dest| [("sec-fetch-mode", mode), ("sec-fetch-dest", dest), HTML];
        assert!(is_page("GET", &mode("navigate", "document")));
        assert!(is_page("POST", &mode("navigate", "document")), "a form");
        for (headers, what) in [
            (mode("navigate", "iframe"), "a frame"),
            (mode("cors", "empty"), "fetch"),
            (mode("no-cors", "image"), "an image"),
            (mode("websocket", "websocket"), "a WebSocket"),
        ] {
            assert!(!is_page("GET", &headers), "{what}");
        }
        assert!(!is_page("GET", &[("sec-fetch-mode", "navigate"), HTML]), "incomplete");
    }

    #[test]
    fn only_a_navigation_of_a_window_is_in_a_window() {
        let is_in_window = |sent: &[(&'static str, &'static str)]| {
            let header = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            is_in_window(&sent.iter().map(header).collect())
        };
        let (mode, dest) = ("sec-fetch-mode", "sec-fetch-dest");
        for sent in [
            &[][..],
            &[(mode, "navigate")],
            &[(dest, "document")],
            &[(mode, "navigate"), (dest, "document")],
        ] {
            assert!(is_in_window(sent), "{sent:?}");
        }
        for sent in [
            &[(mode, "navigate"), (dest, "iframe")][..],
            &[(mode, "navigate"), (dest, "frame")],
            &[(mode, "navigate"), (dest, "object")],
            &[(mode, "navigate"), (dest, "embed")],
            &[(mode, "no-cors"), (dest, "empty")],
            &[(mode, "cors"), (dest, "empty")],
            &[(mode, "no-cors"), (dest, "image")],
            &[(mode, "no-cors"), (dest, "document")],
            &[(dest, "")],
            &[(dest, "document"), (dest, "document")],
        ] {
            assert!(!is_in_window(sent), "{sent:?}");
        }
    }

    #[test]
    fn programs_send_nothing_that_only_browsers_send() {
        let is_from_program = |sent: &[(&'static str, &'static str)]| {
            let header = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            is_from_program(&sent.iter().map(header).collect())
        };
        for program in [
            &[][..],
            &[("user-agent", "git/2.47.3"), ("accept", "*/*")],
            &[("user-agent", "curl/8.14.1"), ("accept", "*/*")],
            &[("user-agent", "DAVx5/4.5"), ("accept", "application/xml")],
            &[("user-agent", "Mozilla/5.0 (X11; rv:140.0) Gecko/20100101 Thunderbird/140.0")],
        ] {
            assert!(is_from_program(program), "{program:?}");
        }
        for browser in [
            &[HTML][..],
            &[("sec-fetch-site", "same-origin"), ("accept", "*/*")],
            &[("sec-fetch-mode", "cors")],
            &[("sec-fetch-dest", "image")],
            &[("origin", "http://app.example")],
            &[("x-requested-with", "XMLHttpRequest")],
            &[("referer", "https://app.example/")],
            &[("accept", "image/webp,image/png,image/*;q=0.8,*/*;q=0.5")],
            &[("accept", "text/css,*/*;q=0.1")],
            &[("purpose", "prefetch")],
            &[("user-agent", "Mozilla/5.0 (iPhone) Safari/604.1"), ("accept", "*/*")],
        ] {
            assert!(!is_from_program(browser), "{browser:?}");
        }
    }

    #[test]
    fn nobody_sees_what_is_prefetched() {
        let navigation = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"), HTML];
        for purpose in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", " Prefetch; anonymous-client-ip"),
            ("purpose", "prefetch"),
            ("x-moz", "prefetch"),
        ] {
            let sent = [&navigation[..], &[purpose]].concat();
            assert!(!is_page("GET", &sent), "{purpose:?}");
            assert!(!is_page("GET", &[HTML, purpose]), "{purpose:?}");
        }
        for other in [("sec-purpose", ""), ("purpose", "preview"), ("x-purpose", "prefetch")] {
            assert!(is_page("GET", &[&navigation[..], &[other]].concat()), "{other:?}");
        }
    }

    #[test]
    fn without_fetch_metadata_accept_decides() {
        assert!(is_page("GET", &[HTML]));
        assert!(is_page("HEAD", &[HTML]));
        assert!(!is_page("POST", &[HTML]));
        assert!(!is_page("GET", &[("accept", "*/*")]));
        assert!(!is_page("GET", &[("accept", "application/json, text/html-like")]));
        assert!(!is_page("GET", &[HTML, ("x-requested-with", "XMLHttpRequest")]));
        assert!(!is_page("GET", &[HTML, ("upgrade", "websocket")]));
        assert!(!is_page("GET", &[]));
    }
}
