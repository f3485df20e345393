//! `GET /api/user/<id>`: the public profile of a user.

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Doorward,
    http::{Error, answer::json, description::Sent},
    user::UserId,
};

/// What everybody may know of a user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Profile<'a> {
    id: UserId,
    #[schemars(length(min = 2, max = 200))]
    name: &'a str,
}

pub(crate) async fn look_up(
    State(doorward): State<Doorward>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Sent<Profile<'static>>, Error> {
    // An invalid id gets the same answer as an unknown one.
    let id = id.ok().and_then(|Path(id)| id.parse().ok()).ok_or(Error::NotFound)?;
    let user = doorward.user_by_id(id).await?.ok_or(Error::NotFound)?;
    let profile = Profile { id: user.id, name: user.name.as_str() };
    let body = serde_json::to_vec(&profile).expect("a profile of texts is valid JSON");
    Ok(json(StatusCode::OK, body).into())
}
