//! `GET /api/user/<id>`: the public profile of a user.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Doorward,
    http::{Error, answer::json, description::Sent, path_id::PathId},
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
    id: PathId<UserId>,
) -> Result<Sent<Profile<'static>>, Error> {
    let user = doorward.user_by_id(id.valid()?).await?.ok_or(Error::NotFound)?;
    let profile = Profile { id: user.id, name: user.name.as_str() };
    let body = serde_json::to_vec(&profile).expect("a profile of texts is valid JSON");
    Ok(json(StatusCode::OK, body).into())
}
