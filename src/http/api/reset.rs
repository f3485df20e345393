//! `POST /api/auth/forgot`: mails a link to set a new password. `POST /api/auth/reset`: sets it, with that link or its code,
//! or with a reset code of the operator.

use axum::extract::State;
use zeroize::Zeroizing;

use crate::{
    Doorward,
    account::{forgot, reset},
    credential::password::Password,
    http::{
        Error,
        answer::{Accepted, NoContent},
        form::Form,
    },
    network::Requester,
    user::{Email, EmailKey},
};

pub(crate) async fn forgot(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<Accepted, Error> {
    let (Ok(email), Ok(())) = (form.required("email", Email::parse), form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    forgot::forgot(&doorward, email, &requester, None).await?;
    Ok(Accepted)
}

pub(crate) async fn reset(
    State(doorward): State<Doorward>,
    requester: Requester,
    mut form: Form,
) -> Result<NoContent, Error> {
    let rules = doorward.settings().password_rules();
    let code = form.required("code", |sent| Ok(Zeroizing::new(sent)));
    let email = form.optional("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let (Ok(code), Ok(email), Ok(password), Ok(())) =
        (code, email, password, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    reset::reset(&doorward, code, email, password, &requester).await?;
    Ok(NoContent)
}
