//! Cookies in requests and answers. Their names are in `token/cookie/names.rs`. Plain HTTP is for loopback hosts only, where
//! browsers disagree about `Secure`.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use memchr::memchr;

use crate::{
    clock::Timestamp,
    session::Session,
    token::{
        cookie::{CookieNames, is_attempt, is_doorwards},
        external::{ATTEMPT_LIFETIME as LOGIN_ATTEMPT_LIFETIME, PENDING_LIFETIME},
    },
};

/// How long a try cookie is kept after the last redirect to the sign-in page. A sign-in form may stay open for a day.
const ATTEMPT_LIFETIME: Duration = Duration::from_secs(25 * 60 * 60);

impl CookieNames {
    /// The values of the try cookies of a browser.
    pub(in crate::http) fn attempts<'h>(&self, headers: &'h HeaderMap) -> Vec<&'h str> {
        let own = pairs(headers).filter(|(name, _)| name.starts_with(self.attempt.as_bytes()));
        let values = own.filter_map(|(_, value)| str::from_utf8(value).ok());
        values.filter(|value| is_attempt(value)).collect()
    }

    /// A try cookie with this value.
    pub(in crate::http) fn set_attempt(&self, value: &str) -> HeaderValue {
        // Part of the value distinguishes the names of attempts that begin at the same time.
        let name = format!("{}{}", self.attempt, value.get(..8).unwrap_or(value));
        self.set(&name, value, Some(ATTEMPT_LIFETIME))
    }

    /// The name of the cookie of an attempt to sign in at another provider. Each has one of its own.
    pub(in crate::http) fn login_attempt(&self, id: &str) -> String {
        format!("{}login-{}", self.attempt, id.get(..8).unwrap_or(id))
    }

    /// The names of the cookies of attempts that began long before the newest. A browser sends the oldest first.
    pub(in crate::http) fn old_login_attempts(&self, headers: &HeaderMap) -> Vec<String> {
        const KEPT: usize = 2;
        let start = self.login_attempt("");
        let own = pairs(headers).filter(|(name, _)| name.starts_with(start.as_bytes()));
        let mut names: Vec<_> =
            own.filter_map(|(name, _)| String::from_utf8(name.to_vec()).ok()).collect();
        names.truncate(names.len().saturating_sub(KEPT));
        names
    }

    /// The cookie of an attempt with this id.
    pub(in crate::http) fn set_login_attempt(&self, id: &str, value: &str) -> HeaderValue {
        self.set(&self.login_attempt(id), value, Some(LOGIN_ATTEMPT_LIFETIME))
    }

    /// The name of the cookie of an account at another provider that waits to be linked.
    pub(in crate::http) fn pending_link(&self) -> String {
        format!("{}link", self.attempt)
    }

    pub(in crate::http) fn set_pending_link(&self, value: &str) -> HeaderValue {
        self.set(&self.pending_link(), value, Some(PENDING_LIFETIME))
    }

    /// Sets a cookie that names a session. It lasts as long as the session of a person who stays signed in, and else ends
    /// with the browser.
    pub(in crate::http) fn set_for(
        &self,
        session: &Session,
        name: &str,
        value: &str,
        now: Timestamp,
    ) -> HeaderValue {
        let max_age = match session.idle_timeout {
            Some(_) => None,
            None => Some(session.expires_at.duration_since(now)),
        };
        self.set(name, value, max_age)
    }

    /// Sets the cookie of a browser that its user trusts for this long.
    pub(in crate::http) fn set_device(&self, value: &str, lifetime: Duration) -> HeaderValue {
        self.set(&self.device, value, Some(lifetime))
    }

    /// Sets a cookie. Without `max_age` it ends with the browser.
    fn set(&self, name: &str, value: &str, max_age: Option<Duration>) -> HeaderValue {
        let max_age =
            max_age.map_or_else(String::new, |age| format!("; Max-Age={}", age.as_secs()));
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{max_age}");
        HeaderValue::try_from(cookie).expect("names and values of our cookies are ASCII")
    }

    /// Removes a cookie.
    pub(in crate::http) fn remove(&self, name: &str) -> HeaderValue {
        self.set(name, "", Some(Duration::ZERO))
    }
}

/// The value of a cookie. One that occurs twice counts as absent, because another application on the host may have set
/// one of them.
pub(in crate::http) fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h [u8]> {
    let mut found = None;
    // Loops, because every guarded request of a browser comes here, and `pairs` costs twice as much.
    for line in headers.get_all(header::COOKIE) {
        for cookie in Cookies(line.as_bytes()) {
            let value =
                cookie.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            if value.is_some() && std::mem::replace(&mut found, value).is_some() {
                return None;
            }
        }
    }
    found
}

/// The cookies of a request without Doorward's, in their order. None if nothing is left.
pub(in crate::http) fn app_cookies(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut kept = Vec::new();
    for cookie in all(headers) {
        let name = &cookie[..memchr(b'=', cookie).unwrap_or(cookie.len())];
        if cookie.is_empty() || is_doorwards(name) {
            continue;
        }
        kept.extend_from_slice(if kept.is_empty() { b"" } else { b"; " });
        kept.extend_from_slice(cookie);
    }
    if kept.is_empty() { None } else { HeaderValue::from_bytes(&kept).ok() }
}

/// The names and values of all cookies of a request. A text without `=` is no cookie of ours.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    all(headers).filter_map(|cookie| {
        let name_end = memchr(b'=', cookie)?;
        Some((&cookie[..name_end], &cookie[name_end + 1..]))
    })
}

/// The cookies of a request, each a name and a value. Bytes, because a cookie of another application need not be ASCII.
fn all(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers.get_all(header::COOKIE).iter().flat_map(|line| Cookies(line.as_bytes()))
}

/// The cookies in the rest of a line.
struct Cookies<'h>(&'h [u8]);

impl<'h> Iterator for Cookies<'h> {
    type Item = &'h [u8];

    fn next(&mut self) -> Option<&'h [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr(b';', self.0).unwrap_or(self.0.len());
        let (cookie, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        Some(cookie.trim_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{cookie::CookieMint, shared_secret::SharedSecret};

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn a_cookie_is_found_by_its_exact_name() {
        let sent = headers(&["a=1; __Host-doorward=x.y; b=2", "__Host-doorward-app=z"]);
        assert_eq!(value(&sent, "__Host-doorward"), Some(&b"x.y"[..]));
        assert_eq!(value(&sent, "__Host-doorward-app"), Some(&b"z"[..]));
        assert_eq!(value(&sent, "doorward"), None);
        assert_eq!(value(&sent, "__host-doorward"), None);
        assert_eq!(value(&headers(&["a=1; a=2"]), "a"), None, "ambiguous");
        assert_eq!(value(&headers(&["a=1", "a=1"]), "a"), None, "ambiguous");
        assert_eq!(value(&headers(&["nonsense; =; a"]), "a"), None);
        let other = HeaderValue::from_bytes(b"lang=J\xc3\xbcrgen; x=\xff; a=1").unwrap();
        let sent = HeaderMap::from_iter([(header::COOKIE, other)]);
        assert_eq!(value(&sent, "a"), Some(&b"1"[..]), "beside a cookie that is not ASCII");
        assert_eq!(value(&sent, "x"), Some(&b"\xff"[..]));
    }

    #[test]
    fn an_app_gets_its_own_cookies_only() {
        let kept = |lines: &[&'static str]| {
            app_cookies(&headers(lines)).map(|value| value.to_str().unwrap().to_owned())
        };
        for (sent, expected) in [
            ("a=1", Some("a=1")),
            ("doorward-app=x", None),
            ("__Host-doorward=x; __Host-doorward-app=y;__Host-doorward-try-ab=z", None),
            (
                "a=1; doorward-app-0f=x; b=\"2 3\"; doorward-session-1e=y; doorward-try-ab-c=z; c=",
                Some("a=1; b=\"2 3\"; c="),
            ),
            (
                "Doorward=1; xdoorward=2; doorward-apple=3; a==4",
                Some("Doorward=1; xdoorward=2; doorward-apple=3; a==4"),
            ),
            ("; ;", None),
        ] {
            assert_eq!(kept(&[sent]).as_deref(), expected, "{sent}");
        }
        assert_eq!(
            kept(&["a=1; doorward=x", "doorward-app=y", "b=2"]).as_deref(),
            Some("a=1; b=2")
        );
        assert_eq!(kept(&[]), None);
        let other = HeaderValue::from_bytes(b"a=\xff; doorward=x").unwrap();
        assert_eq!(
            app_cookies(&HeaderMap::from_iter([(header::COOKIE, other)])).unwrap().as_bytes(),
            b"a=\xff"
        );
    }

    #[test]
    fn parallel_attempts_have_cookies_of_their_own() {
        let names = CookieMint::new(&SharedSecret::random()).names(true);
        let (one, other) = (names.set_attempt("abcdefghij"), names.set_attempt("zbcdefghij"));
        assert_eq!(
            one,
            "__Host-doorward-try-abcdefgh=abcdefghij; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=90000"
        );
        assert_ne!(
            one.to_str().unwrap().split('=').next(),
            other.to_str().unwrap().split('=').next()
        );
        let sent = headers(&[
            "__Host-doorward-try-a=aaaaaaaaaaaaaaaaaaaaaa; x=y; __Host-doorward-try-b=bbbbbbbbbbbbbbbbbbbbbb; __Host-doorward-try-c=odd",
        ]);
        let (one, other) = ("aaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbb");
        assert_eq!(names.attempts(&sent), [one, other]);
    }

    #[test]
    fn a_cookie_without_max_age_ends_with_the_browser() {
        let mint = CookieMint::new(&SharedSecret::random());
        let set = mint.names(false).set("doorward-app-1", "v", None);
        assert_eq!(set, "doorward-app-1=v; Path=/; HttpOnly; SameSite=Lax");
        let removed = mint.names(true).remove("__Host-doorward");
        assert_eq!(removed, "__Host-doorward=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0");
    }
}
