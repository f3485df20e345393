//! Pages that a guard answers with on the host of an app. All their links are absolute.

use std::net::IpAddr;

use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};

use crate::{
    access::{
        caller::Caller,
        guard::{Grant, Guard},
        refusals::DecisionId,
    },
    http::{
        client_ip::accept_language,
        error::add_decision,
        html::{
            Pages,
            decision::{may_see_reason, path_of},
            text::{LinkTo, Message},
            view::{MessagePage, Refused, html},
        },
    },
};

/// Where a person can go whom a guard does not admit.
pub(super) struct WaysOn<'a> {
    /// The address of the app that they asked for, or the page of the form that they sent.
    pub(super) try_again: &'a str,
    /// The address at which another person can sign in, and returns here.
    pub(super) somebody_else: &'a str,
}

impl Pages {
    /// 403 for a person at an address whom a guard does not admit.
    pub(super) fn refused_in_place(
        &self,
        headers: &HeaderMap,
        guard: &Guard,
        (caller, address): (&Caller, IpAddr),
        decision: DecisionId,
        ways: WaysOn<'_>,
    ) -> Response {
        let language = accept_language(headers);
        let id = decision.to_string();
        // The reason itself stays on our own host, where scripts of the app cannot read it.
        let decision_link = format!("{}{}", self.site().url, path_of(&id));
        let sees_reason = may_see_reason(self.doorward(), caller, &id, address);
        let page = Refused {
            page: self.foreign_context(language),
            app: &guard.title,
            is_own: true,
            // Scripts of the app can read the page, so it tells no more than the app may know.
            signed_in_as: (guard.grant == Grant::User)
                .then(|| (caller.user.name.as_str(), caller.user.email.as_str())),
            try_again: Some(ways.try_again),
            somebody_else: Some(ways.somebody_else),
            decision: &id,
            decision_link: sees_reason.then_some(&*decision_link),
            // Whoever lacks something is sent to where they get it.
            missing: None,
            why: None,
        };
        let html = html(&page);
        let mut response = self.foreign_html(StatusCode::FORBIDDEN, language, html);
        add_decision(response.headers_mut(), decision);
        response
    }

    /// 403 for a browser that returns from signing in without its try cookie. `again` is the address of the app with which
    /// it can try again.
    pub(super) fn no_cookie_in_place(&self, headers: &HeaderMap, again: &str) -> Response {
        self.message_in_place(headers, Message::NoCookie, (LinkTo::TryAgain, again))
    }

    /// 403 for a sign-in code that was used, has expired or belongs to another browser. `start` is the start page of the
    /// app.
    pub(super) fn link_used_in_place(
        &self,
        headers: &HeaderMap,
        guard: &Guard,
        start: &str,
    ) -> Response {
        self.message_in_place(headers, Message::LinkUsed, (LinkTo::App(&guard.title), start))
    }

    /// 403 for a request that another site has caused. `start` is the start page of the app.
    pub(super) fn cross_site_in_place(
        &self,
        headers: &HeaderMap,
        guard: &Guard,
        decision: DecisionId,
        start: &str,
    ) -> Response {
        let link = (LinkTo::App(&guard.title), start);
        let mut response = self.message_in_place(headers, Message::CrossSite, link);
        add_decision(response.headers_mut(), decision);
        response
    }

    /// 409 for a form of somebody who was admitted a moment too late for it. `page` is the page of the form.
    pub(super) fn form_not_sent_in_place(
        &self,
        headers: &HeaderMap,
        guard: &Guard,
        page: &str,
    ) -> Response {
        let link = (LinkTo::App(&guard.title), page);
        let mut response = self.message_in_place(headers, Message::FormNotSent, link);
        *response.status_mut() = StatusCode::CONFLICT;
        response
    }

    fn message_in_place(
        &self,
        headers: &HeaderMap,
        message: Message,
        link: (LinkTo<'_>, &str),
    ) -> Response {
        let language = accept_language(headers);
        let page = MessagePage { page: self.foreign_context(language), message, link: Some(link) };
        let html = html(&page);
        self.foreign_html(StatusCode::FORBIDDEN, language, html)
    }
}
