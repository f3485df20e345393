//! `POST /api/auth/login`: a token for the correct password. Every failed login gets the same 404.

use axum::{extract::State, http::StatusCode};
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedIn {
    token: Token,
    /// In the place of the recovery code that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_code: Option<String>,
}

impl LoggedIn {
    pub(crate) async fn new(opened: OpenedSession, doorward: &Doorward) -> Self {
        Self { token: opened.with_token(doorward).await.token, recovery_code: None }
    }

    pub(super) fn with_recovery_code(self, recovery_code: Option<String>) -> Self {
        Self { recovery_code, ..self }
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
