//! The keys of a provider, and the signatures that they verify.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use serde_json::Value;

use super::Claims;

/// The public keys of a provider with which it may sign tokens.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The algorithms that fit it.
    algorithms: &'static [Algorithm],
    /// The tenant that it is for, as Microsoft says it.
    issuer: Option<String>,
    public: DecodingKey,
}

/// A token whose signature is valid. Nothing in it has been checked.
#[derive(Debug)]
pub(super) struct SignedToken {
    pub(super) algorithm: Algorithm,
    /// The `typ` of its header, in lower case and without `application/`.
    pub(super) kind: Option<String>,
    pub(super) claims: Claims,
    /// The only issuer that the key is for.
    pub(super) key_issuer: Option<String>,
}

/// Why a signature does not count.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unverified {
    /// No key could change that.
    Never(&'static str),
    /// The keys may have changed.
    ByTheseKeys(&'static str),
}

impl KeySet {
    /// The most keys that are kept.
    const MAX_KEYS: usize = 64;

    /// Reads a JWK Set. Each key is read alone: an odd one spoils no other.
    pub(super) fn parse(set: &Value) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        Some(Self(keys.iter().filter_map(Key::parse).take(Self::MAX_KEYS).collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Verifies the signature of a token.
    pub(super) fn verify(&self, token: &str) -> Result<SignedToken, Unverified> {
        use Unverified::{ByTheseKeys, Never};
        let parts = || {
            let (message, signature) = token.rsplit_once('.')?;
            let (header, claims) = message.split_once('.')?;
            Some((message, signature, decoded(header)?, decoded(claims)?))
        };
        let (message, signature, header, claims) = parts().ok_or(Never("it is not a JWT"))?;
        if header.contains_key("crit") {
            return Err(Never("it has extensions that have to be understood"));
        }
        let text = |name| header.get(name).and_then(Value::as_str);
        let algorithm = text("alg").and_then(accepted);
        let algorithm = algorithm.ok_or(Never("its algorithm is not accepted"))?;
        let id = header.get("kid").map(text_of);
        let fits =
            |key: &&Key| key.algorithms.contains(&algorithm) && (id.is_none() || key.id == id);
        let fitting: Vec<_> = self.0.iter().filter(fits).collect();
        if fitting.is_empty() {
            return Err(ByTheseKeys("no key of the provider fits it"));
        }
        if id.is_none() && fitting.len() > 1 {
            return Err(ByTheseKeys("it names no key, and several fit it"));
        }
        let verifies = |key: &&Key| {
            crypto::verify(signature, message.as_bytes(), &key.public, algorithm).unwrap_or(false)
        };
        let key = fitting.into_iter().find(verifies);
        let key = key.ok_or(ByTheseKeys("its signature is not valid"))?;
        let kind = text("typ").map(str::to_ascii_lowercase);
        let kind = kind.map(|kind| kind.trim_start_matches("application/").to_owned());
        Ok(SignedToken { algorithm, kind, claims, key_issuer: key.issuer.clone() })
    }
}

impl Key {
    fn parse(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if !matches!(text("use"), None | Some("sig")) {
            return None;
        }
        let bytes = |name: &str| {
            let value = text(name)?.trim_end_matches('=');
            BASE64_URL_SAFE_NO_PAD.decode(value).ok()
        };
        let (public, by_type) = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let modulus = bytes("n")?;
                // Some providers write the sign.
                let first = modulus.iter().position(|byte| *byte != 0)?;
                let public = DecodingKey::from_rsa_raw_components(&modulus[first..], &bytes("e")?);
                (public, &[Algorithm::RS256, Algorithm::PS256][..])
            }
            ("EC", Some("P-256")) => {
                let point = [vec![4], bytes("x")?, bytes("y")?].concat();
                (DecodingKey::from_ec_der(&point), &[Algorithm::ES256][..])
            }
            ("OKP", Some("Ed25519")) => {
                (DecodingKey::from_ed_der(&bytes("x")?), &[Algorithm::EdDSA][..])
            }
            _ => return None,
        };
        let algorithms = match jwk.get("alg") {
            None | Some(Value::Null) => by_type,
            Some(named) => {
                let at = by_type
                    .iter()
                    .position(|fit| named.as_str().and_then(accepted) == Some(*fit))?;
                &by_type[at..=at]
            }
        };
        let id = jwk.get("kid").map(text_of);
        let issuer = text("issuer").map(str::to_owned);
        Some(Self { id, algorithms, issuer, public })
    }
}

/// The algorithms that count. `none` and those with a shared secret are not among them.
fn accepted(name: &str) -> Option<Algorithm> {
    match name {
        "RS256" => Some(Algorithm::RS256),
        "PS256" => Some(Algorithm::PS256),
        "ES256" => Some(Algorithm::ES256),
        "EdDSA" => Some(Algorithm::EdDSA),
        _ => None,
    }
}

/// The id of a key. Some providers send a number.
fn text_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn decoded(part: &str) -> Option<Claims> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
