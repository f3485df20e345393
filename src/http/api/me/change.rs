//! `PATCH /api/me`: another name, or another e-mail address for whoever knows the password.

use std::time::Instant;

use axum::{extract::State, http::StatusCode};

use super::Me;
use crate::{
    Doorward,
    access::policy::SignedIn,
    http::{
        Challenge, Error,
        answer::NoStore,
        api::proof::{confirm, own_password},
        client_ip::RequestOrigin,
        form::Form,
        only::Only,
    },
    user::{Email, Name},
};

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoStore<Me>, Error> {
    let user = &caller.user;
    let name = form.optional("name", Name::parse);
    let email = form.optional("email", Email::parse);
    let password = match email {
        Ok(None) => Ok(None),
        _ => own_password(&mut form, "password", user),
    };
    let (Ok(name), Ok(email), Ok(password), Ok(())) =
        (name, email, password, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    if email.is_some() {
        // The answer tells whether an address is taken, as that to a sign-up does: one budget for both.
        doorward.throttle().charge_sign_up(requester, Instant::now())?;
        confirm(&doorward, user, password, requester).await?;
    }
    let name = name.filter(|name| *name != user.name);
    let email = email.filter(|email| *email != user.email);
    if name.is_none() && email.is_none() {
        return Ok(NoStore(StatusCode::OK, Me::from(&**user)));
    }
    let now = doorward.now();
    let changed = doorward.store().change_user(user.id, name.as_ref(), email.as_ref(), now).await?;
    // Deleted since the guard looked.
    let changed = changed.ok_or(Error::Unauthorized(Challenge::InvalidToken, None))?;
    tracing::info!(user = %user.id, name = name.is_some(), email = email.is_some(), "changed");
    Ok(NoStore(StatusCode::OK, Me::from(&changed)))
}
