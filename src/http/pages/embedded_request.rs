//! Requests of people to the routes of an app that embeds the service. The app and the pages share an origin, so the session cookie
//! tells who they are, by the rules of the pages.

use axum::{
    extract::OriginalUri,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use super::{
    answer::{Pages, VARY},
    decision::{may_see_reason, path_of},
    return_target::{MAX_PATH_BYTES, is_own_path, seal_path},
    view::{Refused, html},
    visit::SIGN_IN,
};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::Missing,
        refusals::DecisionId,
    },
    http::{
        answer::{CROSS_ORIGIN_RESOURCE_POLICY, NO_STORE, SAME_ORIGIN},
        browser::{
            cookies,
            cross_site::{is_own_request, is_safe},
            navigation::is_navigation,
            site::{NeedsHttps, Site},
        },
        client_ip::{accept_language, requester},
        error::add_decision,
        paths::page_of,
    },
};

/// A request without `Authorization` to a route of the app.
pub(in crate::http) struct EmbeddedRequest<'r> {
    doorward: &'r Doorward,
    parts: &'r Parts,
    site: Site,
}

impl<'r> EmbeddedRequest<'r> {
    pub(in crate::http) fn new(doorward: &'r Doorward, parts: &'r Parts) -> Self {
        Self { doorward, parts, site: Site::new(doorward.public_base()) }
    }

    pub(in crate::http) fn doorward(&self) -> &'r Doorward {
        self.doorward
    }

    /// The person whose browser sent the request. One that changes something counts only if the app itself caused it.
    pub(in crate::http) async fn caller(&self) -> Result<Caller, AuthError> {
        let headers = self.headers();
        let origin = self.site.expected_origin(headers);
        let origin = origin.map_err(|NeedsHttps| Unauthenticated::NoToken)?;
        let names = self.doorward.cookies().names(self.site.is_https);
        let cookie = cookies::value(headers, &names.session);
        let cookie = cookie.ok_or(Unauthenticated::NoToken)?;
        let caller = self.doorward.caller_by_session_cookie(cookie).await?;
        let counts = self.changes_nothing() || is_own_request(headers, &origin);
        if counts { Ok(caller) } else { Err(Unauthenticated::CrossSite.into()) }
    }

    /// Whether a person sees the answer.
    pub(in crate::http) fn is_navigation(&self) -> bool {
        is_navigation(self.headers(), self.parts.method.as_str())
    }

    /// The redirect of a person who has to sign in. They return to the link that they opened.
    pub(in crate::http) fn way_to_sign_in(&self) -> Response {
        self.redirect(self.sign_in_url())
    }

    /// The redirect of a person to where they get what they lack, and from there to the link that they opened.
    pub(in crate::http) fn way_to_missing(
        &self,
        missing: Missing,
        decision: DecisionId,
    ) -> Response {
        let sealed = seal_path(self.doorward, &self.return_path());
        let page = page_of(missing, &sealed);
        let mut response = self.redirect(format!("{}{page}", self.site.base_path()));
        add_decision(response.headers_mut(), decision);
        response
    }

    fn redirect(&self, location: String) -> Response {
        let location = HeaderValue::try_from(location);
        let headers = [
            (header::LOCATION, location.expect("our URLs are printable ASCII")),
            (header::CACHE_CONTROL, NO_STORE),
            (header::VARY, VARY),
            (header::REFERRER_POLICY, SAME_ORIGIN),
            (CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN),
        ];
        (StatusCode::SEE_OTHER, headers).into_response()
    }

    /// 403 for a person whom the policy does not admit.
    pub(in crate::http) fn refused(&self, caller: &Caller, decision: DecisionId) -> Response {
        // Made for this answer: refused people are few.
        let pages = Pages::new(self.doorward.clone());
        let language = accept_language(self.headers());
        let (id, somebody_else) = (decision.to_string(), format!("{}&other=1", self.sign_in_url()));
        let try_again = format!("{}{}", self.site.base_path(), self.return_path());
        let decision_link = format!("{}{}", self.site.base_path(), path_of(&id));
        let address = requester(self.parts, self.doorward).client.address;
        let sees_reason = may_see_reason(self.doorward, caller, &id, address);
        let page = Refused {
            page: pages.context(language),
            app: self.doorward.settings().service_name(),
            is_own: true,
            signed_in_as: Some((caller.user.name.as_str(), caller.user.email.as_str())),
            try_again: Some(&try_again),
            somebody_else: Some(&somebody_else),
            decision: &id,
            decision_link: sees_reason.then_some(&*decision_link),
            missing: None,
            why: None,
        };
        let html = html(&page);
        let mut response = pages.html(StatusCode::FORBIDDEN, language, html, None);
        add_decision(response.headers_mut(), decision);
        response
    }

    fn headers(&self) -> &'r HeaderMap {
        &self.parts.headers
    }

    /// A WebSocket may change something whatever its method is.
    fn changes_nothing(&self) -> bool {
        let upgrades = [header::UPGRADE, header::SEC_WEBSOCKET_VERSION];
        is_safe(self.parts.method.as_str())
            && !upgrades.iter().any(|name| self.headers().contains_key(name))
    }

    fn sign_in_url(&self) -> String {
        let sealed = seal_path(self.doorward, &self.return_path());
        format!("{}{SIGN_IN}?for={sealed}", self.site.base_path())
    }

    /// Where the person returns to. A form cannot be sent again, so they return to its page.
    fn return_path(&self) -> String {
        let wanted = match ["GET", "HEAD"].contains(&self.parts.method.as_str()) {
            true => self.target(),
            false => self.page_of_form(),
        };
        let wanted = wanted.filter(|path| is_own_path(path)).unwrap_or("/");
        if wanted.len() <= MAX_PATH_BYTES {
            return wanted.to_owned();
        }
        let path = wanted.split('?').next().filter(|path| path.len() <= MAX_PATH_BYTES);
        path.unwrap_or("/").to_owned()
    }

    /// The path and the query that the browser asked for. A nested router sees only a part of them.
    fn target(&self) -> Option<&'r str> {
        let original = self.parts.extensions.get::<OriginalUri>();
        let uri = original.map_or(&self.parts.uri, |OriginalUri(uri)| uri);
        uri.path_and_query().map(|target| target.as_str())
    }

    fn page_of_form(&self) -> Option<&'r str> {
        let page = self.headers().get(header::REFERER)?.to_str().ok()?;
        let path = page.strip_prefix(&*self.site.expected_origin(self.headers()).ok()?)?;
        // The app does not see the path below which it is published.
        path.strip_prefix(self.site.base_path())
    }
}
