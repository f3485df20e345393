//! Tests of which tokens are valid.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::*;
use crate::{
    session::SessionId,
    token::{UnusableKey, key},
    user::UserId,
};

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
    let client = crate::network::ClientInfo::new([127, 0, 0, 1].into(), "");
    Session::new(UserId::random(), client, NOW, 30 * DAY)
}

/// A token with these claims, signed with the key of the mint.
fn signed(mint: &TokenMint, claims: &Value) -> String {
    mint.keys.load().signing.sign(claims)
}

fn valid_claims() -> Value {
    json!({
        "iss": "us", "aud": "them", "sub": UserId::random().to_string(),
        "sid": SessionId::random().to_string(), "iat": NOW.seconds(),
        "exp": NOW.seconds() + 60, "jti": TokenId::random().to_string(),
    })
}

#[test]
fn a_token_identifies_user_and_session_until_it_expires() {
    for mint in mints() {
        let session = session();
        let token = mint.issue(&session, Reach::Everything, NOW);
        let claims = mint.verify(token.as_str(), NOW).unwrap();
        assert_eq!((claims.user_id, claims.session_id), (session.user_id, session.id));
        assert_eq!(claims.token_id, session.token_id);
        let last = Timestamp::from_millis((NOW + DAY).millis() - 1);
        assert!(mint.verify(token.as_str(), last).is_ok());
        assert_eq!(mint.verify(token.as_str(), NOW + DAY), Err(InvalidToken::Expired));
    }
}

#[test]
fn a_token_never_outlives_its_session() {
    let (mint, session) = (mint(), session());
    let late = NOW + (30 * DAY - Duration::from_secs(60));
    let token = mint.issue(&session, Reach::Everything, late);
    assert_eq!(mint.verify(token.as_str(), late).unwrap().expires_at, session.expires_at);
}

#[test]
fn a_token_from_the_future_is_left_to_its_session() {
    let (mint, session) = (mint(), session());
    let later = NOW + 3 * DAY;
    let token = mint.issue(&session, Reach::Everything, later);
    assert_eq!(mint.verify(token.as_str(), NOW).unwrap().issued_at, later);
    assert_eq!(mint.verify(token.as_str(), later + DAY), Err(InvalidToken::Expired));
}

#[test]
fn tokens_are_valid_in_every_year_until_9999() {
    let (mint, mut session) = (mint(), session());
    for seconds in [i64::from(i32::MAX), i64::from(u32::MAX), 253_402_300_799] {
        let now = Timestamp::from_seconds(seconds);
        session.expires_at = now + 30 * DAY;
        let token = mint.issue(&session, Reach::Everything, now);
        assert!(mint.verify(token.as_str(), now).is_ok());
        assert_eq!(mint.verify(token.as_str(), now + DAY), Err(InvalidToken::Expired));
    }
}

#[test]
fn no_changed_shortened_or_extended_token_is_valid() {
    for mint in mints() {
        refuses_similar_tokens(&mint, mint.issue(&session(), Reach::Everything, NOW).as_str());
    }
}

fn refuses_similar_tokens(mint: &TokenMint, token: &str) {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
    for at in 0..token.len() {
        assert_eq!(mint.verify(&token[..at], NOW).ok(), None, "the first {at} characters");
        // A signature check is slow without optimisation: three other characters at each position, and all of them
        // at the last, whose spare bits a lax decoder would ignore.
        let others = ALPHABET.chars().cycle().skip(at).take(3);
        let others: Vec<_> =
            if at + 1 == token.len() { ALPHABET.chars().collect() } else { others.collect() };
        for other in others.into_iter().filter(|&c| !token[at..].starts_with(c)) {
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            assert_eq!(mint.verify(&changed, NOW).ok(), None, "{other} at {at}");
        }
    }
    for more in ALPHABET.chars() {
        assert_eq!(mint.verify(&format!("{token}{more}"), NOW).ok(), None);
        assert_eq!(mint.verify(&format!("{more}{token}"), NOW).ok(), None);
    }
}

#[test]
fn claims_of_a_wrong_type_or_value_are_refused_even_with_a_valid_signature() {
    for mint in mints() {
        assert!(mint.verify(&signed(&mint, &valid_claims()), NOW).is_ok());
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
            // A time before 1970 is valid.
            if claim == "iat" && *value == json!(-1) {
                continue;
            }
            let mut claims = valid_claims();
            claims[claim] = value.clone();
            assert_eq!(mint.verify(&signed(mint, &claims), NOW).ok(), None, "{claim} = {value}");
        }
        let mut claims = valid_claims();
        claims.as_object_mut().unwrap().remove(claim);
        assert_eq!(mint.verify(&signed(mint, &claims), NOW).ok(), None, "without {claim}");
    }
}

#[test]
fn a_token_with_another_header_is_refused() {
    let mint = mint();
    let key = Arc::clone(&mint.keys.load().signing);
    let kid = key.id().to_string();
    let signed_with = |header: Value| key.sign_with_header(&key::encoded(&header), &valid_claims());
    let headers = [
        json!({"typ": "at+jwt", "alg": "ES256", "kid": kid}),
        json!({"typ": "JWT", "alg": "ES256"}),
        json!({"typ": "JWT", "alg": "ES256", "kid": kid, "crit": ["exp"]}),
        json!({"typ": "JWT", "alg": "none", "kid": kid}),
        json!({"typ": "JWT", "alg": ["ES256"], "kid": kid}),
        json!({"typ": "JWT", "alg": "ES256", "kid": kid, "b64": false}),
        json!({"typ": "JWT", "alg": "ES256", "kid": kid, "jwk": key.jwk()}),
    ];
    for header in headers {
        assert_eq!(mint.verify(&signed_with(header.clone()), NOW).ok(), None, "{header}");
    }
}

#[test]
fn no_key_verifies_under_the_id_or_the_algorithm_of_another() {
    let keys = Algorithm::ALL.map(key_for);
    let set = KeySet::new(Arc::clone(&keys[0]), keys[1..].iter().cloned());
    let mint = TokenMint::new(set, terms());
    for signer in &keys {
        assert!(mint.verify(&signer.sign(&valid_claims()), NOW).is_ok());
        for (named, algorithm) in keys.iter().flat_map(|key| Algorithm::ALL.map(|a| (key, a))) {
            if named.id() == signer.id() && algorithm == signer.algorithm() {
                continue;
            }
            let header =
                json!({"typ": "JWT", "alg": algorithm.name(), "kid": named.id().to_string()});
            let token = signer.sign_with_header(&key::encoded(&header), &valid_claims());
            assert_eq!(mint.verify(&token, NOW).ok(), None, "{header}");
        }
    }
}

#[test]
fn a_feed_page_is_not_a_token() {
    for mint in mints() {
        let page = FeedPage { cursor: "x".into(), complete: true, more: false, revoked: vec![] };
        assert_eq!(mint.verify(&mint.sign_feed_page(&page, NOW), NOW).ok(), None);
        let key = Arc::clone(&mint.keys.load().signing);
        assert_eq!(mint.verify(&key.sign_feed_page(&valid_claims()), NOW).ok(), None);
        assert!(mint.verify(&key.sign(&valid_claims()), NOW).is_ok());
    }
}

#[test]
fn a_public_key_cannot_be_used_as_an_hmac_secret() {
    use jsonwebtoken::{EncodingKey, Header};
    for algorithm in Algorithm::ALL {
        let key = key_for(algorithm);
        let mint = mint_with(&key, terms());
        let header = Header {
            kid: Some(key.id().to_string()),
            ..Header::new(jsonwebtoken::Algorithm::HS256)
        };
        let public = serde_json::to_vec(key.jwk()).unwrap();
        let secret = EncodingKey::from_secret(&public);
        let token = jsonwebtoken::encode(&header, &valid_claims(), &secret).unwrap();
        assert_eq!(mint.verify(&token, NOW).ok(), None);
        // The same signature under the header of the key.
        let (_, rest) = token.split_once('.').unwrap();
        assert_eq!(mint.verify(&format!("{}.{rest}", key.header()), NOW).ok(), None);
    }
}

#[test]
fn tokens_of_another_key_issuer_or_audience_are_refused() {
    let key = key();
    let token = mint_with(&key, terms()).issue(&session(), Reach::Everything, NOW);
    let others = [
        mint(),
        mint_with(&key, TokenTerms { issuer: "x".into(), ..terms() }),
        mint_with(&key, TokenTerms { audience: "x".into(), ..terms() }),
    ];
    for other in others {
        assert_eq!(other.verify(token.as_str(), NOW).ok(), None);
    }
}

#[test]
fn a_token_is_valid_while_its_key_is_in_the_set() {
    let (old, new) = (key(), key());
    let mint = mint_with(&old, terms());
    let token = mint.issue(&session(), Reach::Everything, NOW);
    mint.replace_keys(KeySet::new(Arc::clone(&new), [Arc::clone(&old)]));
    assert_eq!(mint.key_removals(), 0);
    assert!(mint.verify(token.as_str(), NOW).is_ok());
    assert!(mint.issue(&session(), Reach::Everything, NOW).as_str().starts_with(new.header()));
    let changes = mint.key_changes();
    mint.replace_keys(KeySet::new(Arc::clone(&new), [old]));
    assert!(!changes.has_changed().unwrap(), "the same keys");
    mint.replace_keys(KeySet::new(new, []));
    assert!(changes.has_changed().unwrap());
    assert_eq!(mint.key_removals(), 1);
    assert_eq!(mint.verify(token.as_str(), NOW), Err(InvalidToken::NotOurs));
}

#[test]
fn only_public_keys_are_published() {
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
fn a_key_is_the_same_after_writing_and_reading_it() {
    for key in Algorithm::ALL.map(key_for) {
        let again = Arc::new(SigningKey::from_pem(&key.to_pem()).unwrap());
        assert_eq!((again.id(), again.algorithm()), (key.id(), key.algorithm()));
        let token = mint_with(&key, terms()).issue(&session(), Reach::Everything, NOW);
        assert!(mint_with(&again, terms()).verify(token.as_str(), NOW).is_ok());
    }
    for bad in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "secret"] {
        assert_eq!(SigningKey::from_pem(bad).err(), Some(UnusableKey));
    }
}

#[test]
fn a_token_without_a_valid_mac_is_refused_even_with_a_valid_signature() {
    for mint in mints() {
        let key = Arc::clone(&mint.keys.load().signing);
        let claims = valid_claims();
        assert_eq!(
            mint.verify(&key.sign_parts(key.header(), &key::encoded(&claims)), NOW).ok(),
            None
        );
        // The MAC of another key, and a MAC that is not the last claim.
        let another = key_for(key.algorithm()).sign(&claims);
        let [_, theirs, _] = another.split('.').collect::<Vec<_>>()[..] else {
            panic!("{another}")
        };
        assert_eq!(mint.verify(&key.sign_parts(key.header(), theirs), NOW).ok(), None);
        let ours = key.sign(&claims);
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(ours.split('.').nth(1).unwrap()).unwrap();
        let mut moved: Value = serde_json::from_slice(&decoded).unwrap();
        moved["z"] = json!(1);
        assert_eq!(
            mint.verify(&key.sign_parts(key.header(), &key::encoded(&moved)), NOW).ok(),
            None
        );
        assert!(mint.verify(&ours, NOW).is_ok());
    }
}

#[test]
fn a_valid_mac_does_not_replace_the_signature() {
    for mint in mints() {
        let (token, other) = (
            mint.issue(&session(), Reach::Everything, NOW),
            mint.issue(&session(), Reach::Everything, NOW),
        );
        let (signed, _) = token.as_str().rsplit_once('.').unwrap();
        let (_, of_another) = other.as_str().rsplit_once('.').unwrap();
        for signature in ["", "AAAA", of_another] {
            let forged = format!("{signed}.{signature}");
            assert!(mint.read(&forged, NOW).is_ok(), "the MAC is valid");
            assert_eq!(mint.verify(&forged, NOW), Err(InvalidToken::NotOurs));
        }
    }
}

#[test]
fn the_same_key_in_another_encoding_makes_the_same_mac() {
    let key = key();
    // PKCS#8 may leave the public half out, which is the last 70 bytes. The lengths of the octet string, of the sequence in
    // it and of the whole are then shorter by as much.
    const PUBLIC: usize = 70;
    let with_public = pem::parse(&*key.to_pem()).unwrap();
    let der = with_public.contents();
    assert_eq!(
        (der.len(), &der[..3], &der[27..31]),
        (138, &[0x30, 0x81, 0x87][..], &[4, 0x6d, 0x30, 0x6b][..])
    );
    let mut without =
        [&[0x30, (der.len() - 3 - PUBLIC) as u8], &der[3..der.len() - PUBLIC]].concat();
    for at in [27, 29] {
        without[at] -= PUBLIC as u8;
    }
    let text = pem::encode(&pem::Pem::new("PRIVATE KEY", without));
    let again = Arc::new(SigningKey::from_pem(&text).unwrap());
    let token = mint_with(&key, terms()).issue(&session(), Reach::Everything, NOW);
    assert!(mint_with(&again, terms()).verify(token.as_str(), NOW).is_ok());
}
