//! `POST /api/auth/reset`: sets a new password with a reset code.

use axum::extract::State;

use crate::{
    Doorward,
    account::reset,
    credential::{password::Password, reset_code::ResetCode},
    http::{Error, answer::NoContent, client_ip::RequestOrigin, form::Form},
};

pub(crate) async fn reset(
    State(doorward): State<Doorward>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoContent, Error> {
    let rules = doorward.settings().password_rules;
    let code = form.required("code", |sent| Ok(ResetCode::unchecked(sent).digest()));
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let (Ok(code), Ok(password), Ok(())) = (code, password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    reset::reset(&doorward, code, password, requester).await?;
    Ok(NoContent)
}
