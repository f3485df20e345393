//! Signs tokens and feed pages, and verifies tokens.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::JwkSet;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{Algorithm, Claims, InvalidToken, Reach, SigningKey, Token, TokenTerms};
use crate::{
    clock::Timestamp,
    session::{Session, TokenId},
};

/// Signs tokens and verifies them.
pub struct TokenMint {
    terms: TokenTerms,
    keys: ArcSwap<KeySet>,
    key_removals: AtomicU64,
    key_changes: watch::Sender<u64>,
}

/// The keys of a mint. One signs; all that verify are published.
pub struct KeySet {
    signing: Arc<SigningKey>,
    verifying: Vec<Arc<SigningKey>>,
    /// Keys whose tokens have all expired. A token of theirs can be refreshed, and is valid nowhere else.
    refreshing: Vec<Arc<SigningKey>>,
    public: JwkSet,
}

impl KeySet {
    /// A set with these keys, published in this order.
    pub fn new(
        signing: Arc<SigningKey>,
        others: impl IntoIterator<Item = Arc<SigningKey>>,
    ) -> Self {
        let all: Vec<_> = iter::once(Arc::clone(&signing)).chain(others).collect();
        Self {
            signing,
            public: JwkSet { keys: all.iter().map(|key| key.jwk().clone()).collect() },
            verifying: all,
            refreshing: Vec::new(),
        }
    }

    /// Adds keys whose tokens can only be refreshed. They are not published.
    pub fn with_refreshing(self, keys: impl IntoIterator<Item = Arc<SigningKey>>) -> Self {
        Self { refreshing: keys.into_iter().collect(), ..self }
    }

    /// The key whose tokens have this encoded header, which is the same for all tokens of a key. A token with any other
    /// header (another algorithm, an embedded key, a critical extension) is not ours.
    fn by_header(&self, header: &str) -> Option<&Arc<SigningKey>> {
        self.verifying.iter().find(|key| key.header() == header)
    }

    /// As [`Self::by_header`], for a token that is to be refreshed.
    fn by_header_to_refresh(&self, header: &str) -> Option<&Arc<SigningKey>> {
        self.verifying.iter().chain(&self.refreshing).find(|key| key.header() == header)
    }

    fn algorithms(&self) -> Vec<&'static str> {
        let used =
            |algorithm: &Algorithm| self.verifying.iter().any(|key| key.algorithm() == *algorithm);
        Algorithm::ALL.into_iter().filter(used).map(Algorithm::name).collect()
    }
}

/// The claims as JSON. The types are strict: a number in quotes is not a number.
#[derive(Serialize, Deserialize)]
struct WireClaims {
    iss: String,
    aud: String,
    sub: String,
    sid: String,
    iat: i64,
    exp: i64,
    jti: String,
    /// For other verifiers. Doorward reads it from the session.
    #[serde(skip_deserializing)]
    auth_time: i64,
    /// As `auth_time`.
    #[serde(skip_deserializing)]
    amr: Vec<&'static str>,
    /// As `auth_time`.
    #[serde(skip_deserializing)]
    acr: &'static str,
}

/// A page of the revocation feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// Where the next page starts.
    pub cursor: String,
    /// Whether the pages start from the beginning and replace everything that the verifier has received before.
    pub complete: bool,
    /// Whether another page follows at once.
    pub more: bool,
    /// Tokens that ended before they expired.
    pub revoked: Vec<TokenId>,
}

#[derive(Serialize)]
struct WireFeedPage<'a> {
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
    /// How long a verifier may rely on a page of the feed.
    const FEED_PAGE_SECONDS: i64 = 60;
    /// Tokens have about 600 characters. Longer input is refused without parsing it.
    const MAX_CHARACTERS: usize = 4096;

    pub fn new(keys: KeySet, terms: TokenTerms) -> Self {
        Self {
            terms,
            keys: ArcSwap::from_pointee(keys),
            key_removals: AtomicU64::new(0),
            key_changes: watch::Sender::new(0),
        }
    }

    /// The issuer, the audience and the lifetime of tokens.
    pub fn terms(&self) -> &TokenTerms {
        &self.terms
    }

    /// All public keys, as a JWK Set.
    pub fn public_keys(&self) -> impl Serialize + use<> {
        self.keys.load().public.clone()
    }

    /// The names of the algorithms of all keys.
    pub fn algorithms(&self) -> Vec<&'static str> {
        self.keys.load().algorithms()
    }

    /// Replaces all keys at once.
    pub fn replace_keys(&self, keys: KeySet) {
        let old = self.keys.swap(Arc::new(keys));
        let new = self.keys.load();
        if old.verifying.iter().any(|key| new.by_header(key.header()).is_none()) {
            // After the swap: a request that saw the old keys also saw the old count, and its cache entry is invalid.
            self.key_removals.fetch_add(1, Ordering::Release);
        }
        if old.public != new.public {
            self.key_changes.send_modify(|count| *count += 1);
        }
    }

    /// How often keys have been removed. Read it before verifying a token: the result is valid until the count changes.
    pub fn key_removals(&self) -> u64 {
        self.key_removals.load(Ordering::Acquire)
    }

    /// How often the published keys have changed. The receiver can wait for the next change.
    pub fn key_changes(&self) -> watch::Receiver<u64> {
        self.key_changes.subscribe()
    }

    /// Signs a page of the revocation feed. It lists the ids of all keys and is valid for a minute.
    pub fn sign_feed_page(&self, page: &FeedPage, now: Timestamp) -> String {
        let keys = self.keys.load();
        let ids = keys.public.keys.iter().filter_map(|key| key.common.key_id.as_deref());
        keys.signing.sign_feed_page(&WireFeedPage {
            iss: &self.terms.issuer,
            iat: now.seconds(),
            exp: now.seconds().saturating_add(Self::FEED_PAGE_SECONDS),
            cursor: &page.cursor,
            complete: page.complete,
            more: page.more,
            kids: ids.collect(),
            revoked: page.revoked.iter().map(TokenId::to_string).collect(),
        })
    }

    /// Signs a token for the session. It expires no later than the session.
    pub fn issue(&self, session: &Session, reach: Reach, now: Timestamp) -> Token {
        let claims = WireClaims {
            iss: self.terms.issuer.clone(),
            aud: self.terms.audience_of(reach),
            sub: session.user_id.to_string(),
            sid: session.id.to_string(),
            iat: now.seconds(),
            exp: session.expires_at.min(now + self.terms.lifetime).seconds(),
            jti: session.token_id.to_string(),
            auth_time: session.verified_at().seconds(),
            amr: session.methods.amr(),
            acr: session.methods.acr(),
        };
        Token(self.keys.load().signing.sign(&claims))
    }

    /// False if the text has the form of a token and its header is that of no key in use.
    pub fn knows_key_of(&self, token: &str) -> bool {
        let header = token.split_once('.').map(|(header, _)| header);
        header.is_none_or(|header| self.keys.load().by_header_to_refresh(header).is_some())
    }

    /// Reads a token and checks everything, including its signature.
    #[cfg(test)]
    fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, InvalidToken> {
        let unverified = self.read(token, now)?;
        if unverified.has_valid_signature() {
            Ok(unverified.claims)
        } else {
            Err(InvalidToken::NotOurs)
        }
    }

    /// Reads a token and checks everything but its signature.
    pub(crate) fn read<'t>(
        &self,
        token: &'t str,
        now: Timestamp,
    ) -> Result<Unverified<'t>, InvalidToken> {
        let unverified = self.read_parts(token, KeySet::by_header).ok_or(InvalidToken::NotOurs)?;
        let is_valid = now < unverified.claims.expires_at;
        if is_valid { Ok(unverified) } else { Err(InvalidToken::Expired) }
    }

    /// Reads a token that is to be refreshed, and checks everything but its signature. It may have expired: the session
    /// decides for how long it can be refreshed.
    pub(crate) fn read_to_refresh<'t>(
        &self,
        token: &'t str,
    ) -> Result<Unverified<'t>, InvalidToken> {
        self.read_parts(token, KeySet::by_header_to_refresh).ok_or(InvalidToken::NotOurs)
    }

    fn read_parts<'t>(
        &self,
        token: &'t str,
        key_by_header: for<'k> fn(&'k KeySet, &str) -> Option<&'k Arc<SigningKey>>,
    ) -> Option<Unverified<'t>> {
        if token.len() > Self::MAX_CHARACTERS {
            return None;
        }
        let (header, rest) = token.split_once('.')?;
        let key = Arc::clone(key_by_header(&self.keys.load(), header)?);
        let (claims, signature) = rest.split_once('.')?;
        let message = &token[..header.len() + 1 + claims.len()];
        let claims: WireClaims = serde_json::from_slice(&key.claims(claims)?).ok()?;
        let is_ours = claims.iss == self.terms.issuer && self.terms.is_audience(&claims.aud);
        // A clock that was ahead makes tokens of the future. Their sessions decide, as about all others.
        let claims = is_ours.then_some(Claims {
            user_id: claims.sub.parse().ok()?,
            session_id: claims.sid.parse().ok()?,
            token_id: claims.jti.parse().ok()?,
            issued_at: Timestamp::from_seconds(claims.iat),
            expires_at: Timestamp::from_seconds(claims.exp),
        })?;
        Some(Unverified { claims, key, message, signature })
    }
}

/// A token with a valid MAC and an unchecked signature. Without a valid signature, the sender may have seen only the first
/// two parts of the token.
pub(crate) struct Unverified<'t> {
    pub(crate) claims: Claims,
    key: Arc<SigningKey>,
    message: &'t str,
    signature: &'t str,
}

impl Unverified<'_> {
    /// Checks the signature. This takes a hundred times as long as all other checks.
    pub(crate) fn has_valid_signature(&self) -> bool {
        self.key.verifies(self.message, self.signature)
    }
}

#[cfg(test)]
mod tests;
