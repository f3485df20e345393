//! `/sign-out`: ends the session of this browser, and with it the person is signed out of every app. A link only asks. Whoever
//! came from an app returns to it.

use axum::response::Response;

use super::{
    return_target::AppTarget,
    signed_in::SignedInVisit,
    view::{self, html},
    visit::Visit,
};
use crate::{account::sessions, http::Error};

pub(in crate::http) async fn show(visit: SignedInVisit) -> Response {
    let app = AppTarget::of(&visit);
    let page =
        view::SignOut { page: visit.context(), target: app.as_ref().map(|app| &*app.sealed) };
    visit.form(html(&page), None, app.as_ref().map(|app| &*app.origin))
}

/// The return target is in the URL: the form has no fields.
pub(in crate::http) async fn submit(visit: Visit) -> Result<Response, Error> {
    if let Some(caller) = visit.caller() {
        sessions::log_out(visit.doorward(), caller, &visit.requester).await?;
    }
    let mut response = match AppTarget::of(&visit) {
        Some(app) => visit.pages.redirect(&app.url(&visit)),
        None => visit.redirect("/sign-in?signed-out=1"),
    };
    visit.remove_cookie(&mut response);
    Ok(response)
}
