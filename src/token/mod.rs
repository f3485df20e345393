//! Tokens: signing keys, signing, verification and the revocation feed, and the sealed values in cookies. Only this room
//! handles JWTs.

pub mod challenge;
pub mod cookie;
pub mod endings;
pub mod external;
pub mod factor_key;
pub mod feed;
mod key;
pub mod key_file;
pub mod key_store;
mod mac;
pub mod memory_key_store;
mod mint;
pub mod one_time;
pub mod shared_secret;
pub mod signing_keys;

use std::{fmt, time::Duration};

use serde::Serialize;

pub(crate) use self::mint::Unverified;
pub use self::{
    key::{Algorithm, KeyId, SigningKey, UnusableKey},
    mint::{FeedPage, KeySet, TokenMint},
};
use crate::{
    clock::Timestamp,
    json_schema::text_schema,
    session::{SessionId, TokenId},
    user::UserId,
};

/// A signed token. Its holder is authenticated as its user.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Token(String);

text_schema!(Token as "Token" {
    "description": "A JWT, which is sent as a bearer token",
    "pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$",
});

impl Token {
    /// The text after `Bearer` in the `Authorization` header.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The claims of a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The user (`sub`).
    pub user_id: UserId,
    /// The session (`sid`).
    pub session_id: SessionId,
    /// The token (`jti`).
    pub token_id: TokenId,
    /// When it was signed (`iat`).
    pub issued_at: Timestamp,
    /// When it expires (`exp`).
    pub expires_at: Timestamp,
}

/// The issuer, the audience and the lifetime of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTerms {
    /// The `iss` claim.
    pub issuer: String,
    /// The `aud` claim.
    pub audience: String,
    /// The time from signing to expiry.
    pub lifetime: Duration,
    /// The time from the publication of a key to its first signature.
    pub publish_before_signing: Duration,
    /// The algorithm of new keys.
    pub algorithm: Algorithm,
}

/// What a token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Everything,
    /// Only the account of its user, because everybody needs a second factor. Nobody else accepts its audience.
    Account,
}

/// What follows the audience of tokens that open only the own account.
const ACCOUNT: &str = "/account";

impl TokenTerms {
    /// How long verifiers may keep the key set: it expires before a key that it lacks starts to sign.
    pub fn key_set_max_age(&self) -> Duration {
        const MAX: Duration = Duration::from_secs(60 * 60);
        self.publish_before_signing.min(MAX)
    }

    fn audience_of(&self, reach: Reach) -> String {
        match reach {
            Reach::Everything => self.audience.clone(),
            Reach::Account => format!("{}{ACCOUNT}", self.audience),
        }
    }

    /// Whether a token with this `aud` claim is for this service.
    fn is_audience(&self, claim: &str) -> bool {
        claim.strip_suffix(ACCOUNT).is_some_and(|claim| claim == self.audience)
            || claim == self.audience
    }
}

/// Why a token is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidToken {
    /// It is forged, damaged or issued by another service.
    NotOurs,
    Expired,
}
