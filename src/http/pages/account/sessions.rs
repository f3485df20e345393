//! The forms of the account that end one session or all of them.

use axum::response::Response;

use super::super::{signed_in::SignedInVisit, visit::Visit};
use crate::{
    account::sessions,
    http::{Error, form::PageForm},
};

pub(in crate::http) async fn end_session(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let session = form.typed("session").parse().ok();
    if let Some(session) = session {
        // A session that has ended already, as after a double click, is what the person wants.
        sessions::end(visit.doorward(), visit.caller.user.id, session, &visit.requester).await?;
    }
    if session == Some(visit.caller.session.id) {
        let mut response = visit.redirect("/sign-in?signed-out=1");
        visit.remove_cookie(&mut response);
        return Ok(response);
    }
    Ok(visit.redirect("/account?done=session"))
}

pub(in crate::http) async fn sign_out_everywhere(visit: Visit) -> Result<Response, Error> {
    if let Some(caller) = visit.caller() {
        sessions::log_out_everywhere(visit.doorward(), caller.user.id, &visit.requester).await?;
    }
    let mut response = visit.redirect("/sign-in?signed-out=everywhere");
    visit.remove_cookie(&mut response);
    Ok(response)
}
