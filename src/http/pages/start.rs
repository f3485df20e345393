//! `GET /`, and `GET /.well-known/change-password`, which password managers open.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    response::Response,
};

use super::{answer::Pages, visit::Visit};
use crate::http::{
    Error,
    browser::{cross_site::is_safe, navigation::is_navigation},
};

/// Leads a browser to the account or to the sign-in page. There is nothing here for programs.
pub(in crate::http) async fn start(
    State(pages): State<Arc<Pages>>,
    request: Request,
) -> Result<Response, Error> {
    let method = request.method().as_str();
    if !is_safe(method) || !is_navigation(request.headers(), method) {
        return Err(Error::NotFound);
    }
    let (mut parts, _) = request.into_parts();
    let visit = Visit::from_request_parts(&mut parts, &pages).await?;
    Ok(visit.redirect(if visit.caller().is_some() { "/account" } else { "/sign-in" }))
}

pub(in crate::http) async fn change_password(visit: Visit) -> Response {
    visit.redirect("/account#password")
}
