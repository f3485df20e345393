//! `POST /api/auth/login`: a token for whoever knows the password; one and the same answer for everybody else.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::proof::user_by_password;
use crate::{
    Doorward,
    access::failed_logins::LoginRefusal,
    credential::password::Password,
    http::{Error, answer::NoStore, client_ip::RequestOrigin, form::Form},
    token::Token,
    user::EmailKey,
};

#[derive(Serialize)]
pub(crate) struct LoggedIn {
    token: Token,
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    RequestOrigin { origin, requester }: RequestOrigin,
    mut form: Form,
) -> Result<NoStore<LoggedIn>, Error> {
    let email = form.required("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |typed| Ok(Password::unchecked(typed)));
    let (Ok(email), Ok(password), Ok(())) = (email, password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let Some(user) = user_by_password(&doorward, &email, password, requester).await? else {
        return Err(Error::NotFound);
    };
    let session = doorward.new_session(user.id, origin);
    if !doorward.store().add_session(&user, &session).await? {
        doorward.record_failed_login(LoginRefusal::Gone, Some(user.id), &email, requester.network);
        return Err(Error::NotFound);
    }
    tracing::info!(user = %user.id, session = %session.id, "logged in");
    Ok(NoStore(StatusCode::OK, LoggedIn { token: doorward.mint().issue(&session, doorward.now()) }))
}
