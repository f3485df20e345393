//! `POST /api/auth/code`: mails a code to sign in with. `POST /api/auth/code/login`: a token for the code or its link.

use axum::{extract::State, http::StatusCode};

use super::login::LoggedIn;
use crate::{
    Doorward,
    account::{first_factor::SignInOptions, mail_code},
    http::{
        Error,
        answer::{Accepted, NoStore},
        form::Form,
    },
    network::Requester,
    user::Email,
};

pub(crate) async fn send(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<Accepted, Error> {
    let (Ok(email), Ok(())) = (form.required("email", Email::parse), form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    mail_code::send(&doorward, email, &requester, None).await?;
    Ok(Accepted)
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<NoStore<LoggedIn>, Error> {
    let (Ok(presented), Ok(())) = (form.presented(), form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let opened =
        mail_code::sign_in(&doorward, presented, &requester, &SignInOptions::TOKEN).await?;
    Ok(NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await))
}
