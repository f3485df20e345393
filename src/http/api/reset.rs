//! `POST /api/auth/forgot`: mails a link to set a new password. `POST /api/auth/reset`: sets it, with that link or its code,
//! or with a reset code of the operator.

use axum::extract::State;

use crate::{
    Doorward,
    account::{forgot, reset},
    http::{
        Error,
        answer::{Accepted, NoContent},
        form::JsonForm,
        mail_forms::{Address, CodeAndPassword},
    },
    network::Requester,
};

pub(crate) async fn forgot(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<Address>,
) -> Result<Accepted, Error> {
    let Address { email } = form.read(&doorward)?;
    forgot::forgot(&doorward, email, &requester, None).await?;
    Ok(Accepted)
}

pub(crate) async fn reset(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<CodeAndPassword>,
) -> Result<NoContent, Error> {
    let CodeAndPassword { code, email, password } = form.read(&doorward)?;
    reset::reset(&doorward, code, email, password, &requester).await?;
    Ok(NoContent)
}
