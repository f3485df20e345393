//! `POST /api/auth/login`: a token for whoever knows the password; one and the same answer for everybody else.

use std::time::Instant;

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{Error, attend::Peer, body::Private, form::Form};
use crate::{
    Doorward,
    client::Client,
    password::{Password, Verdict},
    token::Token,
    user::{EmailKey, User},
};

#[derive(Serialize)]
pub(super) struct LoggedIn {
    token: Token,
}

pub(super) async fn login(
    State(doorward): State<Doorward>,
    Peer(origin): Peer,
    mut form: Form,
) -> Result<Private<LoggedIn>, Error> {
    let client = Client::at(origin.address);
    let email = form.required("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |typed| Ok(Password::tried(typed)));
    let (Ok(email), Ok(password)) = (email, password) else {
        return Err(form.refuse());
    };
    let paid = doorward.throttle().login(&email, client, Instant::now())?;
    let matched = match_user(&doorward, &email, password, client).await;
    // Only a wrong password is a failure of the caller's: a full queue or a lost database is ours.
    if !matches!(matched, Ok(None)) {
        paid.pay_back();
    }
    let Some(user) = matched? else {
        tracing::info!(%client, "failed login");
        return Err(Error::NotFound);
    };
    let session = doorward.new_session(user.id, origin);
    if !doorward.store().add_session(&session).await? {
        return Err(Error::NotFound);
    }
    tracing::info!(user = %user.id, session = %session.id, "logged in");
    Ok(Private(StatusCode::OK, LoggedIn { token: doorward.mint().issue(&session, doorward.now()) }))
}

/// The user with this address, if the password is theirs. Found or not, the same is done up to the verdict.
async fn match_user(
    doorward: &Doorward,
    email: &EmailKey,
    password: Password,
    client: Client,
) -> Result<Option<User>, Error> {
    let user = doorward.store().user_by_email(email).await?.filter(|user| !user.disabled);
    let stored = user.as_ref().and_then(|user| user.password_hash.as_ref());
    match doorward.hasher().verify(password, stored, client).await? {
        Verdict::Wrong => Ok(None),
        Verdict::Right { rehashed: None } => Ok(user),
        Verdict::Right { rehashed: Some(new) } => {
            if let (Some(user), Some(old)) = (&user, stored) {
                doorward.store().replace_password_hash(user.id, old, &new).await?;
            }
            Ok(user)
        }
    }
}
