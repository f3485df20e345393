//! Tokens: made, signed and recognised here; nobody else names JWT.

mod key;

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
            public: JwkSet { keys: all.iter().map(|key| key.public().clone()).collect() },
            verifying: all.into_iter().map(|key| (key.head().to_owned(), key)).collect(),
        }
    }

    fn algorithms(&self) -> Vec<&'static str> {
        let used = |algorithm: &Algorithm| {
            self.verifying.values().any(|key| key.algorithm() == *algorithm)
        };
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
    /// Ours have about 500 characters; nothing longer is worth a look.
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
        if old.verifying.keys().any(|head| !new.verifying.contains_key(head)) {
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
        head.is_none_or(|head| self.keys.load().verifying.contains_key(head))
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
        let claims: WireClaims = keys.verifying.get(head)?.claims(token)?;
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
            algorithm: Algorithm::Es256,
        }
    }

    fn key_for(algorithm: Algorithm) -> Arc<SigningKey> {
        Arc::new(SigningKey::generate(algorithm))
    }

    fn key() -> Arc<SigningKey> {
        key_for(Algorithm::Es256)
    }

    fn mints() -> [TokenMint; 3] {
        Algorithm::ALL.map(|algorithm| mint_with(&key_for(algorithm), terms()))
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
        mint.keys.load().signing.sign(claims)
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
        for mint in mints() {
            let session = session();
            let token = mint.issue(&session, NOW);
            let claims = mint.recognise(token.as_str(), NOW).unwrap();
            assert_eq!((claims.user_id, claims.session_id), (session.user_id, session.id));
            assert_eq!(claims.token_id, session.token_id);
            let last = Timestamp::from_millis((NOW + DAY).millis() - 1);
            assert!(mint.recognise(token.as_str(), last).is_ok());
            assert_eq!(mint.recognise(token.as_str(), NOW + DAY), Err(Unrecognised::Expired));
        }
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
    fn no_year_is_too_late_for_a_token() {
        let (mint, mut session) = (mint(), session());
        for seconds in [i64::from(i32::MAX), i64::from(u32::MAX), 253_402_300_799] {
            let now = Timestamp::from_seconds(seconds);
            session.expires_at = now + 30 * DAY;
            let token = mint.issue(&session, now);
            assert!(mint.recognise(token.as_str(), now).is_ok());
            assert_eq!(mint.recognise(token.as_str(), now + DAY), Err(Unrecognised::Expired));
        }
    }

    #[test]
    fn no_changed_character_no_prefix_and_no_extension_of_a_token_is_recognised() {
        for mint in mints() {
            refuses_whatever_is_nearly(&mint, mint.issue(&session(), NOW).as_str());
        }
    }

    fn refuses_whatever_is_nearly(mint: &TokenMint, token: &str) {
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
        for mint in mints() {
            assert!(mint.recognise(&signed(&mint, &good_claims()), NOW).is_ok());
            refuses_wrong_claims(&mint);
        }
    }

    fn refuses_wrong_claims(mint: &TokenMint) {
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
        for claim in ["iss", "aud", "sub", "sid", "iat", "exp", "jti"] {
            for value in &wrong {
                // Before 1970 is long ago, and as good as yesterday.
                if claim == "iat" && *value == json!(-1) {
                    continue;
                }
                let mut claims = good_claims();
                claims[claim] = value.clone();
                assert_eq!(
                    mint.recognise(&signed(mint, &claims), NOW).ok(),
                    None,
                    "{claim} = {value}"
                );
            }
            let mut claims = good_claims();
            claims.as_object_mut().unwrap().remove(claim);
            assert_eq!(mint.recognise(&signed(mint, &claims), NOW).ok(), None, "without {claim}");
        }
    }

    #[test]
    fn a_head_that_is_not_ours_is_refused() {
        let mint = mint();
        let key = Arc::clone(&mint.keys.load().signing);
        let kid = key.id().to_string();
        let under = |head: Value| key.sign_under(&key::encoded(&head), &good_claims());
        let heads = [
            json!({"typ": "at+jwt", "alg": "ES256", "kid": kid}),
            json!({"typ": "JWT", "alg": "ES256"}),
            json!({"typ": "JWT", "alg": "ES256", "kid": kid, "crit": ["exp"]}),
            json!({"typ": "JWT", "alg": "none", "kid": kid}),
            json!({"typ": "JWT", "alg": ["ES256"], "kid": kid}),
            json!({"typ": "JWT", "alg": "ES256", "kid": kid, "b64": false}),
            json!({"typ": "JWT", "alg": "ES256", "kid": kid, "jwk": key.public()}),
        ];
        for head in heads {
            assert_eq!(mint.recognise(&under(head.clone()), NOW).ok(), None, "{head}");
        }
    }

    #[test]
    fn no_key_verifies_under_the_name_or_the_algorithm_of_another() {
        let keys = Algorithm::ALL.map(key_for);
        let set = KeySet::new(Arc::clone(&keys[0]), keys[1..].iter().cloned());
        let mint = TokenMint::new(set, terms());
        for signer in &keys {
            assert!(mint.recognise(&signer.sign(&good_claims()), NOW).is_ok());
            for (named, algorithm) in keys.iter().flat_map(|key| Algorithm::ALL.map(|a| (key, a))) {
                if named.id() == signer.id() && algorithm == signer.algorithm() {
                    continue;
                }
                let head =
                    json!({"typ": "JWT", "alg": algorithm.name(), "kid": named.id().to_string()});
                let token = signer.sign_under(&key::encoded(&head), &good_claims());
                assert_eq!(mint.recognise(&token, NOW).ok(), None, "{head}");
            }
        }
    }

    #[test]
    fn news_are_no_token_whatever_they_say() {
        for mint in mints() {
            let news = News { cursor: "x".into(), complete: true, more: false, revoked: vec![] };
            assert_eq!(mint.recognise(&mint.tell(&news, NOW), NOW).ok(), None);
            let key = Arc::clone(&mint.keys.load().signing);
            assert_eq!(mint.recognise(&key.sign_news(&good_claims()), NOW).ok(), None);
            assert!(mint.recognise(&key.sign(&good_claims()), NOW).is_ok());
        }
    }

    #[test]
    fn a_public_key_is_no_secret_to_sign_with() {
        use jsonwebtoken::{EncodingKey, Header};
        for algorithm in Algorithm::ALL {
            let key = key_for(algorithm);
            let mint = mint_with(&key, terms());
            let header = Header {
                kid: Some(key.id().to_string()),
                ..Header::new(jsonwebtoken::Algorithm::HS256)
            };
            let public = serde_json::to_vec(key.public()).unwrap();
            let secret = EncodingKey::from_secret(&public);
            let token = jsonwebtoken::encode(&header, &good_claims(), &secret).unwrap();
            assert_eq!(mint.recognise(&token, NOW).ok(), None);
            // The same signature under the head that the key has.
            let (_, rest) = token.split_once('.').unwrap();
            assert_eq!(mint.recognise(&format!("{}.{rest}", key.head()), NOW).ok(), None);
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
        assert!(mint.issue(&session(), NOW).as_str().starts_with(new.head()));
        let changes = mint.key_changes();
        mint.replace_keys(KeySet::new(Arc::clone(&new), [old]));
        assert!(!changes.has_changed().unwrap(), "the same keys");
        mint.replace_keys(KeySet::new(new, []));
        assert!(changes.has_changed().unwrap());
        assert_eq!(mint.removals(), 1);
        assert_eq!(mint.recognise(token.as_str(), NOW), Err(Unrecognised::NotOurs));
    }

    #[test]
    fn only_public_halves_are_published() {
        let keys = Algorithm::ALL.map(key_for);
        let set = KeySet::new(Arc::clone(&keys[0]), keys[1..].iter().cloned());
        let mint = TokenMint::new(set, terms());
        assert_eq!(mint.algorithms(), ["ES256", "EdDSA", "RS256"]);
        let published = serde_json::to_value(mint.public_keys()).unwrap();
        let published = published["keys"].as_array().unwrap();
        let members = [
            &["alg", "crv", "kid", "kty", "use", "x", "y"][..],
            &["alg", "crv", "kid", "kty", "use", "x"],
            &["alg", "e", "kid", "kty", "n", "use"],
        ];
        for ((public, key), members) in published.iter().zip(&keys).zip(members) {
            let mut found: Vec<_> = public.as_object().unwrap().keys().collect();
            found.sort();
            assert_eq!(found, members);
            let member = |name: &str| public[name].as_str().unwrap().to_owned();
            assert_eq!(
                (member("alg").as_str(), member("use").as_str()),
                (key.algorithm().name(), "sig")
            );
            assert_eq!(member("kid"), key.id().to_string());
        }
        assert_eq!(published.len(), 3);
    }

    #[test]
    fn a_key_survives_its_file() {
        for key in Algorithm::ALL.map(key_for) {
            let again = Arc::new(SigningKey::from_pem(&key.to_pem()).unwrap());
            assert_eq!((again.id(), again.algorithm()), (key.id(), key.algorithm()));
            let token = mint_with(&key, terms()).issue(&session(), NOW);
            assert!(mint_with(&again, terms()).recognise(token.as_str(), NOW).is_ok());
        }
        for bad in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "secret"]
        {
            assert_eq!(SigningKey::from_pem(bad).err(), Some(UnusableKey));
        }
    }
}
