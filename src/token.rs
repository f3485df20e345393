//! Tokens: made, signed and recognised here; nobody else names JWT.

use std::{
    collections::HashMap,
    fmt, iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation,
    jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash},
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    clock::Timestamp,
    session::{Session, SessionId, TokenId},
    user::UserId,
};

/// How tokens are signed, by its registered name.
pub const ALGORITHM: &str = "ES256";

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
}

/// Signs tokens and recognises those that it signed.
pub struct TokenMint {
    terms: TokenTerms,
    keys: ArcSwap<KeySet>,
    removals: AtomicU64,
    validation: Validation,
}

/// The keys of a mint: one signs, all of them verify and are published.
pub struct KeySet {
    signing: Arc<SigningKey>,
    /// By the first part of a token, which is the same for all tokens of a key: a token with any other head
    /// (another algorithm, a key of its own, a critical extension) is none of ours.
    verifying: HashMap<String, Arc<SigningKey>>,
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
            public: JwkSet { keys: all.iter().map(|key| key.public.clone()).collect() },
            verifying: all.into_iter().map(|key| (key.head.clone(), key)).collect(),
        }
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

impl TokenMint {
    /// How far the clock of another instance may be ahead of ours.
    const CLOCK_SKEW_SECONDS: i64 = 60;
    /// Ours have about 500 characters; nothing longer is worth a look.
    const MAX_CHARACTERS: usize = 4096;

    /// A mint with these keys.
    pub fn new(keys: KeySet, terms: TokenTerms) -> Self {
        // The library checks the signature; the claims are judged below, with `now` as an argument.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let keys = ArcSwap::from_pointee(keys);
        Self { terms, keys, removals: AtomicU64::new(0), validation }
    }

    /// Whom tokens come from, whom they are for, and how long they live.
    pub fn terms(&self) -> &TokenTerms {
        &self.terms
    }

    /// The public halves of all keys, as a JWK Set.
    pub fn public_keys(&self) -> impl Serialize + use<> {
        self.keys.load().public.clone()
    }

    /// Puts other keys in place of all, at once.
    pub fn replace_keys(&self, keys: KeySet) {
        let old = self.keys.swap(Arc::new(keys));
        let new = self.keys.load();
        if old.verifying.keys().any(|head| !new.verifying.contains_key(head)) {
            // After the swap: whoever sees the old count may have seen the old keys, and looks again next time.
            self.removals.fetch_add(1, Ordering::Release);
        }
    }

    /// How often a key has been taken away. Take it before recognising a token: what was recognised holds until it
    /// changes.
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
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
        let key = &self.keys.load().signing;
        let signed = jsonwebtoken::encode(&key.header, &claims, &key.signing);
        Token(signed.expect("the key signed a probe when it was read"))
    }

    /// Tells what a token says.
    ///
    /// # Errors
    /// If it is none of ours, or has expired.
    pub fn recognise(&self, token: &str, now: Timestamp) -> Result<Claims, Unrecognised> {
        let claims = self.read(token, now).ok_or(Unrecognised::NotOurs)?;
        if now < claims.expires_at { Ok(claims) } else { Err(Unrecognised::Expired) }
    }

    fn read(&self, token: &str, now: Timestamp) -> Option<Claims> {
        if token.len() > Self::MAX_CHARACTERS {
            return None;
        }
        let (head, _) = token.split_once('.')?;
        let keys = self.keys.load();
        let key = &keys.verifying.get(head)?.verifying;
        let claims = jsonwebtoken::decode::<WireClaims>(token, key, &self.validation).ok()?.claims;
        let ours = claims.iss == self.terms.issuer && claims.aud == self.terms.audience;
        let issued = claims.iat <= now.seconds().saturating_add(Self::CLOCK_SKEW_SECONDS);
        (ours && issued).then_some(Claims {
            user_id: claims.sub.parse().ok()?,
            session_id: claims.sid.parse().ok()?,
            token_id: claims.jti.parse().ok()?,
            issued_at: Timestamp::from_seconds(claims.iat),
            expires_at: Timestamp::from_seconds(claims.exp),
        })
    }
}

/// Why a token tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecognised {
    /// Forged, damaged, or from somewhere else.
    NotOurs,
    /// Ours, and its time is up.
    Expired,
}

/// Names a key in the head of its tokens: the thumbprint of its public half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for KeyId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

/// A key for signing tokens: the private half, and what is made of it once to be used often.
pub struct SigningKey {
    id: KeyId,
    pkcs8: Zeroizing<Vec<u8>>,
    signing: EncodingKey,
    verifying: DecodingKey,
    public: Jwk,
    header: Header,
    head: String,
}

/// The key is not a P-256 key in PKCS#8 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a P-256 private key in PKCS#8 PEM form")]
pub struct UnusableKey;

impl SigningKey {
    const PEM_TAG: &str = "PRIVATE KEY";

    /// A new random key.
    pub fn generate() -> Self {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let document = document.expect("the system has randomness");
        Self::new(Zeroizing::new(document.as_ref().to_vec())).expect("a new key is a P-256 key")
    }

    fn new(pkcs8: Zeroizing<Vec<u8>>) -> Result<Self, UnusableKey> {
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8)
            .map_err(|_| UnusableKey)?;
        let signing = EncodingKey::from_ec_der(&pkcs8);
        let mut public =
            Jwk::from_encoding_key(&signing, Algorithm::ES256).map_err(|_| UnusableKey)?;
        let verifying = DecodingKey::from_jwk(&public).map_err(|_| UnusableKey)?;
        let id = public.thumbprint(ThumbprintHash::SHA256).map_err(|_| UnusableKey)?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        let header = Header { kid: Some(id.clone()), ..Header::new(Algorithm::ES256) };
        let probe = jsonwebtoken::encode(&header, &(), &signing).map_err(|_| UnusableKey)?;
        let head = probe.split('.').next().unwrap_or_default().to_owned();
        Ok(Self { id: KeyId(id), pkcs8, signing, verifying, public, header, head })
    }

    /// What the key is called.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Reads a key from its PEM file's contents.
    ///
    /// # Errors
    /// If that is not a P-256 key.
    pub fn from_pem(text: &str) -> Result<Self, UnusableKey> {
        let block = pem::parse(text).map_err(|_| UnusableKey)?;
        if block.tag() != Self::PEM_TAG {
            return Err(UnusableKey);
        }
        Self::new(Zeroizing::new(block.contents().to_vec()))
    }

    /// The key as the contents of a PEM file.
    pub fn to_pem(&self) -> Zeroizing<String> {
        let block = pem::Pem::new(Self::PEM_TAG, self.pkcs8.to_vec());
        let unix = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        Zeroizing::new(pem::encode_config(&block, unix))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn terms() -> TokenTerms {
        TokenTerms {
            issuer: "us".into(),
            audience: "them".into(),
            lifetime: DAY,
            publish_before_signing: Duration::ZERO,
        }
    }

    fn key() -> Arc<SigningKey> {
        Arc::new(SigningKey::generate())
    }

    fn mint_with(key: &Arc<SigningKey>, terms: TokenTerms) -> TokenMint {
        TokenMint::new(KeySet::new(Arc::clone(key), []), terms)
    }

    fn mint() -> TokenMint {
        mint_with(&key(), terms())
    }

    fn session() -> Session {
        let origin = crate::session::Origin::new([127, 0, 0, 1].into(), "");
        Session::new(UserId::random(), origin, NOW, 30 * DAY)
    }

    /// A token with claims of our choice, signed with the mint's own key.
    fn signed(mint: &TokenMint, claims: &Value) -> String {
        let key = &mint.keys.load().signing;
        jsonwebtoken::encode(&key.header, claims, &key.signing).unwrap()
    }

    fn good_claims() -> Value {
        json!({
            "iss": "us", "aud": "them", "sub": UserId::random().to_string(),
            "sid": SessionId::random().to_string(), "iat": NOW.seconds(),
            "exp": NOW.seconds() + 60, "jti": TokenId::random().to_string(),
        })
    }

    #[test]
    fn a_token_tells_user_and_session_until_it_expires() {
        let (mint, session) = (mint(), session());
        let token = mint.issue(&session, NOW);
        let claims = mint.recognise(token.as_str(), NOW).unwrap();
        assert_eq!((claims.user_id, claims.session_id), (session.user_id, session.id));
        assert_eq!(claims.token_id, session.token_id);
        let last = Timestamp::from_millis((NOW + DAY).millis() - 1);
        assert!(mint.recognise(token.as_str(), last).is_ok());
        assert_eq!(mint.recognise(token.as_str(), NOW + DAY), Err(Unrecognised::Expired));
    }

    #[test]
    fn a_token_never_outlives_its_session() {
        let (mint, session) = (mint(), session());
        let late = NOW + (30 * DAY - Duration::from_secs(60));
        let token = mint.issue(&session, late);
        assert_eq!(mint.recognise(token.as_str(), late).unwrap().expires_at, session.expires_at);
    }

    #[test]
    fn a_token_from_the_future_is_refused_beyond_a_minute() {
        let (mint, session) = (mint(), session());
        let ahead = |seconds| mint.issue(&session, NOW + Duration::from_secs(seconds));
        assert!(mint.recognise(ahead(60).as_str(), NOW).is_ok());
        assert_eq!(mint.recognise(ahead(61).as_str(), NOW).ok(), None);
    }

    #[test]
    fn no_changed_character_no_prefix_and_no_extension_of_a_token_is_recognised() {
        let mint = mint();
        let token = mint.issue(&session(), NOW);
        let token = token.as_str();
        const ALPHABET: &str =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
        for at in 0..token.len() {
            assert_eq!(mint.recognise(&token[..at], NOW).ok(), None, "the first {at} characters");
            // Checking a signature takes long without optimisation: three other characters at each place,
            // and all of them in the last, whose spare bits a lax decoder would ignore.
            let others = ALPHABET.chars().cycle().skip(at).take(3);
            let others: Vec<_> =
                if at + 1 == token.len() { ALPHABET.chars().collect() } else { others.collect() };
            for other in others.into_iter().filter(|&c| !token[at..].starts_with(c)) {
                let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
                assert_eq!(mint.recognise(&changed, NOW).ok(), None, "{other} at {at}");
            }
        }
        for more in ALPHABET.chars() {
            assert_eq!(mint.recognise(&format!("{token}{more}"), NOW).ok(), None);
            assert_eq!(mint.recognise(&format!("{more}{token}"), NOW).ok(), None);
        }
    }

    #[test]
    fn claims_of_a_wrong_type_or_value_are_refused_even_with_a_right_signature() {
        let mint = mint();
        assert!(mint.recognise(&signed(&mint, &good_claims()), NOW).is_ok());
        let wrong = [
            json!("99999999999"),
            json!(1.5),
            json!(true),
            json!(null),
            json!([]),
            json!({}),
            json!(-1),
            json!(["us"]),
            json!(u64::MAX),
            json!(""),
        ];
        for claim in ["iss", "aud", "sub", "sid", "exp", "jti"] {
            for value in &wrong {
                // An expiry in the far future is as good as any other.
                if claim == "exp" && value.as_u64() == Some(u64::MAX) {
                    continue;
                }
                let mut claims = good_claims();
                claims[claim] = value.clone();
                assert_eq!(
                    mint.recognise(&signed(&mint, &claims), NOW).ok(),
                    None,
                    "{claim} = {value}"
                );
            }
            let mut claims = good_claims();
            claims.as_object_mut().unwrap().remove(claim);
            assert_eq!(mint.recognise(&signed(&mint, &claims), NOW).ok(), None, "without {claim}");
        }
    }

    #[test]
    fn a_head_that_is_not_ours_is_refused() {
        let key = key();
        let mint = mint_with(&key, terms());
        let secret = EncodingKey::from_secret(b"anything");
        let hs256 = jsonwebtoken::encode(&Header::default(), &good_claims(), &secret).unwrap();
        assert_eq!(mint.recognise(&hs256, NOW).ok(), None);
        let mut with_type = key.header.clone();
        with_type.typ = Some("at+jwt".into());
        let mut without_kid = key.header.clone();
        without_kid.kid = None;
        let mut with_crit = key.header.clone();
        with_crit.crit = Some(vec!["exp".into()]);
        for header in [with_type, without_kid, with_crit] {
            let token = jsonwebtoken::encode(&header, &good_claims(), &key.signing).unwrap();
            assert_eq!(mint.recognise(&token, NOW).ok(), None, "{header:?}");
        }
    }

    #[test]
    fn tokens_of_another_key_issuer_or_audience_are_refused() {
        let key = key();
        let token = mint_with(&key, terms()).issue(&session(), NOW);
        let others = [
            mint(),
            mint_with(&key, TokenTerms { issuer: "x".into(), ..terms() }),
            mint_with(&key, TokenTerms { audience: "x".into(), ..terms() }),
        ];
        for other in others {
            assert_eq!(other.recognise(token.as_str(), NOW).ok(), None);
        }
    }

    #[test]
    fn a_token_is_recognised_for_as_long_as_its_key_is_in_the_set() {
        let (old, new) = (key(), key());
        let mint = mint_with(&old, terms());
        let token = mint.issue(&session(), NOW);
        mint.replace_keys(KeySet::new(Arc::clone(&new), [Arc::clone(&old)]));
        assert_eq!(mint.removals(), 0);
        assert!(mint.recognise(token.as_str(), NOW).is_ok());
        assert!(mint.issue(&session(), NOW).as_str().starts_with(&new.head));
        mint.replace_keys(KeySet::new(new, []));
        assert_eq!(mint.removals(), 1);
        assert_eq!(mint.recognise(token.as_str(), NOW), Err(Unrecognised::NotOurs));
    }

    #[test]
    fn only_public_halves_are_published() {
        let (signing, next) = (key(), key());
        let mint = TokenMint::new(KeySet::new(Arc::clone(&signing), [Arc::clone(&next)]), terms());
        let published = serde_json::to_value(mint.public_keys()).unwrap();
        let keys = published["keys"].as_array().unwrap();
        for (published, key) in keys.iter().zip([signing, next]) {
            let mut members: Vec<_> = published.as_object().unwrap().keys().collect();
            members.sort();
            assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
            let member = |name: &str| published[name].as_str().unwrap().to_owned();
            assert_eq!((member("alg"), member("use")), ("ES256".into(), "sig".into()));
            assert_eq!(member("kid"), key.id().to_string());
        }
        assert_eq!(keys.len(), 2);
    }

    #[test]
    fn a_key_survives_its_file() {
        let key = key();
        let again = Arc::new(SigningKey::from_pem(&key.to_pem()).unwrap());
        let token = mint_with(&key, terms()).issue(&session(), NOW);
        let mint = mint_with(&again, terms());
        assert!(mint.recognise(token.as_str(), NOW).is_ok());
        for bad in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "secret"]
        {
            assert_eq!(SigningKey::from_pem(bad).err(), Some(UnusableKey));
        }
    }
}
