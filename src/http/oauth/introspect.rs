//! `POST /oauth/introspect` (RFC 7662): whether a token is good at this moment, and what it says.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{AskedToken, KnownClient};
use crate::{
    Doorward,
    access::caller::AuthError,
    http::{Error, answer::NoStore},
    token::{Claims, TokenTerms},
};

/// Nothing but `active` is told of a token that is not good.
#[derive(Serialize)]
pub(in crate::http) struct Introspected {
    active: bool,
    #[serde(flatten)]
    says: Option<Says>,
}

#[derive(Serialize)]
struct Says {
    sub: String,
    sid: String,
    iss: String,
    aud: String,
    exp: i64,
    iat: i64,
    jti: String,
    token_type: &'static str,
}

impl Says {
    fn new(claims: Claims, terms: &TokenTerms) -> Self {
        Self {
            sub: claims.user_id.to_string(),
            sid: claims.session_id.to_string(),
            iss: terms.issuer.clone(),
            aud: terms.audience.clone(),
            exp: claims.expires_at.seconds(),
            iat: claims.issued_at.seconds(),
            jti: claims.token_id.to_string(),
            token_type: "Bearer",
        }
    }
}

pub(in crate::http) async fn introspect(
    State(doorward): State<Doorward>,
    _: KnownClient,
    AskedToken(token): AskedToken,
) -> Result<NoStore<Introspected>, Error> {
    let is_good = match doorward.caller(&token).await {
        Ok(_) => true,
        Err(AuthError::Unauthenticated(_)) => false,
        Err(AuthError::Store(error)) => return Err(error.into()),
    };
    // A good token's signature has been checked.
    let read = is_good.then(|| doorward.mint().read(&token, doorward.now()).ok()).flatten();
    let says =
        read.map(|token| token.claims).map(|claims| Says::new(claims, doorward.mint().terms()));
    Ok(NoStore(StatusCode::OK, Introspected { active: says.is_some(), says }))
}
