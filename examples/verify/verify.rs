//! Verifies tokens of a Doorward by itself, and knows of an ended session within a second.
//!
//! A module to copy into a program of your own (crates anyhow, arc-swap, jsonwebtoken, serde, serde_json and ureq):
//! `Verifier::start("http://127.0.0.1:3000", "doorward")?.verify(token)?.sub`. `main.rs` beside it is such a program.

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

/// Knows everything that has ended when it is made, and follows the feed until it is dropped.
pub struct Verifier {
    about: Arc<About>,
    audience: String,
    heard: Arc<ArcSwap<Heard>>,
}

/// What a good token says.
#[derive(Deserialize)]
pub struct Claims {
    /// The id of the user.
    pub sub: String,
    jti: String,
}

impl Verifier {
    /// Learns about the Doorward at this URL and begins to follow its feed.
    pub fn start(url: &str, audience: &str) -> anyhow::Result<Self> {
        let about = ask(&format!("{url}/.well-known/openid-configuration"))?;
        let about: Arc<About> = Arc::new(serde_json::from_str(&about)?);
        let heard = Arc::new(ArcSwap::new(follow(&about, None)?));
        thread::spawn({
            let (about, heard) = (Arc::clone(&about), Arc::downgrade(&heard));
            move || follow_for_ever(&about, &heard)
        });
        Ok(Self { about, audience: audience.to_owned(), heard })
    }

    /// The claims of a token that is good at this moment; an error for any other.
    pub fn verify(&self, token: &str) -> anyhow::Result<Claims> {
        let Heard { keys, news } = &**self.heard.load();
        let claims: Claims = read(token, "JWT", keys, &self.about, Some(&self.audience))?;
        let kid = jsonwebtoken::decode_header(token)?.kid.context("no kid")?;
        ensure!(news.kids.contains(&kid) && !news.revoked.contains(&claims.jti), "ended");
        ensure!(jsonwebtoken::get_current_timestamp() <= news.exp, "nothing heard for too long");
        Ok(claims)
    }
}

#[derive(Deserialize)]
struct About {
    issuer: String,
    jwks_uri: String,
    revocations_uri: String,
}

#[derive(Deserialize, Clone)]
struct News {
    cursor: String,
    complete: bool,
    more: bool,
    kids: Vec<String>,
    revoked: HashSet<String>,
    exp: u64,
}

struct Heard {
    keys: JwkSet,
    news: News,
}

fn follow(about: &About, before: Option<Arc<Heard>>) -> anyhow::Result<Arc<Heard>> {
    let before = before.map(|heard| (heard.news.cursor.clone(), heard.news.revoked.clone()));
    let (mut cursor, mut revoked) = before.unwrap_or_default();
    loop {
        let feed = ask(&format!("{}?since={cursor}", about.revocations_uri))?; // waits for news
        let keys: JwkSet = serde_json::from_str(&ask(&about.jwks_uri)?)?;
        let mut news: News = read(&feed, "revocations+jwt", &keys, about, None)?;
        if news.complete {
            revoked.clear();
        }
        revoked.extend(news.revoked.drain());
        // A part of it must not be relied on.
        if !news.more {
            news.revoked = revoked;
            return Ok(Arc::new(Heard { keys, news }));
        }
        cursor = news.cursor;
    }
}

/// Until nobody is left to verify for.
fn follow_for_ever(about: &About, heard: &Weak<ArcSwap<Heard>>) {
    for count in 1_u64.. {
        let Some(before) = heard.upgrade().map(|heard| heard.load_full()) else { return };
        // Now and then anew, without what has expired.
        let news = follow(about, Some(before).filter(|_| count % 5000 != 0));
        let pause = Duration::from_millis(if news.is_ok() { 100 } else { 1000 });
        if let (Some(heard), Ok(news)) = (heard.upgrade(), news) {
            heard.store(news);
        }
        thread::sleep(pause);
    }
}

fn read<T: DeserializeOwned>(
    text: &str,
    typ: &str,
    keys: &JwkSet,
    about: &About,
    audience: Option<&str>,
) -> anyhow::Result<T> {
    let head = jsonwebtoken::decode_header(text)?;
    ensure!(head.typ.as_deref() == Some(typ) && ALGORITHMS.contains(&head.alg), "of another type");
    let key = keys.find(&head.kid.context("no kid")?).context("no such key")?;
    let mut validation = Validation::new(head.alg);
    validation.set_issuer(&[&about.issuer]);
    validation.validate_aud = audience.is_some();
    validation.set_audience(audience.as_slice());
    Ok(jsonwebtoken::decode(text, &DecodingKey::from_jwk(key)?, &validation)?.claims)
}

fn ask(url: &str) -> anyhow::Result<String> {
    Ok(ureq::get(url).call()?.body_mut().read_to_string()?)
}
