//! `/dev/users`: adds, lists, changes and deletes users with their roles, until the next reset.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};

use super::Control;
use crate::{
    dev::{SeedUser, UserChange},
    fault::Fault,
    http::{
        Error,
        answer::{NoContent, NoStore},
        api::me::Me,
        form::Form,
    },
    user::User,
};

/// `POST /dev/users`
pub(super) async fn add(State(control): State<Control>, form: Form) -> Result<NoStore<Me>, Error> {
    let user = SeedUser::parse(form.into_fields()).map_err(Error::Invalid)?;
    let added = control.server.add_user(user).await?;
    Ok(NoStore(StatusCode::CREATED, Me::from(&added)))
}

/// `GET /dev/users`, in the order of their addresses.
pub(super) async fn list(State(control): State<Control>) -> Result<NoStore<Vec<Me>>, Error> {
    let users = control.server.users().await?;
    Ok(NoStore(StatusCode::OK, users.iter().map(Me::from).collect()))
}

/// `PATCH /dev/users/{address or id}`
pub(super) async fn change(
    State(control): State<Control>,
    Path(user): Path<String>,
    form: Form,
) -> Result<NoStore<Me>, Error> {
    let user = find(&control, &user).await?;
    let change = UserChange::parse(form.into_fields()).map_err(Error::Invalid)?;
    let changed = control.server.change_user(user, change).await?;
    Ok(NoStore(StatusCode::OK, Me::from(&changed)))
}

/// `DELETE /dev/users/{address or id}`
pub(super) async fn delete(
    State(control): State<Control>,
    Path(user): Path<String>,
) -> Result<NoContent, Error> {
    let user = find(&control, &user).await?;
    control.server.delete_user(&user).await?;
    Ok(NoContent)
}

/// The user with this address or id. The error names those that there are.
pub(super) async fn find(control: &Control, typed: &str) -> Result<User, Error> {
    let found = control.server.user(typed).await?;
    found.map_err(|unknown| Error::NoSuch("user", Fault::malformed(unknown.to_string())))
}
