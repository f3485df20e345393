//! `POST /api/auth/login`: a token for the correct password. Every failed login gets the same 404.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Doorward,
    account::{OpenedSession, first_factor::SignInOptions, sign_in::sign_in},
    credential::password::Password,
    http::{
        Error,
        answer::NoStore,
        form::{JsonForm, form},
    },
    network::Requester,
    token::Token,
    user::EmailKey,
};

form! {
    pub(crate) struct Credentials {
        email: EmailKey,
        password: Password,
    }
}

/// The token of a session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Signed")]
pub(crate) struct LoggedIn {
    token: Token,
}

impl LoggedIn {
    pub(crate) async fn new(opened: OpenedSession, doorward: &Doorward) -> Self {
        opened.with_token(doorward).await.token.into()
    }
}

impl From<Token> for LoggedIn {
    fn from(token: Token) -> Self {
        Self { token }
    }
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<Credentials>,
) -> Result<NoStore<LoggedIn>, Error> {
    let Credentials { email, password } = form.read(&doorward)?;
    let opened = sign_in(&doorward, &email, password, &requester, &SignInOptions::TOKEN).await?;
    Ok(NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await))
}
