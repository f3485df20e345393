//! What administrators do about the credentials of a user: set or remove the password, make a reset code, make a link that removes
//! all second factors, and forget failed logins.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::target::{Named, find_to_change};
use crate::{
    Doorward,
    account::{
        factor_reset::{self, FactorResetTicket},
        password, reset, unlock,
    },
    http::{
        Error,
        admin::{FreshAdmin, UsersWrite},
        answer::{NoContent, NoStore},
        form::Form,
    },
};

/// A code with which the user can set a password. It cannot be read again.
#[derive(Serialize, Deserialize)]
pub struct ResetCode {
    pub code: Zeroizing<String>,
}

/// A link that removes all second factors of a user. It cannot be read again.
#[derive(Serialize, Deserialize)]
pub struct FactorReset {
    /// The link; none without pages.
    pub link: Option<Zeroizing<String>>,
    /// The secret in the link.
    pub secret: Zeroizing<String>,
}

/// What the user does who has to set a new password.
#[derive(Serialize, Deserialize)]
pub struct NewPasswordRequired {
    /// Whether the user is mailed a link to set one with. Without it, they need a reset code.
    pub mailed: bool,
}

pub(in crate::http) async fn set_password(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named(user): Named<String>,
    mut form: Form,
) -> Result<NoContent, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let password = form.required("password", Ok);
    let (Ok(password), Ok(())) = (password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    password::set(&doorward, &user, password, &admin).await?;
    Ok(NoContent)
}

pub(in crate::http) async fn require_new_password(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named(user): Named<String>,
) -> Result<NoStore<NewPasswordRequired>, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let mailed = password::require_new(&doorward, &user, &admin).await?;
    Ok(NoStore(StatusCode::OK, NewPasswordRequired { mailed }))
}

pub(in crate::http) async fn create_reset_code(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named(user): Named<String>,
) -> Result<NoStore<ResetCode>, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let code = reset::create_code(&doorward, user.id, &admin).await?;
    let code = Zeroizing::new(code.as_str().to_owned());
    Ok(NoStore(StatusCode::CREATED, ResetCode { code }))
}

pub(in crate::http) async fn create_factor_reset(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named(user): Named<String>,
) -> Result<NoStore<FactorReset>, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    let FactorResetTicket { secret, link } =
        factor_reset::create(&doorward, user.id, &admin).await?;
    let secret = Zeroizing::new(secret.as_str().to_owned());
    let reset = FactorReset { link: link.map(Zeroizing::new), secret };
    Ok(NoStore(StatusCode::CREATED, reset))
}

pub(in crate::http) async fn unlock(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    Named(user): Named<String>,
) -> Result<NoContent, Error> {
    let user = find_to_change(&doorward, admin.scopes(), &user).await?;
    unlock::unlock(&doorward, &user, &admin).await?;
    Ok(NoContent)
}
