//! The guard as an argument: a handler that takes `Only<P>` runs only when policy `P` is satisfied.

use std::{fmt, ops::Deref};

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{header, request::Parts},
};

use super::{
    bearer::{FromState, admit, identify, refuse},
    error::Error,
    pages::EmbeddedRequest,
};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        policy::Policy,
        refusals::{Refused, RefusedBy},
    },
};

/// What policy `P` grants to a caller that it admits.
///
/// Only the extractor constructs it, so a handler that has one is guarded. It dereferences to the grant;
/// [`into_inner`](Self::into_inner) moves the grant out.
///
/// The app's state must provide a [`Doorward`] through `FromRef`. The policy must implement `Default` or
/// [`FromState`].
///
/// The caller is the one whose bearer token a request carries. An app that serves [`Doorward::pages`] also has people with
/// a browser. A request without `Authorization` counts as theirs by the session cookie of the pages, if it changes nothing or a
/// page of the app itself has caused it:
///
/// | request | without a session | policy refuses |
/// |---|---|---|
/// | with `Authorization` | 401 | 401 |
/// | a page that a person opens | redirect to `/sign-in`, and back | 403, a page |
/// | any other, such as `fetch` | 401 | 403 |
///
/// A request that another site has caused gets 403 if it would change something.
///
/// With `sign_in.factors = "required"`, no policy admits a session of one factor: a person is led to where they set up a second
/// one or give it, and back. Any other request gets 401 with `insufficient_user_authentication` (RFC 9470).
///
/// ```
/// # use doorward::{Authenticated, Designated, Only};
/// async fn hello(user_id: Only<Authenticated>) -> String {
///     format!("hello, user {user_id}")
/// }
///
/// async fn stage(user: Only<Designated>) -> String {
///     format!("the stage is yours, {}", user.name.as_str())
/// }
/// ```
pub struct Only<P: Policy>(P::Grant);

impl<P: Policy> Only<P> {
    /// The grant.
    pub fn into_inner(self) -> P::Grant {
        self.0
    }
}

impl<P: Policy> Deref for Only<P> {
    type Target = P::Grant;

    fn deref(&self) -> &P::Grant {
        &self.0
    }
}

impl<P: Policy<Grant: fmt::Debug>> fmt::Debug for Only<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Only").field(&self.0).finish()
    }
}

impl<P: Policy<Grant: fmt::Display>> fmt::Display for Only<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<P, S> FromRequestParts<S> for Only<P>
where
    P: Policy + FromState<S> + Send,
    P::Grant: Send,
    Doorward: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let doorward = Doorward::from_ref(state);
        match identify(&doorward, &parts.headers).await {
            Ok(caller) => admit(&doorward, &P::from_state(state), &caller).map(Self),
            Err(AuthError::Unauthenticated(Unauthenticated::NoToken))
                if doorward.has_pages() && !parts.headers.contains_key(header::AUTHORIZATION) =>
            {
                let route = EmbeddedRequest::new(&doorward, parts);
                // Boxed, because the future of every request would otherwise reserve space for it.
                let caller = Box::pin(authenticate_person::<P>(&route)).await?;
                admit_person(&route, &P::from_state(state), &caller).map(Self)
            }
            Err(error) => Err(refuse(&doorward, P::NAME, error)),
        }
    }
}

/// The person whose browser sent a request to a route of the app that policy `P` guards.
async fn authenticate_person<P: Policy>(route: &EmbeddedRequest<'_>) -> Result<Caller, Error> {
    let doorward = route.doorward();
    route.caller().await.map_err(|error| match error {
        AuthError::Unauthenticated(reason @ Unauthenticated::CrossSite) => {
            let by = RefusedBy::Policy(P::NAME);
            let refused = Refused::unauthenticated(by, reason, doorward.now());
            Error::CrossSite(Some(doorward.record_refusal(refused)))
        }
        AuthError::Unauthenticated(_) if route.is_navigation() => {
            Error::Person(Box::new(route.way_to_sign_in()))
        }
        error => refuse(doorward, P::NAME, error),
    })
}

/// What a policy grants to a person with a browser. A refusal is recorded.
fn admit_person<P: Policy>(
    route: &EmbeddedRequest<'_>,
    policy: &P,
    caller: &Caller,
) -> Result<P::Grant, Error> {
    let doorward = route.doorward();
    doorward.granted_by(policy, caller).map_err(|missing| {
        let by = RefusedBy::Policy(P::NAME);
        let refused = Refused::caller(by, caller, missing, doorward.now());
        let decision = doorward.record_refusal(refused);
        match (missing, route.is_navigation()) {
            (Some(missing), true) => {
                Error::Person(Box::new(route.way_to_missing(missing, decision)))
            }
            (None, true) => Error::Person(Box::new(route.refused(caller, decision))),
            (missing, false) => Error::refused(decision, missing),
        }
    })
}
