//! A request for a page: who sent it, in which language they read, and how they are answered.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use form_urlencoded::parse;

use super::{
    answer::{Pages, has_secret, hide_url},
    text::{LinkTo, Message},
    view::{MessagePage, PageContext, html},
};
use crate::{
    Doorward,
    access::caller::{AuthError, Caller},
    http::{
        Error,
        browser::{
            cookies,
            cross_site::{is_own_request, is_safe, may_read},
            navigation::{is_in_window, is_prefetch},
            site::NeedsHttps,
        },
        client_ip::{accept_language, requester},
    },
    language::Language,
    network::Requester,
    session::SessionId,
    token::external::PendingLink,
};

/// A request for a page of this site. One that another site has caused is refused before it is read.
pub(in crate::http) struct Visit {
    pub(super) pages: Arc<Pages>,
    pub(super) language: Language,
    pub(super) visitor: Visitor,
    pub(in crate::http) requester: Requester,
    /// Whether the answer is for a window, as far as the browser tells.
    pub(super) is_in_window: bool,
    /// The cookie of a browser that its user trusts.
    pub(super) device: Option<String>,
    /// The cookie of an account at another provider that waits to be linked.
    link: Option<String>,
    query: String,
}

/// Who sent a request.
pub(super) enum Visitor {
    SignedIn(Caller),
    /// The browser has no cookie.
    Anonymous,
    /// The browser has a cookie, whose session has ended. If the cookie is ours, it names the session.
    SignedOut(Option<SessionId>),
}

impl FromRequestParts<Arc<Pages>> for Visit {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Error> {
        Self::of(parts, pages, SessionUse::Counts).await
    }
}

/// Whether a request is a use of the session whose cookie it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionUse {
    Counts,
    /// The page loads itself again, whether or not anybody looks at it.
    DoesNotCount,
}

impl Visit {
    /// Reads a request for a page. One that another site has caused, or that a browser prefetches, is refused before its session is
    /// looked up: neither the answer nor its time depends on who the visitor is.
    pub(super) async fn of(
        parts: &Parts,
        pages: &Arc<Pages>,
        session_use: SessionUse,
    ) -> Result<Self, Error> {
        let pages = Arc::clone(pages);
        let headers = &parts.headers;
        let origin = pages.site().expected_origin(headers);
        let origin = origin.map_err(|NeedsHttps| Error::NeedsHttps)?;
        let is_allowed = match is_safe(parts.method.as_str()) {
            true => may_read(headers),
            false => is_own_request(headers, &origin),
        };
        if !is_allowed || is_prefetch(headers) {
            return Err(Error::CrossSite(None));
        }
        let names = pages.cookie_names();
        let cookie = cookies::value(headers, &names.session);
        let doorward = pages.doorward();
        let caller = match (cookie, session_use) {
            (None, _) => None,
            (Some(cookie), SessionUse::Counts) => {
                Some(doorward.caller_by_session_cookie(cookie).await)
            }
            (Some(cookie), SessionUse::DoesNotCount) => {
                Some(doorward.caller_by_session_cookie_without_use(cookie).await)
            }
        };
        let visitor = match caller {
            None => Visitor::Anonymous,
            Some(Ok(caller)) => Visitor::SignedIn(caller),
            Some(Err(AuthError::Unauthenticated(_))) => {
                let cookie = cookie.and_then(|cookie| str::from_utf8(cookie).ok());
                let claims =
                    cookie.and_then(|cookie| doorward.cookies().read_session_cookie(cookie));
                Visitor::SignedOut(claims.map(|claims| claims.session_id))
            }
            Some(Err(AuthError::Store(error))) => return Err(error.into()),
        };
        let text = |name: &str| {
            let value = cookies::value(headers, name)?;
            String::from_utf8(value.to_vec()).ok()
        };
        Ok(Self {
            device: text(&names.device),
            link: text(&names.pending_link()),
            language: accept_language(headers),
            is_in_window: is_in_window(headers),
            visitor,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            requester: requester(parts, pages.doorward()),
            pages,
        })
    }
}

/// Where a person goes who has to sign in.
pub(super) const SIGN_IN: &str = "/sign-in";

impl Visit {
    pub(in crate::http) fn doorward(&self) -> &Doorward {
        self.pages.doorward()
    }

    pub(super) fn context(&self) -> PageContext<'_> {
        self.pages.context(self.language)
    }

    /// The person, if they are signed in.
    pub(super) fn caller(&self) -> Option<&Caller> {
        match &self.visitor {
            Visitor::SignedIn(caller) => Some(caller),
            Visitor::Anonymous | Visitor::SignedOut(_) => None,
        }
    }

    /// The account at another provider that waits to be linked.
    pub(super) fn pending_link(&self) -> Option<PendingLink> {
        self.doorward().cookies().open_link(self.link.as_ref()?, self.doorward().now())
    }

    /// The value of a parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let mut parameters = parse(self.query.as_bytes());
        parameters.find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
    }

    /// A page of this site.
    pub(super) fn page(&self, status: StatusCode, html: String) -> Response {
        self.page_for_app(status, html, None)
    }

    /// A page that is one message, with a link to the page at this path.
    pub(super) fn message(
        &self,
        status: StatusCode,
        message: Message,
        to: LinkTo<'_>,
        path: &str,
    ) -> Response {
        self.message_with_link(status, message, to, &format!("{}{path}", self.context().base))
    }

    /// A page that is one message, with a link to this address.
    pub(super) fn message_with_link(
        &self,
        status: StatusCode,
        message: Message,
        to: LinkTo<'_>,
        address: &str,
    ) -> Response {
        let page = MessagePage { page: self.context(), message, link: Some((to, address)) };
        self.page(status, html(&page))
    }

    /// A page of this site whose forms may lead to the origin of an app. It removes a cookie whose session has ended.
    pub(super) fn page_for_app(
        &self,
        status: StatusCode,
        html: String,
        app_origin: Option<&str>,
    ) -> Response {
        let mut response = self.pages.html(status, self.language, html, app_origin);
        if let Visitor::SignedOut(_) = self.visitor {
            self.remove_cookie(&mut response);
        }
        if has_secret(&self.query) {
            hide_url(&mut response);
        }
        response
    }

    /// A redirect to a page of this site. The path may have a query.
    pub(super) fn redirect(&self, path: &str) -> Response {
        self.pages.redirect_to_page(path)
    }

    /// Removes the session cookie.
    pub(super) fn remove_cookie(&self, response: &mut Response) {
        let names = self.pages.cookie_names();
        append_cookie(response, names.remove(&names.session));
    }
}

pub(super) fn append_cookie(response: &mut Response, cookie: HeaderValue) {
    response.headers_mut().append(header::SET_COOKIE, cookie);
}
