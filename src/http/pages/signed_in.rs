//! Requests for pages by signed-in people. Only the extractors make these types, so a handler that takes one runs for nobody else.

use std::{ops::Deref, sync::Arc};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};

use super::{
    answer::Pages,
    return_target::{AppTarget, with_target},
    visit::{SIGN_IN, Visit},
};
use crate::{
    access::caller::Caller,
    http::form::{Form, PageForm},
};

/// A request for a page by a signed-in person. Anybody else is led to the sign-in page, and from there to the app that the page was
/// a part of the way to.
pub(in crate::http) struct SignedInVisit {
    visit: Visit,
    pub(in crate::http) caller: Caller,
}

impl SignedInVisit {
    /// `None` if the person is not signed in.
    pub(super) fn of(visit: Visit) -> Option<Self> {
        let caller = visit.caller()?.clone();
        Some(Self { visit, caller })
    }
}

fn way_to_sign_in(pages: &Pages, app: Option<&AppTarget>) -> Response {
    pages.redirect_to_page(&with_target(SIGN_IN, app))
}

impl Deref for SignedInVisit {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl FromRequestParts<Arc<Pages>> for SignedInVisit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Response> {
        let visit = Visit::from_request_parts(parts, pages).await;
        let visit = visit.map_err(IntoResponse::into_response)?;
        let app = AppTarget::of(&visit);
        Self::of(visit).ok_or_else(|| way_to_sign_in(pages, app.as_ref()))
    }
}

/// A form of a signed-in person on the way to an app, which the form names. Anybody else is led to the sign-in page, and from there
/// to the app.
pub(in crate::http) struct SignedInForm {
    pub(super) visit: SignedInVisit,
    pub(super) form: Form,
    pub(super) app: Option<AppTarget>,
}

impl FromRequest<Arc<Pages>> for SignedInForm {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, pages).await;
        let visit = visit.map_err(IntoResponse::into_response)?;
        let form = PageForm::from_request(Request::from_parts(parts, body), pages).await;
        let PageForm(form) = form.map_err(IntoResponse::into_response)?;
        let app = AppTarget::open(visit.doorward(), form.typed("for"));
        let visit = SignedInVisit::of(visit);
        let visit = visit.ok_or_else(|| way_to_sign_in(pages, app.as_ref()))?;
        Ok(Self { visit, form, app })
    }
}
