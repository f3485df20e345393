//! Verifies Doorward's tokens locally and notices revocations within a second.
//!
//! Copy this module into your program (crates anyhow, arc-swap, jsonwebtoken, serde, serde_json and ureq):
//! `Verifier::start("http://127.0.0.1:3000", "doorward")?.verify(token)?.sub`. See `main.rs` for an example.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use anyhow::{Context, ensure};
use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde::{Deserialize, de::DeserializeOwned};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::ES256, Algorithm::EdDSA, Algorithm::RS256];

/// Loads the whole feed when it is created, then follows it until it is dropped.
pub struct Verifier {
    metadata: Arc<Metadata>,
    audience: String,
    state: Arc<ArcSwap<State>>,
}

/// The claims of a valid token.
#[derive(Deserialize)]
pub struct Claims {
    /// The id of the user.
    pub sub: String,
    jti: String,
}

impl Verifier {
    /// Reads the metadata of the Doorward at this URL and starts to follow its feed.
    pub fn start(url: &str, audience: &str) -> anyhow::Result<Self> {
        let metadata = fetch(&format!("{url}/.well-known/openid-configuration"))?;
        let metadata: Arc<Metadata> = Arc::new(serde_json::from_str(&metadata)?);
        let state = Arc::new(ArcSwap::new(follow(&metadata, None)?));
        thread::spawn({
            let (metadata, state) = (Arc::clone(&metadata), Arc::downgrade(&state));
            move || follow_until_dropped(&metadata, &state)
        });
        Ok(Self { metadata, audience: audience.to_owned(), state })
    }

    /// Returns the claims of a valid token; an error for any other.
    pub fn verify(&self, token: &str) -> anyhow::Result<Claims> {
        let State { keys, feed } = &**self.state.load();
        let claims: Claims = read(token, "JWT", keys, &self.metadata, Some(&self.audience))?;
        let kid = jsonwebtoken::decode_header(token)?.kid.context("no kid")?;
        ensure!(
            feed.kids.contains(&kid) && !feed.revoked.contains(&claims.jti),
            "the token was revoked"
        );
        ensure!(
            jsonwebtoken::get_current_timestamp() <= feed.exp,
            "the revocation feed is out of date"
        );
        Ok(claims)
    }
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
    revocations_uri: String,
}

#[derive(Deserialize, Clone)]
struct Feed {
    cursor: String,
    complete: bool,
    more: bool,
    kids: Vec<String>,
    revoked: HashSet<String>,
    exp: u64,
}

struct State {
    keys: JwkSet,
    feed: Feed,
}

fn follow(metadata: &Metadata, before: Option<Arc<State>>) -> anyhow::Result<Arc<State>> {
    let before = before.map(|state| (state.feed.cursor.clone(), state.feed.revoked.clone()));
    let (mut cursor, mut revoked) = before.unwrap_or_default();
    loop {
        let text = fetch(&format!("{}?since={cursor}", metadata.revocations_uri))?; // waits for changes
        let keys: JwkSet = serde_json::from_str(&fetch(&metadata.jwks_uri)?)?;
        let mut feed: Feed = read(&text, "revocations+jwt", &keys, metadata, None)?;
        if feed.complete {
            revoked.clear();
        }
        revoked.extend(feed.revoked.drain());
        // A partial feed must not be used.
        if !feed.more {
            feed.revoked = revoked;
            return Ok(Arc::new(State { keys, feed }));
        }
        cursor = feed.cursor;
    }
}

/// Ends when the verifier is dropped.
fn follow_until_dropped(metadata: &Metadata, state: &Weak<ArcSwap<State>>) {
    for count in 1_u64.. {
        let Some(before) = state.upgrade().map(|state| state.load_full()) else { return };
        // Start over from time to time to drop expired entries.
        let next = follow(metadata, Some(before).filter(|_| count % 5000 != 0));
        let pause = Duration::from_millis(if next.is_ok() { 100 } else { 1000 });
        if let (Some(state), Ok(next)) = (state.upgrade(), next) {
            state.store(next);
        }
        thread::sleep(pause);
    }
}

fn read<T: DeserializeOwned>(
    text: &str,
    typ: &str,
    keys: &JwkSet,
    metadata: &Metadata,
    audience: Option<&str>,
) -> anyhow::Result<T> {
    let head = jsonwebtoken::decode_header(text)?;
    ensure!(head.typ.as_deref() == Some(typ) && ALGORITHMS.contains(&head.alg), "of another type");
    let key = keys.find(&head.kid.context("no kid")?).context("no such key")?;
    let mut validation = Validation::new(head.alg);
    validation.set_issuer(&[&metadata.issuer]);
    validation.validate_aud = audience.is_some();
    validation.set_audience(audience.as_slice());
    Ok(jsonwebtoken::decode(text, &DecodingKey::from_jwk(key)?, &validation)?.claims)
}

fn fetch(url: &str) -> anyhow::Result<String> {
    Ok(ureq::get(url).call()?.body_mut().read_to_string()?)
}
