//! What a guard answers to the browser of a person: an admission, the way to sign in or to what they lack and back, or a page that
//! says why not.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

use super::{
    Decided, GuardRoutes,
    app_request::{AppRequest, Redirection, UseOfAnswer},
    declared::{refusal, report},
    in_place::WaysOn,
};
use crate::{
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::{Decision, Guard, Mode},
        refusals::{Refused, RefusedBy},
    },
    account::app_sign_in::CodeError,
    http::{
        error::{Error, add_decision},
        html::answer::CROSS_ORIGIN_OPENER_POLICY,
    },
};

/// Why the request of a browser is refused.
enum AppRefusal {
    /// The person is not signed in.
    SignIn(Unauthenticated),
    /// Another site has caused the request.
    CrossSite,
    /// The condition is not true.
    Condition,
}

impl GuardRoutes {
    /// Decides about the request of a browser, by its cookie.
    pub(super) async fn answer_browser(
        &self,
        guard: &Arc<Guard>,
        request: AppRequest<'_>,
    ) -> Decided {
        let doorward = &self.doorward;
        if request.is_sign_in() {
            return Decided(Decision::SigningIn, self.finish_sign_in(guard, &request).await);
        }
        if request.is_sign_out() {
            let answer = match request.use_of_answer() {
                UseOfAnswer::Status => Err(Error::CrossSite(None)),
                _ => Ok(self.redirect(request.way_to_sign_out(doorward))),
            };
            return Decided(Decision::SigningIn, answer);
        }
        let unauthenticated = |reason| {
            let by = RefusedBy::Guard(Arc::clone(guard));
            Refused::unauthenticated(by, reason, doorward.now())
        };
        let decided = match request.caller(doorward).await {
            Ok(caller) => {
                let refusal = self.refusal_of_browser(guard, &request, caller).await;
                refusal.map_err(AuthError::from)
            }
            Err(error) => Err(error),
        };
        let (decision, reason, refused, caller) = match decided {
            Ok((_, None))
                if request.use_of_answer() == UseOfAnswer::Refusal && request.is_navigation() =>
            {
                return Decided(Decision::Admitted, Ok(self.admitted_since(guard, &request)));
            }
            Ok((caller, None)) => {
                return Decided::admitted(doorward, guard, Some(&caller), &request.forwarded);
            }
            Ok((caller, Some(refused))) => {
                (Decision::Refused, AppRefusal::Condition, refused, Some(caller))
            }
            Err(AuthError::Unauthenticated(reason)) => {
                let refusal = match reason {
                    Unauthenticated::CrossSite => AppRefusal::CrossSite,
                    _ => AppRefusal::SignIn(reason),
                };
                (Decision::Unauthenticated, refusal, unauthenticated(reason), None)
            }
            Err(AuthError::Store(error)) => return Decided::unavailable(error),
        };
        if guard.mode == Mode::Report {
            return report(doorward, guard, refused, caller.as_ref(), &request.forwarded);
        }
        Decided(decision, self.refuse_browser(guard, &request, reason, refused, caller.as_ref()))
    }

    /// The refusal of a person, and the person. One who lacks something is looked up again: if another instance has given it
    /// to them a moment ago, the browser would go back and forth until this one has heard of it.
    ///
    /// # Errors
    /// If the session has proved more since the browser got its cookie. A new one says so.
    async fn refusal_of_browser(
        &self,
        guard: &Arc<Guard>,
        request: &AppRequest<'_>,
        caller: Caller,
    ) -> Result<(Caller, Option<Refused>), Unauthenticated> {
        let refused = refusal(&self.doorward, guard, &caller, &request.forwarded);
        let lacks = refused.as_ref().is_some_and(|refused| refused.missing().is_some());
        if !lacks || !request.is_navigation() {
            return Ok((caller, refused));
        }
        match self.doorward.store().session_with_user(caller.session.id).await {
            Ok(Some((session, _)))
                if session.authenticated_at > caller.session.authenticated_at =>
            {
                Err(Unauthenticated::Replaced)
            }
            Ok(Some((session, user))) => {
                let caller = Caller::new(Arc::new(user), Arc::new(session));
                let refused = refusal(&self.doorward, guard, &caller, &request.forwarded);
                Ok((caller, refused))
            }
            // The next request notices an ended session, and an outage must not change what is known.
            Ok(None) | Err(_) => Ok((caller, refused)),
        }
    }

    /// Answers a person who was refused by the first request of nginx and is admitted by the second. The app does not get
    /// the request, so the browser repeats it. It cannot repeat a form by itself.
    fn admitted_since(&self, guard: &Guard, request: &AppRequest<'_>) -> Response {
        if request.is_form() {
            let page = request.return_url();
            return self.pages.form_not_sent_in_place(request.headers, guard, &page);
        }
        self.redirect(Redirection { location: request.own_url(), cookies: Vec::new() })
    }

    /// Refuses the request of a browser: with a page for a person, with JSON for a script.
    fn refuse_browser(
        &self,
        guard: &Guard,
        request: &AppRequest<'_>,
        reason: AppRefusal,
        refused: Refused,
        caller: Option<&Caller>,
    ) -> Result<Response, Error> {
        if request.use_of_answer() == UseOfAnswer::Status {
            return Err(match reason {
                // nginx adds the challenge of a 401 to the answer that it asks for next, and a redirect has none.
                AppRefusal::SignIn(reason) if !request.is_navigation() => {
                    Error::Unauthorized(reason.into(), None)
                }
                _ => Error::CrossSite(None),
            });
        }
        if let (AppRefusal::SignIn(_), true) = (&reason, request.is_navigation()) {
            let around = request.way_around_foreign_form(&self.doorward);
            return Ok(
                self.redirect(around.unwrap_or_else(|| request.way_to_sign_in(&self.doorward)))
            );
        }
        let missing = refused.missing();
        let decision = request.forwarded.record_refusal(&self.doorward, refused);
        if !request.is_navigation() {
            return Err(match reason {
                AppRefusal::SignIn(reason) => Error::Unauthorized(reason.into(), Some(decision)),
                AppRefusal::CrossSite => Error::CrossSite(Some(decision)),
                AppRefusal::Condition => Error::refused(decision, missing),
            });
        }
        if let Some(missing) = missing {
            let way = request.way_to_missing(&self.doorward, missing);
            let mut response = self.redirect(way);
            add_decision(response.headers_mut(), decision);
            return Ok(response);
        }
        let (pages, headers) = (&self.pages, request.headers);
        Ok(match caller {
            Some(caller) => {
                // They return here as the other person. The guard does not know which of them it will be.
                let way = request.way_to_sign_in(&self.doorward);
                let somebody_else = format!("{}&other=1", way.location);
                let ways =
                    WaysOn { try_again: &request.return_url(), somebody_else: &somebody_else };
                let who = (caller, request.forwarded.client(&self.doorward).address);
                let page = pages.refused_in_place(headers, guard, who, decision, ways);
                with_cookies(page, way.cookies)
            }
            None => pages.cross_site_in_place(headers, guard, decision, &request.start_url()),
        })
    }

    /// Answers the request with which a browser returns from the sign-in page.
    async fn finish_sign_in(
        &self,
        guard: &Guard,
        request: &AppRequest<'_>,
    ) -> Result<Response, Error> {
        if request.is_prefetch() || request.use_of_answer() == UseOfAnswer::Status {
            return Err(Error::CrossSite(None));
        }
        let (pages, headers, start) = (&self.pages, request.headers, request.start_url());
        if request.code().is_none() {
            return Ok(match request.is_without_cookies() {
                true => pages.no_cookie_in_place(headers, &start),
                false => pages.link_used_in_place(headers, guard, &start),
            });
        }
        match request.finish_sign_in(&self.doorward).await {
            Ok(redirection) => Ok(self.redirect(redirection)),
            Err(CodeError::Store(error)) => Err(error.into()),
            Err(CodeError::NoAttempt) => Ok(self.redirect(request.way_to_reason(true))),
            Err(CodeError::Invalid) => Ok(self.redirect(request.way_to_reason(false))),
        }
    }

    fn redirect(&self, redirection: Redirection) -> Response {
        let Redirection { location, cookies } = redirection;
        let mut response = self.pages.redirect(&location);
        // The answer is one of the app's host, which decides about these itself.
        response.headers_mut().remove(header::STRICT_TRANSPORT_SECURITY);
        response.headers_mut().remove(CROSS_ORIGIN_OPENER_POLICY);
        with_cookies(response, cookies)
    }
}

fn with_cookies(mut response: Response, cookies: Vec<HeaderValue>) -> Response {
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
