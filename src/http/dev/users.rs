//! `POST /dev/users`: adds a user with roles, a verified address or a given id, until the next reset.

use axum::{extract::State, http::StatusCode};

use super::Control;
use crate::{
    dev::SeedUser,
    http::{Error, answer::NoStore, api::me::Me, form::Form},
};

pub(super) async fn add(State(control): State<Control>, form: Form) -> Result<NoStore<Me>, Error> {
    let user = SeedUser::parse(form.into_fields()).map_err(Error::Invalid)?;
    let added = control.server.add_user(user).await?;
    Ok(NoStore(StatusCode::CREATED, Me::from(&added)))
}
