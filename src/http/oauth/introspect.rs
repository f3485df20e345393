//! `POST /oauth/introspect` (RFC 7662): whether a token is valid now, and its claims.

use axum::{extract::State, http::StatusCode};
use serde::Serialize;

use super::{AuthenticatedClient, TokenField};
use crate::{
    Doorward,
    access::{caller::AuthError, policy::SignedIn},
    http::{answer::NoStore, error::Error},
    session::Session,
    token::{Claims, TokenTerms},
};

/// A token that is not valid gets `active` alone.
#[derive(Serialize)]
pub(crate) struct Introspected {
    active: bool,
    #[serde(flatten)]
    claims: Option<TokenClaims>,
}

#[derive(Serialize)]
struct TokenClaims {
    sub: String,
    sid: String,
    iss: String,
    aud: String,
    exp: i64,
    iat: i64,
    auth_time: i64,
    amr: Vec<&'static str>,
    acr: &'static str,
    jti: String,
    token_type: &'static str,
}

impl TokenClaims {
    fn new(claims: Claims, session: &Session, terms: &TokenTerms) -> Self {
        Self {
            sub: claims.user_id.to_string(),
            sid: claims.session_id.to_string(),
            iss: terms.issuer.clone(),
            aud: terms.audience.clone(),
            exp: claims.expires_at.seconds(),
            iat: claims.issued_at.seconds(),
            auth_time: session.verified_at().seconds(),
            amr: session.methods.amr(),
            acr: session.methods.acr(),
            jti: claims.token_id.to_string(),
            token_type: "Bearer",
        }
    }
}

pub(crate) async fn introspect(
    State(doorward): State<Doorward>,
    _: AuthenticatedClient,
    TokenField(token): TokenField,
) -> Result<NoStore<Introspected>, Error> {
    let caller = match doorward.caller(&token).await {
        Ok(caller) => Some(caller),
        Err(AuthError::Unauthenticated(_)) => None,
        Err(AuthError::Store(error)) => return Err(error.into()),
    };
    // A session that opens only the own account is nobody's to accept but ours.
    let caller = caller.and_then(|caller| doorward.granted_by(&SignedIn, &caller).ok());
    // The look-up has checked the signature of a valid token.
    let claims = caller.and_then(|caller| {
        let token = doorward.mint().read(&token, doorward.now()).ok()?;
        Some(TokenClaims::new(token.claims, &caller.session, doorward.mint().terms()))
    });
    Ok(NoStore(StatusCode::OK, Introspected { active: claims.is_some(), claims }))
}
