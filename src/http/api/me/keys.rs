//! `/api/me/keys`: the API keys of the caller. Making one needs a sign-in within the last 10 minutes. A key does not count here.

use axum::{extract::State, http::StatusCode};

use crate::{
    Doorward,
    access::{
        api_key::EVERY_GUARD,
        policy::{Authenticated, SignedIn},
    },
    account::{key_list::ApiKeyInfo, keys},
    http::{
        Error,
        answer::{NoContent, NoStore},
        api::admin::keys::{CreatedApiKey, KeyLimits},
        bearer::Bearer,
        description::Created,
        form::{Flattened, Json, JsonForm, form},
        path_id::PathId,
    },
    network::Requester,
    user::{ApiKeyId, Name},
};

form! {
    pub(crate) struct NewPersonalKey {
        name: Name,
        /// What it is for; every guard that takes keys by default.
        scopes: Option<Json<Vec<String>>>,
        limits: Flattened<KeyLimits>,
        ..Refused
    }
}

pub(crate) async fn create(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<NewPersonalKey>,
) -> Result<Created<CreatedApiKey>, Error> {
    let NewPersonalKey { name, scopes, limits } = form.read(&doorward)?;
    let new = limits.key(name, scopes.unwrap_or_else(|| vec![EVERY_GUARD.to_owned()]));
    let made = keys::create_personal(&doorward, &caller, new, &requester).await?;
    Ok(Created(made.into()))
}

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
) -> Result<NoStore<Vec<ApiKeyInfo>>, Error> {
    let keys = keys::of_user(&doorward, *user_id).await?;
    Ok(NoStore(StatusCode::OK, keys.into_iter().map(ApiKeyInfo::from).collect()))
}

pub(crate) async fn revoke(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    requester: Requester,
    id: PathId<ApiKeyId>,
) -> Result<NoContent, Error> {
    NoContent::if_found(keys::revoke_own(&doorward, *user_id, id.valid()?, &requester).await?)
}
