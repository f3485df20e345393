//! `PATCH /api/me`: changes the name, or the e-mail address, which needs the password.

use axum::{extract::State, http::StatusCode};

use super::Me;
use crate::{
    Doorward,
    access::policy::SignedIn,
    account::change,
    http::{Error, answer::NoStore, client_ip::RequestOrigin, form::Form, only::Only},
    user::{Email, Name},
};

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoStore<Me>, Error> {
    let name = form.optional("name", Name::parse);
    let email = form.optional("email", Email::parse);
    let password = match email {
        Ok(None) => Ok(None),
        _ => form.current_password("password", &caller.user),
    };
    let (Ok(name), Ok(email), Ok(password), Ok(())) =
        (name, email, password, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    let changed = change::change(&doorward, &caller.user, name, email, password, requester).await?;
    let me = Me::from(&changed.user).with_pending(changed.pending_email);
    Ok(NoStore(StatusCode::OK, me))
}
