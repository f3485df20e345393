//! `POST /api/user`: creates a user and signs them in.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    Doorward,
    account::register::{self, Registered, Registration},
    credential::password::Password,
    http::{
        Error,
        answer::{Accepted, NoStore},
        form::Form,
    },
    network::Requester,
    session::Persistence,
    token::Token,
    user::{Email, Name},
};

#[derive(Serialize)]
struct NewUser {
    id: String,
    token: Token,
}

pub(crate) async fn register(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<Response, Error> {
    let rules = doorward.settings().password_rules();
    let name = form.required("name", Name::parse);
    let email = form.required("email", Email::parse);
    let password = form.optional("password", |sent| Password::parse(sent, rules));
    let invitation = form.optional("invitation", |sent| Ok(Zeroizing::new(sent)));
    let (Ok(name), Ok(email), Ok(password), Ok(invitation), Ok(())) =
        (name, email, password, invitation, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    let registration = Registration { name, email, password, invitation, target: None };
    let persistence = Persistence::Lifetime;
    match register::register(&doorward, registration, &requester, persistence).await? {
        Registered::SignedIn(opened) => {
            let signed_in = opened.with_token(&doorward).await;
            let (id, token) = (signed_in.user.id.to_string(), signed_in.token);
            Ok(NoStore(StatusCode::CREATED, NewUser { id, token }).into_response())
        }
        Registered::Mailed => Ok(Accepted.into_response()),
    }
}
