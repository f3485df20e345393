//! `POST /api/auth/verify`: verifies an address with a mailed link or code. `POST /api/me/verify`: mails another one.
//! `POST /api/auth/restore-email`: takes back a change of the address.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{restore, verify},
    credential::password::Password,
    http::{
        Error,
        answer::{Accepted, NoContent},
        bearer::Bearer,
        form::Form,
    },
    network::Requester,
};

pub(crate) async fn send(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<Accepted, Error> {
    verify::send(&doorward, &caller.user, &requester, None).await?;
    Ok(Accepted)
}

pub(crate) async fn verify(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<NoContent, Error> {
    let (Ok(presented), Ok(())) = (form.presented(), form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    verify::verify(&doorward, presented, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn restore(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<NoContent, Error> {
    let rules = doorward.settings().password_rules();
    let secret = form.link_secret();
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let (Ok(secret), Ok(password), Ok(())) = (secret, password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    restore::restore(&doorward, secret, password, &requester).await?;
    Ok(NoContent)
}
