//! Tokens: made, signed and recognised here; nobody else names JWT.

pub mod feed;
mod key;
pub mod key_file;
pub mod key_store;
mod mac;
pub mod signing_keys;

use std::{
    fmt, iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::JwkSet;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use self::key::{Algorithm, KeyId, SigningKey, UnusableKey};
use crate::{
    clock::Timestamp,
    session::{Session, SessionId, TokenId},
    user::UserId,
};

/// A signed token, as it is handed to its user: whoever holds it is taken for that user.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// The text that goes behind `Bearer`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What a recognised token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Whose token it is.
    pub user_id: UserId,
    /// The session that it belongs to.
    pub session_id: SessionId,
    /// Which of the session's tokens it is.
    pub token_id: TokenId,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// The first moment at which it is no longer good.
    pub expires_at: Timestamp,
}

/// Whom tokens come from, whom they are for, and how long they live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTerms {
    /// The `iss` claim.
    pub issuer: String,
    /// The `aud` claim.
    pub audience: String,
    /// From signing to expiry.
    pub lifetime: Duration,
    /// From the publication of a key to its first signature.
    pub publish_before_signing: Duration,
    /// What new keys are for.
    pub algorithm: Algorithm,
}

/// Signs tokens and recognises those that it signed.
pub struct TokenMint {
    terms: TokenTerms,
    keys: ArcSwap<KeySet>,
    removals: AtomicU64,
    key_changes: watch::Sender<u64>,
}

/// The keys of a mint: one signs, all of them verify and are published.
pub struct KeySet {
    signing: Arc<SigningKey>,
    verifying: Vec<Arc<SigningKey>>,
    public: JwkSet,
}

impl KeySet {
    /// A set in the order in which it is published.
    pub fn new(
        signing: Arc<SigningKey>,
        others: impl IntoIterator<Item = Arc<SigningKey>>,
    ) -> Self {
        let all: Vec<_> = iter::once(Arc::clone(&signing)).chain(others).collect();
        Self {
            signing,
            public: JwkSet { keys: all.iter().map(|key| key.public().clone()).collect() },
            verifying: all,
        }
    }

    /// The key with this first part of a token, which is the same for all tokens of a key: a token with any other head
    /// (another algorithm, a key of its own, a critical extension) is none of ours. There are few keys.
    fn by_head(&self, head: &str) -> Option<&Arc<SigningKey>> {
        self.verifying.iter().find(|key| key.head() == head)
    }

    fn algorithms(&self) -> Vec<&'static str> {
        let used =
            |algorithm: &Algorithm| self.verifying.iter().any(|key| key.algorithm() == *algorithm);
        Algorithm::ALL.into_iter().filter(used).map(Algorithm::name).collect()
    }
}

/// The claims on the wire. Their types are strict: a number in quotes is not a number.
#[derive(Serialize, Deserialize)]
struct WireClaims {
    iss: String,
    aud: String,
    sub: String,
    sid: String,
    iat: i64,
    exp: i64,
    jti: String,
}

/// What those who verify tokens by themselves have to know beside the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Where the next news begin.
    pub cursor: String,
    /// Whether these are all that there are, so that whatever was known before can be forgotten.
    pub complete: bool,
    /// Whether others are waiting to be told.
    pub more: bool,
    /// Tokens that have ended before their time.
    pub revoked: Vec<TokenId>,
}

#[derive(Serialize)]
struct WireNews<'a> {
    iss: &'a str,
    iat: i64,
    exp: i64,
    cursor: &'a str,
    complete: bool,
    more: bool,
    kids: Vec<&'a str>,
    revoked: Vec<String>,
}

impl TokenMint {
    /// How far the clock of another instance may be ahead of ours.
    const CLOCK_SKEW_SECONDS: i64 = 60;
    /// How long somebody may act on the latest news without hearing more.
    const NEWS_SECONDS: i64 = 60;
    /// Ours have about 550 characters; nothing longer is worth a look.
    const MAX_CHARACTERS: usize = 4096;

    /// A mint with these keys.
    pub fn new(keys: KeySet, terms: TokenTerms) -> Self {
        Self {
            terms,
            keys: ArcSwap::from_pointee(keys),
            removals: AtomicU64::new(0),
            key_changes: watch::Sender::new(0),
        }
    }

    /// Whom tokens come from, whom they are for, and how long they live.
    pub fn terms(&self) -> &TokenTerms {
        &self.terms
    }

    /// The public halves of all keys, as a JWK Set.
    pub fn public_keys(&self) -> impl Serialize + use<> {
        self.keys.load().public.clone()
    }

    /// The names of the algorithms that tokens may be signed with.
    pub fn algorithms(&self) -> Vec<&'static str> {
        self.keys.load().algorithms()
    }

    /// Puts other keys in place of all, at once.
    pub fn replace_keys(&self, keys: KeySet) {
        let old = self.keys.swap(Arc::new(keys));
        let new = self.keys.load();
        if old.verifying.iter().any(|key| new.by_head(key.head()).is_none()) {
            // After the swap: whoever sees the old count may have seen the old keys, and looks again next time.
            self.removals.fetch_add(1, Ordering::Release);
        }
        if old.public != new.public {
            self.key_changes.send_modify(|count| *count += 1);
        }
    }

    /// How often a key has been taken away. Take it before recognising a token: what was recognised holds until it
    /// changes.
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// How often other keys have been published, and a way to wait for the next time.
    pub fn key_changes(&self) -> watch::Receiver<u64> {
        self.key_changes.subscribe()
    }

    /// Signs news about tokens. They name the keys whose tokens are good, and are themselves good for a minute.
    pub fn tell(&self, news: &News, now: Timestamp) -> String {
        let keys = self.keys.load();
        let ids = keys.public.keys.iter().filter_map(|key| key.common.key_id.as_deref());
        keys.signing.sign_news(&WireNews {
            iss: &self.terms.issuer,
            iat: now.seconds(),
            exp: now.seconds().saturating_add(Self::NEWS_SECONDS),
            cursor: &news.cursor,
            complete: news.complete,
            more: news.more,
            kids: ids.collect(),
            revoked: news.revoked.iter().map(TokenId::to_string).collect(),
        })
    }

    /// Signs the session's token, which lives no longer than the session.
    pub fn issue(&self, session: &Session, now: Timestamp) -> Token {
        let claims = WireClaims {
            iss: self.terms.issuer.clone(),
            aud: self.terms.audience.clone(),
            sub: session.user_id.to_string(),
            sid: session.id.to_string(),
            iat: now.seconds(),
            exp: session.expires_at.min(now + self.terms.lifetime).seconds(),
            jti: session.token_id.to_string(),
        };
        Token(self.keys.load().signing.sign(&claims))
    }

    /// Whether a token is not even of a shape to be ours, or names a key that we have.
    pub fn knows_key_of(&self, token: &str) -> bool {
        let head = token.split_once('.').map(|(head, _)| head);
        head.is_none_or(|head| self.keys.load().by_head(head).is_some())
    }

    /// Tells what a token says.
    ///
    /// # Errors
    /// If it is none of ours, or has expired.
    pub fn recognise(&self, token: &str, now: Timestamp) -> Result<Claims, InvalidToken> {
        let unverified = self.read(token, now)?;
        if unverified.is_signed() { Ok(unverified.claims) } else { Err(InvalidToken::NotOurs) }
    }

    /// Reads a token that has the code of one of our keys, all but its signature.
    pub(crate) fn read<'t>(
        &self,
        token: &'t str,
        now: Timestamp,
    ) -> Result<Unverified<'t>, InvalidToken> {
        let unverified = self.read_parts(token, now).ok_or(InvalidToken::NotOurs)?;
        let is_good = now < unverified.claims.expires_at;
        if is_good { Ok(unverified) } else { Err(InvalidToken::Expired) }
    }

    fn read_parts<'t>(&self, token: &'t str, now: Timestamp) -> Option<Unverified<'t>> {
        if token.len() > Self::MAX_CHARACTERS {
            return None;
        }
        let (head, rest) = token.split_once('.')?;
        let key = Arc::clone(self.keys.load().by_head(head)?);
        let (claims, signature) = rest.split_once('.')?;
        let message = &token[..head.len() + 1 + claims.len()];
        let claims: WireClaims = serde_json::from_slice(&key.claims(claims)?).ok()?;
        let ours = claims.iss == self.terms.issuer && claims.aud == self.terms.audience;
        let issued = claims.iat <= now.seconds().saturating_add(Self::CLOCK_SKEW_SECONDS);
        let claims = (ours && issued).then_some(Claims {
            user_id: claims.sub.parse().ok()?,
            session_id: claims.sid.parse().ok()?,
            token_id: claims.jti.parse().ok()?,
            issued_at: Timestamp::from_seconds(claims.iat),
            expires_at: Timestamp::from_seconds(claims.exp),
        })?;
        Some(Unverified { claims, key, message, signature })
    }
}

/// A token with the code of one of our keys, whose signature is still to be checked: whoever has seen no more of it
/// than the first two parts does not hold it.
pub(crate) struct Unverified<'t> {
    pub(crate) claims: Claims,
    key: Arc<SigningKey>,
    message: &'t str,
    signature: &'t str,
}

impl Unverified<'_> {
    /// Checks the signature, which takes a hundred times as long as everything else about a token.
    pub(crate) fn is_signed(&self) -> bool {
        self.key.has_signed(self.message, self.signature)
    }
}

/// Why a token tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidToken {
    /// Forged, damaged, or from somewhere else.
    NotOurs,
    /// Ours, and its time is up.
    Expired,
}

#[cfg(test)]
mod tests;
