//! `POST /api/auth/verify`: verifies an address with a mailed link or code. `POST /api/me/verify`: mails another one.
//! `POST /api/auth/restore-email`: takes back a change of the address.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{restore, verify},
    http::{
        Error,
        answer::{Accepted, NoContent},
        bearer::Bearer,
        form::JsonForm,
        mail_forms::{LinkAndPassword, MailedCode},
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
    form: JsonForm<MailedCode>,
) -> Result<NoContent, Error> {
    let presented = form.read(&doorward)?.into();
    verify::verify(&doorward, presented, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn restore(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<LinkAndPassword>,
) -> Result<NoContent, Error> {
    let LinkAndPassword { code: secret, password } = form.read(&doorward)?;
    restore::restore(&doorward, secret, password, &requester).await?;
    Ok(NoContent)
}
