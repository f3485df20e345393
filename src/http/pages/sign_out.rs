//! `/sign-out`: ends the session of this browser, and with it the person is signed out of every app. A link only asks.

use axum::{http::StatusCode, response::Response};

use super::{
    view,
    visit::{SignedInVisit, Visit},
};
use crate::{account::sessions, http::Error};

pub(in crate::http) async fn show(visit: SignedInVisit) -> Response {
    visit.page(StatusCode::OK, view::SignOut.render(&visit.context()))
}

pub(in crate::http) async fn submit(visit: Visit) -> Result<Response, Error> {
    if let Some(caller) = visit.caller() {
        sessions::log_out(visit.doorward(), caller, &visit.requester).await?;
    }
    let mut response = visit.redirect("/sign-in?signed-out=1");
    visit.remove_cookie(&mut response);
    Ok(response)
}
