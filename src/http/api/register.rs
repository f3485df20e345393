//! `POST /api/user`: creates a user and signs them in.

use std::time::Instant;

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use crate::{
    Doorward,
    credential::password::Password,
    http::{Error, answer::NoStore, client_ip::RequestOrigin, form::Form},
    token::Token,
    user::{Email, Name, User},
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
    let judged =
        password.map(|password| password.reject_identity(name.as_str(), email.as_str(), rules));
    let password =
        judged.transpose().map_err(|fault| Error::Invalid(vec![("password".into(), fault)]))?;
    doorward.throttle().charge_sign_up(requester, Instant::now())?;
    // Hashed before the address is looked at: a taken one is not told by the time it takes.
    let password_hash = match password {
        Some(password) => Some(doorward.hasher().hash(password, requester.network).await?),
        None => None,
    };
    let now = doorward.now();
    let user = User::new(name, email, password_hash, now);
    let session = doorward.new_session(user.id, origin);
    doorward.store().add_user(&user, Some(&session)).await?;
    doorward.throttle().clear_account(&user.email.key(), Instant::now());
    tracing::info!(user = %user.id, session = %session.id, "registered");
    let token = doorward.mint().issue(&session, now);
    Ok(NoStore(StatusCode::CREATED, Registered { id: user.id.to_string(), token }))
}
