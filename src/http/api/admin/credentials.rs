//! What administrators do about the credentials of a user: set or remove the password, make a reset code, make a link that removes
//! all second factors, and forget failed logins.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::target::Named;
use crate::{
    Doorward,
    account::{
        factor_reset::FactorResetTicket,
        order::{MakeFactorReset, MakeResetCode, RequireNewPassword, SetPassword, Unlock},
    },
    http::{
        Error,
        admin::Admin,
        answer::{NoContent, NoStore},
        description::Created,
        form::{CheckedLater, JsonForm, NewPassword, form},
    },
};

/// A code with which the user can set a password. It cannot be read again.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ResetCode {
    #[schemars(with = "String")]
    pub code: Zeroizing<String>,
}

/// A link that removes all second factors of a user. It cannot be read again.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FactorReset {
    /// The link; none without pages.
    #[schemars(with = "Option<String>")]
    pub link: Option<Zeroizing<String>>,
    /// The secret in the link.
    #[schemars(with = "String")]
    pub secret: Zeroizing<String>,
}

/// What the user does who has to set a new password.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct NewPasswordRequired {
    /// Whether the user is mailed a link to set one with. Without it, they need a reset code.
    pub mailed: bool,
}

form! {
    pub(in crate::http) struct SetPasswordForm as "PasswordToSet" {
        password: CheckedLater<NewPassword>,
    }
}

pub(in crate::http) async fn set_password(
    State(doorward): State<Doorward>,
    admin: Admin<SetPassword>,
    Named(user): Named<String>,
    form: JsonForm<SetPasswordForm>,
) -> Result<NoContent, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let SetPasswordForm { password } = form.read(&doorward)?;
    admin.carry_out(&doorward, SetPassword { password }, &user).await?;
    Ok(NoContent)
}

pub(in crate::http) async fn require_new_password(
    State(doorward): State<Doorward>,
    admin: Admin<RequireNewPassword>,
    Named(user): Named<String>,
) -> Result<NoStore<NewPasswordRequired>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let mailed = admin.carry_out(&doorward, RequireNewPassword, &user).await?;
    Ok(NoStore(StatusCode::OK, NewPasswordRequired { mailed }))
}

pub(in crate::http) async fn create_reset_code(
    State(doorward): State<Doorward>,
    admin: Admin<MakeResetCode>,
    Named(user): Named<String>,
) -> Result<Created<ResetCode>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let code = admin.carry_out(&doorward, MakeResetCode, &user).await?;
    let code = Zeroizing::new(code.as_str().to_owned());
    Ok(Created(ResetCode { code }))
}

pub(in crate::http) async fn create_factor_reset(
    State(doorward): State<Doorward>,
    admin: Admin<MakeFactorReset>,
    Named(user): Named<String>,
) -> Result<Created<FactorReset>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let FactorResetTicket { secret, link } =
        admin.carry_out(&doorward, MakeFactorReset, &user).await?;
    let secret = Zeroizing::new(secret.as_str().to_owned());
    let reset = FactorReset { link: link.map(Zeroizing::new), secret };
    Ok(Created(reset))
}

pub(in crate::http) async fn unlock(
    State(doorward): State<Doorward>,
    admin: Admin<Unlock>,
    Named(user): Named<String>,
) -> Result<NoContent, Error> {
    let user = admin.subject(&doorward, &user).await?;
    admin.carry_out(&doorward, Unlock, &user).await?;
    Ok(NoContent)
}
