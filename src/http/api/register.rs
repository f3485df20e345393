//! `POST /api/user`: creates a user and signs them in.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use crate::{
    Doorward,
    account::register::{self, Registration},
    credential::password::Password,
    http::{Error, answer::NoStore, client_ip::RequestOrigin, form::Form},
    session::Persistence,
    token::Token,
    user::{Email, Name},
};

#[derive(Serialize)]
pub(crate) struct Registered {
    id: String,
    token: Token,
}

pub(crate) async fn register(
    State(doorward): State<Doorward>,
    RequestOrigin { origin, requester }: RequestOrigin,
    mut form: Form,
) -> Result<NoStore<Registered>, Error> {
    let rules = doorward.settings().password_rules;
    let name = form.required("name", Name::parse);
    let email = form.required("email", Email::parse);
    let password = form.optional("password", |sent| Password::parse(sent, rules));
    let (Ok(name), Ok(email), Ok(password), Ok(())) =
        (name, email, password, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    let registration = Registration { name, email, password };
    let persistence = Persistence::Lifetime;
    let registered =
        register::register(&doorward, registration, origin, requester, persistence).await?;
    let registered = registered.with_token(&doorward);
    let (id, token) = (registered.user.id.to_string(), registered.token);
    Ok(NoStore(StatusCode::CREATED, Registered { id, token }))
}
