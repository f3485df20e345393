//! Verifies tokens of a Doorward by itself, and knows of an ended session within a second.
//!
//! `cargo run --example verify http://127.0.0.1:3000 doorward < tokens`

use std::{collections::HashSet, env, io, sync::Arc, thread, time::Duration};

use anyhow::{Context, ensure};
use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde::{Deserialize, de::DeserializeOwned};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::ES256, Algorithm::EdDSA, Algorithm::RS256];

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

#[derive(Deserialize)]
struct Claims {
    sub: String,
    jti: String,
}

struct Heard {
    keys: JwkSet,
    news: News,
}

fn follow(about: &About, before: Option<Arc<Heard>>) -> anyhow::Result<Arc<Heard>> {
    let cursor = before.as_ref().map_or("", |heard| &heard.news.cursor);
    let feed = ask(&format!("{}?since={cursor}", about.revocations_uri))?; // waits for news
    let keys: JwkSet = serde_json::from_str(&ask(&about.jwks_uri)?)?;
    let mut news: News = read(&feed, "revocations+jwt", &keys, about, None)?;
    if let Some(before) = before.filter(|_| !news.complete) {
        news.revoked.extend(before.news.revoked.iter().cloned());
    }
    let heard = Arc::new(Heard { keys, news });
    if heard.news.more { follow(about, Some(heard)) } else { Ok(heard) }
}

fn verify(token: &str, audience: &str, about: &About, heard: &Heard) -> anyhow::Result<Claims> {
    let claims: Claims = read(token, "JWT", &heard.keys, about, Some(audience))?;
    let kid = jsonwebtoken::decode_header(token)?.kid.context("no kid")?;
    ensure!(heard.news.kids.contains(&kid) && !heard.news.revoked.contains(&claims.jti), "ended");
    ensure!(jsonwebtoken::get_current_timestamp() <= heard.news.exp, "nothing heard for too long");
    Ok(claims)
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

fn main() -> anyhow::Result<()> {
    let [url, audience] = [1, 2].map(|place| env::args().nth(place).unwrap_or_default());
    let about = ask(&format!("{url}/.well-known/openid-configuration"))?;
    let about: Arc<About> = Arc::new(serde_json::from_str(&about)?);
    let heard = Arc::new(ArcSwap::new(follow(&about, None)?));
    thread::spawn({
        let (about, heard) = (Arc::clone(&about), Arc::clone(&heard));
        move || {
            for count in 1_u64.. {
                // Now and then anew, without what has expired.
                let before = (count % 5000 != 0).then(|| heard.load_full());
                let news = follow(&about, before).map(|news| heard.store(news));
                thread::sleep(Duration::from_millis(if news.is_ok() { 100 } else { 1000 }));
            }
        }
    });
    for token in io::stdin().lines() {
        match verify(&token?, &audience, &about, &heard.load()) {
            Ok(claims) => println!("good {}", claims.sub),
            Err(_) => println!("refused"),
        }
    }
    Ok(())
}
