//! `/api/me/identities`: the accounts of the caller at other providers. Removing one needs a sign-in within the last 10 minutes.

use axum::{extract::State, http::StatusCode};

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{
        identities,
        identity_list::{self, IdentityInfo},
    },
    http::{
        Error,
        answer::{NoContent, NoStore},
        bearer::Bearer,
        path_id::PathId,
    },
    network::Requester,
    user::IdentityId,
};

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<Vec<IdentityInfo>>, Error> {
    let identities = identity_list::list(&doorward, caller.user.id).await?;
    Ok(NoStore(StatusCode::OK, identities))
}

pub(crate) async fn remove(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    id: PathId<IdentityId>,
) -> Result<NoContent, Error> {
    identities::unlink(&doorward, &caller, id.valid()?, &requester).await?;
    Ok(NoContent)
}
