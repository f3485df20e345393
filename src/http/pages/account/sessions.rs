//! The forms of the account that end one session or all of them.

use axum::response::Response;

use super::super::visit::Visit;
use crate::{
    account::sessions,
    http::{Error, form::PageForm},
};

pub(in super::super) async fn end_session(
    visit: Visit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    let session = form.typed("session").parse().ok();
    if let Some(session) = session {
        // A session that has ended already, as after a double click, is what the person wants.
        sessions::end(visit.doorward(), caller.user.id, session).await?;
    }
    if session == Some(caller.session.id) {
        let mut response = visit.redirect("/sign-in?signed-out=1");
        visit.remove_cookie(&mut response);
        return Ok(response);
    }
    Ok(visit.redirect("/account?done=session"))
}

pub(in super::super) async fn sign_out_everywhere(visit: Visit) -> Result<Response, Error> {
    if let Some(caller) = visit.caller() {
        sessions::log_out_everywhere(visit.doorward(), caller.user.id).await?;
    }
    let mut response = visit.redirect("/sign-in?signed-out=everywhere");
    visit.remove_cookie(&mut response);
    Ok(response)
}
