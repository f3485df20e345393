//! `GET /.well-known/webauthn`: the origins whose pages may use the passkeys of this domain (WebAuthn Level 3, related origins).
//! Browsers ask for it when a page of another domain uses one, as after a move of the service.

use std::time::Duration;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Doorward,
    http::{Error, answer::Cacheable},
};

const MAX_AGE: Duration = Duration::from_secs(60 * 60);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PasskeyOrigins")]
pub(crate) struct Origins {
    #[schemars(inner(url))]
    origins: Vec<String>,
}

pub(crate) async fn show(State(doorward): State<Doorward>) -> Result<Cacheable<Origins>, Error> {
    let party = doorward.passkey_relying_party().ok_or(Error::NotFound)?;
    Ok(Cacheable(MAX_AGE, Origins { origins: party.origins }))
}
