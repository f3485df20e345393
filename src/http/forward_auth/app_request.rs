//! Requests of browsers to an app whose guard has `origins`: who the person is by their app cookie, and the way to the
//! sign-in page and back.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use ipnet::IpNet;

use super::{forwarded_request::ForwardedRequest, full_answer::asks_for_full_answer};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::{AppOrigin, Guard, Missing, ProxyStyle},
    },
    account::app_sign_in::{self, CodeError},
    http::{
        browser::{
            cookies,
            cross_site::{is_own_request, is_safe},
            navigation::{is_navigation, is_prefetch},
        },
        paths::{APP_SIGN_IN, APP_SIGN_OUT, page_of},
    },
    network::Requester,
    token::cookie::{AttemptDigest, NamesInForce, ReturnTarget, random_attempt},
};

/// A request without `Authorization` to an origin of a guard.
pub(super) struct AppRequest<'a> {
    guard: &'a Guard,
    /// The request to the guard.
    pub(super) forwarded: ForwardedRequest<'a>,
    origin: &'a AppOrigin,
    method: &'a str,
    /// The path and the query, not decoded.
    target: &'a str,
    is_websocket: bool,
    pub(super) headers: &'a HeaderMap,
    use_of_answer: UseOfAnswer,
}

/// What a proxy does with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UseOfAnswer {
    /// It forwards an admitted request, and returns any other answer to the client.
    Whole,
    /// It uses only the status, and asks again about a refusal. What the answer changes has to wait for that.
    Status,
    /// It asks again, and returns the answer to the client.
    Refusal,
}

/// The queries of [`APP_SIGN_IN`] after a code was refused.
const NO_COOKIE: &str = "no-cookie";
const USED: &str = "used";
/// Longer URLs are not kept across a sign-in.
const MAX_URL_BYTES: usize = 2048;

impl<'a> AppRequest<'a> {
    /// `None` if the request has `Authorization`, or is not to an origin of the guard.
    pub(super) fn new(
        guard: &'a Arc<Guard>,
        forwarded: ForwardedRequest<'a>,
        trusted: &[IpNet],
    ) -> Option<Self> {
        let parts = forwarded.parts;
        if parts.headers.contains_key(header::AUTHORIZATION) {
            return None;
        }
        let style = guard.proxy?;
        let sent = forwarded.browser_request(style, trusted)?;
        let origin = AppOrigin::of_request(&guard.origins, sent.scheme, sent.host)?;
        Some(Self {
            guard,
            forwarded,
            origin,
            method: sent.method,
            target: sent.target,
            is_websocket: sent.is_websocket,
            headers: &parts.headers,
            use_of_answer: match style {
                ProxyStyle::Nginx if asks_for_full_answer(&parts.uri) => UseOfAnswer::Refusal,
                ProxyStyle::Nginx => UseOfAnswer::Status,
                _ => UseOfAnswer::Whole,
            },
        })
    }

    pub(super) fn use_of_answer(&self) -> UseOfAnswer {
        self.use_of_answer
    }

    /// Whether a person sees the answer.
    pub(super) fn is_navigation(&self) -> bool {
        is_navigation(self.headers, self.method)
    }

    /// Whether the browser asks before somebody has opened the link. It gets nothing that works once.
    pub(super) fn is_prefetch(&self) -> bool {
        is_prefetch(self.headers)
    }

    /// Whether the request may change something, so that a browser repeats it only if the person says so.
    pub(super) fn is_form(&self) -> bool {
        !is_safe(self.method)
    }

    /// Whether this request ends a sign-in.
    pub(super) fn is_sign_in(&self) -> bool {
        let rest = self.target.strip_prefix(APP_SIGN_IN);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
    }

    /// Whether a person follows the link with which they leave the app.
    pub(super) fn is_sign_out(&self) -> bool {
        self.target == APP_SIGN_OUT && self.is_navigation()
    }

    /// The person whose browser sent the request. A request that changes something counts only if the app itself caused it.
    pub(super) async fn caller(&self, doorward: &Doorward) -> Result<Caller, AuthError> {
        let names = self.cookie_names(doorward);
        let cookie = cookies::value(self.headers, &names.app);
        let cookie = cookie.ok_or(Unauthenticated::NoToken)?;
        let caller = doorward.caller_by_app_cookie(cookie, self.origin.as_str()).await?;
        if self.counts() { Ok(caller) } else { Err(Unauthenticated::CrossSite.into()) }
    }

    /// Whether a cookie counts: the request changes nothing, or the app itself caused it.
    fn counts(&self) -> bool {
        (is_safe(self.method) && !self.is_websocket)
            || self.guard.cross_site
            || is_own_request(self.headers, self.origin.as_str())
    }

    /// Where the browser goes after a form of another site, which comes without our cookies. The request that follows has
    /// them. The other site could otherwise fill the browser with try cookies.
    pub(super) fn way_around_foreign_form(&self, doorward: &Doorward) -> Option<Redirection> {
        let is_foreign =
            !is_safe(self.method) && !is_own_request(self.headers, self.origin.as_str());
        let has_attempt = !self.cookie_names(doorward).attempts(self.headers).is_empty();
        (is_foreign && !has_attempt)
            .then(|| Redirection { location: self.return_url(), cookies: Vec::new() })
    }

    fn cookie_names(&self, doorward: &Doorward) -> NamesInForce {
        doorward.cookies().names(self.origin.is_https())
    }

    /// The URL of the request itself.
    pub(super) fn own_url(&self) -> String {
        self.url(self.target)
    }

    /// The start page of the app.
    pub(super) fn start_url(&self) -> String {
        self.url("/")
    }

    /// The URL of a path on the origin of the app. Anything that is not a path leads to the start page.
    fn url(&self, target: &str) -> String {
        let is_path = target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic());
        format!("{}{}", self.origin, if is_path { target } else { "/" })
    }

    /// Where the person returns to after signing in. A form cannot be sent again, so they return to its page.
    pub(super) fn return_url(&self) -> String {
        let is_short = |url: &String| url.len() <= MAX_URL_BYTES;
        if !["GET", "HEAD"].contains(&self.method) {
            let referrer = self.headers.get(header::REFERER).and_then(|url| url.to_str().ok());
            let own = referrer.filter(|url| self.origin.contains(url)).map(str::to_owned);
            return own.filter(is_short).unwrap_or_else(|| self.start_url());
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let whole = Some(self.own_url()).filter(is_short);
        let without_query = || Some(self.url(path)).filter(is_short);
        whole.or_else(without_query).unwrap_or_else(|| self.start_url())
    }

    /// Where a browser goes to sign in.
    pub(super) fn way_to_sign_in(&self, doorward: &Doorward) -> Redirection {
        self.way_to_page(doorward, self.return_url(), |sealed| format!("/sign-in?for={sealed}"))
    }

    /// Where a person signs out, and returns from to the start page of the app.
    pub(super) fn way_to_sign_out(&self, doorward: &Doorward) -> Redirection {
        self.way_to_page(doorward, self.start_url(), |sealed| format!("/sign-out?for={sealed}"))
    }

    /// Where a signed-in person gets what they lack.
    pub(super) fn way_to_missing(&self, doorward: &Doorward, missing: Missing) -> Redirection {
        self.way_to_page(doorward, self.return_url(), |sealed| page_of(missing, sealed))
    }

    /// The way to a page that leads back to this URL of the app, with the try cookie that binds the attempt to the browser.
    fn way_to_page(
        &self,
        doorward: &Doorward,
        url: String,
        page: impl FnOnce(&str) -> String,
    ) -> Redirection {
        let names = self.cookie_names(doorward);
        let attempt = match names.attempts(self.headers).first() {
            // One attempt for all tabs: whichever finishes first does not invalidate the others.
            Some(attempt) => (*attempt).to_owned(),
            None => random_attempt(),
        };
        let target = ReturnTarget {
            guard: self.guard.name.clone(),
            url,
            attempt: Some(AttemptDigest::of(&attempt)),
        };
        let sealed = doorward.cookies().seal_target(&target);
        Redirection {
            location: format!("{}{}", doorward.public_base(), page(&sealed)),
            cookies: vec![names.set_attempt(&attempt)],
        }
    }

    /// Ends a sign-in: exchanges the code for the app cookie.
    pub(super) async fn finish_sign_in(
        &self,
        doorward: &Doorward,
    ) -> Result<Redirection, CodeError> {
        let names = self.cookie_names(doorward);
        let code = self.code().unwrap_or_default();
        let client = self.forwarded.client(doorward);
        let requester = Requester { request_id: Some(self.forwarded.id), ..Requester::new(client) };
        let (attempts, origin) = (names.attempts(self.headers), self.origin.as_str());
        match app_sign_in::use_code(doorward, code, origin, &attempts, &requester).await {
            Ok(used) => {
                let cookie = doorward.cookies().app_cookie(&used.session, origin);
                doorward.remember_app_cookie(&cookie, origin).await;
                let set = names.set_for(&used.session, &names.app, &cookie, doorward.now());
                // The try cookie stays: other tabs may have begun with it.
                let cookies = vec![set];
                Ok(Redirection { location: self.own_or_start(used.url), cookies })
            }
            // Going back in the history, or a second click: the browser is signed in already.
            Err(CodeError::Invalid | CodeError::NoAttempt)
                if self.caller(doorward).await.is_ok() =>
            {
                let opened = doorward.cookies().open_code(code, origin);
                let url = opened.map_or_else(|| self.start_url(), |code| code.url);
                Ok(Redirection { location: self.own_or_start(url), cookies: Vec::new() })
            }
            Err(error) => Err(error),
        }
    }

    /// The code in the URL of a request that ends a sign-in.
    pub(super) fn code(&self) -> Option<&'a str> {
        self.target.strip_prefix(APP_SIGN_IN)?.strip_prefix("?code=")
    }

    /// Where a browser learns why its code was refused, under a URL without the code: the history, scripts and the
    /// `Referer` header see URLs.
    pub(super) fn way_to_reason(&self, is_without_cookies: bool) -> Redirection {
        let reason = if is_without_cookies { NO_COOKIE } else { USED };
        let location = self.url(&format!("{APP_SIGN_IN}?{reason}"));
        Redirection { location, cookies: Vec::new() }
    }

    /// Whether the code of this browser was refused because it has no try cookie.
    pub(super) fn is_without_cookies(&self) -> bool {
        self.target.ends_with(NO_COOKIE)
    }

    fn own_or_start(&self, url: String) -> String {
        if self.origin.contains(&url) { url } else { self.start_url() }
    }
}

/// A redirect, and the cookies that it sets.
pub(super) struct Redirection {
    pub(super) location: String,
    pub(super) cookies: Vec<HeaderValue>,
}
