//! `POST /api/auth/reset`: a new password for whoever holds a reset code.

use std::time::Instant;

use axum::extract::State;

use crate::{
    Doorward,
    credential::{password::Password, reset_code::ResetCode},
    http::{Challenge, Error, answer::NoContent, client_ip::RequestOrigin, form::Form},
    store::OldPassword,
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
    doorward.throttle().charge_reset(requester, Instant::now())?;
    // Wrong, expired and used codes look alike. No token was sent, so the challenge blames none.
    let refused = Error::Unauthorized(Challenge::NoCredentials, None);
    let Some(user) = doorward.store().user_by_reset_code(&code, doorward.now()).await? else {
        tracing::info!(client = %requester.network, "failed reset");
        return Err(refused);
    };
    let judged = password.reject_identity(user.name.as_str(), user.email.as_str(), rules);
    let password = judged.map_err(|fault| Error::Invalid(vec![("password".into(), fault)]))?;
    let hash = doorward.hasher().hash(password, requester.network).await?;
    let (old, now) = (OldPassword::Forgotten(code), doorward.now());
    if !doorward.store().set_password(user.id, old, &hash, None, now).await? {
        return Err(refused);
    }
    doorward.throttle().clear_account(&user.email.key(), Instant::now());
    tracing::info!(user = %user.id, "password reset");
    Ok(NoContent)
}
