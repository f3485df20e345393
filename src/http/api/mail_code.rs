//! `POST /api/auth/code`: mails a code to sign in with. `POST /api/auth/code/login`: a token for the code or its link.

use axum::{extract::State, http::StatusCode};

use super::login::LoggedIn;
use crate::{
    Doorward,
    account::{first_factor::SignInOptions, mail_code},
    http::{
        Error,
        answer::{Accepted, NoStore},
        form::JsonForm,
        mail_forms::{Address, MailedCode},
    },
    network::Requester,
};

pub(crate) async fn send(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<Address>,
) -> Result<Accepted, Error> {
    let Address { email } = form.read(&doorward)?;
    mail_code::send(&doorward, email, &requester, None).await?;
    Ok(Accepted)
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<MailedCode>,
) -> Result<NoStore<LoggedIn>, Error> {
    let presented = form.read(&doorward)?.into();
    let opened =
        mail_code::sign_in(&doorward, presented, &requester, &SignInOptions::TOKEN).await?;
    Ok(NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await))
}
