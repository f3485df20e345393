//! `POST /dev/sign-in`: signs a user in without a password. The answer has a bearer token, and the cookie with which a browser is
//! signed in on the pages.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{Control, users::find};
use crate::{
    fault::Fault,
    http::{Error, answer::NoStore, api::login::LoggedIn, form::Form},
};

pub(super) async fn sign_in(
    State(control): State<Control>,
    mut form: Form,
) -> Result<Response, Error> {
    let user = form.required("user", Ok);
    let (Ok(user), Ok(())) = (user, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let doorward = control.server.doorward();
    let user = find(&control, &user).await?;
    let disabled = || Error::NoSuch("user", Fault::malformed("The user is disabled"));
    let opened = control.server.sign_in(&user).await?.ok_or_else(disabled)?;
    let is_https = doorward.public_base().starts_with("https://");
    let (names, session) = (doorward.cookies().names(is_https), &opened.session);
    let value = doorward.cookies().session_cookie(session);
    let cookie = names.set_for(session, &names.session, &value, doorward.now());
    let answer = NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await);
    Ok(([(header::SET_COOKIE, cookie)], answer).into_response())
}
