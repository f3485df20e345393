//! A request for a page of the administration: what whoever sent it may do, and how they are answered.

use std::{collections::BTreeSet, marker::PhantomData, ops::Deref, sync::Arc};

use askama::Template;
use axum::{
    extract::FromRequestParts,
    http::{Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use super::super::{
    answer::Pages,
    form_refusal::FormRefusal,
    return_target::{AppTarget, MAX_PATH_BYTES, seal_path, with_target},
    signed_in::SignedInVisit,
    text::{Done, LinkTo, Message, Texts},
    view::{Frame, PageContext, Place, RefusedForm, html},
    visit::{SIGN_IN, SessionUse, Visit},
};
use crate::{
    access::{
        guard::RequestFacts,
        scope::{Needs, Scope, Scopes},
    },
    account::proof::is_fresh,
    event::{Administrator, Right},
    http::Error,
    user::{User, UserId},
};

/// A request for a page by a signed-in person who has what `N` needs: an order, or a scope that reads. For those who administer nothing, the
/// page does not exist. Somebody whose sign-in is too long ago for the order proves once more who they are, and returns to the page that
/// has the form.
pub(in crate::http) struct AdminVisit<N> {
    visit: SignedInVisit,
    /// What the person may do.
    pub(super) scopes: Scopes,
    /// Who gives orders.
    pub(in crate::http) by: Administrator,
    /// The name of the form that was sent.
    form: String,
    needs: PhantomData<N>,
}

/// An [`AdminVisit`] to a page that loads itself again. That is no use of the session: nobody may be looking.
pub(in crate::http) struct LiveAdminVisit<N>(pub(super) AdminVisit<N>);

impl<N> Deref for AdminVisit<N> {
    type Target = SignedInVisit;

    fn deref(&self) -> &SignedInVisit {
        &self.visit
    }
}

impl<N: Needs> FromRequestParts<Arc<Pages>> for AdminVisit<N> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Response> {
        let visit = Self::of(parts, pages, SessionUse::Counts).await?;
        match !N::FRESH || is_fresh(visit.doorward(), &visit.caller.user, &visit.caller.session) {
            true => Ok(visit),
            false => Err(visit.way_to_step_up(page_of(parts), None)),
        }
    }
}

impl<N: Needs> AdminVisit<N> {
    async fn of(
        parts: &Parts,
        pages: &Arc<Pages>,
        session_use: SessionUse,
    ) -> Result<Self, Response> {
        let (visit, scopes) = identify(parts, pages, session_use).await?;
        if !scopes.contains(N::SCOPE) {
            return Err(lacks_scope(&visit, N::SCOPE, scopes));
        }
        let right = Right::of_session(visit.caller.session.id, &visit.caller.user);
        let authority = visit.doorward().settings().admin_roles.authority(scopes, right);
        let by = Administrator::by_right(authority, &visit.requester);
        let form = form_of(parts).to_owned();
        Ok(Self { visit, scopes, by, form, needs: PhantomData })
    }
}

impl<N: Needs> FromRequestParts<Arc<Pages>> for LiveAdminVisit<N> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Response> {
        Ok(Self(AdminVisit::of(parts, pages, SessionUse::DoesNotCount).await?))
    }
}

/// A signed-in person, and what they may do. They may do something.
async fn identify(
    parts: &Parts,
    pages: &Arc<Pages>,
    session_use: SessionUse,
) -> Result<(SignedInVisit, Scopes), Response> {
    let visit = Visit::of(parts, pages, session_use).await;
    let visit = visit.map_err(IntoResponse::into_response)?;
    let Some(visit) = SignedInVisit::of(visit) else { return Err(way_to_sign_in(parts, pages)) };
    let doorward = visit.doorward();
    let request = RequestFacts {
        method: Some(parts.method.as_str().into()),
        path: Some(parts.uri.path().into()),
        address: Some(visit.requester.client.address),
        ..RequestFacts::at(doorward.now())
    };
    let Ok(scopes) = doorward.scopes_of(&visit.caller, &request) else {
        // There everybody learns which second factor they lack.
        return Err(visit.redirect("/account"));
    };
    if scopes.is_empty() {
        return Err(Error::NotFound.into_response());
    }
    Ok((visit, scopes))
}

/// The answer to an administrator who lacks the scope of a page. From the start page they are led to the first that they may see.
fn lacks_scope(visit: &SignedInVisit, scope: Scope, scopes: Scopes) -> Response {
    match Place::visible(scopes).next() {
        Some(first) if scope == Place::Overview.scope() => visit.redirect(first.path()),
        _ => not_permitted(visit, scopes),
    }
}

/// A page that says that an administrator may not do something.
fn not_permitted(visit: &SignedInVisit, scopes: Scopes) -> Response {
    let (to, path) = match Place::visible(scopes).next() {
        Some(first) => (LinkTo::Administration, first.path()),
        None => (LinkTo::Account, "/account"),
    };
    visit.message(StatusCode::FORBIDDEN, Message::NotPermitted, to, path)
}

/// The path of the page that has the form or the link that a request comes from: the form is one segment below it.
fn page_of(parts: &Parts) -> &str {
    let path = parts.uri.path();
    path.rsplit_once('/').map_or(path, |(page, _)| page)
}

/// The name of the form that a request comes from: the last part of its path.
fn form_of(parts: &Parts) -> &str {
    let path = parts.uri.path();
    path.rsplit_once('/').map_or(path, |(_, form)| form)
}

/// The redirect of somebody who is not signed in. They return to the page.
fn way_to_sign_in(parts: &Parts, pages: &Pages) -> Response {
    let path = match parts.method {
        Method::GET => parts.uri.path_and_query().map_or("/admin", |path| path.as_str()),
        _ => page_of(parts),
    };
    let path = if path.len() > MAX_PATH_BYTES { "/admin" } else { path };
    let doorward = pages.doorward();
    let app = AppTarget::open(doorward, seal_path(doorward, path));
    pages.redirect_to_page(&with_target(SIGN_IN, app.as_ref()))
}

impl<N> AdminVisit<N> {
    pub(super) fn context(&self) -> PageContext<'_> {
        self.pages.admin_context(self.language)
    }

    pub(super) fn texts(&self) -> &'static Texts {
        Texts::of(self.language)
    }

    /// Those of these users who still exist.
    pub(super) async fn users(&self, ids: BTreeSet<UserId>) -> Result<Vec<User>, Error> {
        Ok(self.doorward().store().users_by_ids(&ids).await?)
    }

    /// Why an order was not carried out. What is beyond the rights of the person has a page of its own.
    pub(super) fn in_words(&self, error: Error) -> Error {
        match error {
            Error::BeyondAuthority(_) => {
                Error::Person(Box::new(not_permitted(&self.visit, self.scopes)))
            }
            error => error,
        }
    }

    pub(super) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(scope)
    }

    /// The frame of a page, which says what was just done, as its URL tells.
    pub(super) fn frame(&self, place: Place, refused: Option<&RefusedForm>) -> Frame {
        let done = self.parameter("done").as_deref().and_then(Done::by_name);
        let context = self.context();
        let done = done.filter(|_| refused.is_none());
        Frame::new(&context, self.scopes, place).done(&context, done).refused(refused)
    }

    /// A page, with the status of the form that was refused.
    pub(super) fn admin_page(
        &self,
        view: &impl Template,
        refusal: Option<&FormRefusal>,
    ) -> Response {
        let mut response = self.form(html(view), refusal, None);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, self.pages.admin_policy());
        response
    }

    /// The form that was sent and refused, in words.
    pub(super) fn refused_form(
        &self,
        typed: Vec<(&'static str, String)>,
        refusal: &FormRefusal,
    ) -> RefusedForm {
        let t = self.texts();
        RefusedForm {
            form: self.form.clone(),
            typed,
            faults: refusal
                .problem
                .faults
                .iter()
                .map(|(field, fault)| (field.to_string(), t.field_fault(*fault)))
                .collect(),
            error: refusal.problem.error.map(|error| t.form_error(error)),
        }
    }

    /// A redirect to a page that says what was done.
    pub(super) fn done(&self, path: &str, done: Done) -> Response {
        self.redirect(&format!("{path}?done={}", done.name()))
    }
}
