//! `POST /oauth/introspect` (RFC 7662): whether a token is valid now, and its claims.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::{AuthenticatedClient, TokenField};
use crate::{
    Doorward,
    access::{caller::AuthError, policy::SignedIn},
    http::{answer::NoStore, error::Error},
    session::{Session, SessionId, TokenId},
    token::{Claims, TokenTerms},
    user::UserId,
};

/// Whether a token is valid. Only one that is has claims.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Introspection")]
pub(crate) enum Introspected {
    Inactive {
        #[schemars(extend("const" = false))]
        active: bool,
    },
    Active {
        #[schemars(extend("const" = true))]
        active: bool,
        #[serde(flatten)]
        claims: Box<TokenClaims>,
    },
}

impl From<Option<TokenClaims>> for Introspected {
    fn from(claims: Option<TokenClaims>) -> Self {
        match claims {
            None => Self::Inactive { active: false },
            Some(claims) => Self::Active { active: true, claims: Box::new(claims) },
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TokenClaims {
    /// The user.
    sub: UserId,
    /// The session.
    sid: SessionId,
    iss: String,
    aud: String,
    exp: i64,
    iat: i64,
    /// When the user last showed who they are.
    auth_time: i64,
    /// How they did, by RFC 8176.
    #[schemars(extend(
        "items" = { "type": "string", "enum": ["mfa", "otp", "pop", "pwd", "rba"] },
        "uniqueItems" = true
    ))]
    amr: Vec<&'static str>,
    /// How strongly they did: with one factor, with two, or with two of which one resists phishing.
    #[schemars(extend("enum" = ["1", "2", "phr"]))]
    acr: &'static str,
    /// The token.
    jti: TokenId,
    #[schemars(extend("const" = "Bearer"))]
    token_type: &'static str,
}

impl TokenClaims {
    fn new(claims: Claims, session: &Session, terms: &TokenTerms) -> Self {
        Self {
            sub: claims.user_id,
            sid: claims.session_id,
            iss: terms.issuer.clone(),
            aud: terms.audience.clone(),
            exp: claims.expires_at.seconds(),
            iat: claims.issued_at.seconds(),
            auth_time: session.verified_at().seconds(),
            amr: session.methods.amr(),
            acr: session.methods.acr(),
            jti: claims.token_id,
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
    Ok(NoStore(StatusCode::OK, claims.into()))
}
