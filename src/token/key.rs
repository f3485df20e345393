//! Signing keys: ES256, EdDSA and RS256.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsBigEndian, AsDer, Curve25519SeedBin, EcPrivateKeyBin},
    error::{KeyRejected, Unspecified},
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    },
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{
    DecodingKey, Header,
    jwk::{Jwk, PublicKeyUse, ThumbprintHash},
};
use serde::Serialize;
use zeroize::Zeroizing;

use super::mac::MacKey;

/// A signature algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256. Small tokens; every verifier supports it.
    #[default]
    Es256,
    /// Ed25519. Small tokens; not every verifier supports it.
    EdDsa,
    /// RSA with 2048 bits or more. Large tokens; some verifiers support nothing else.
    Rs256,
}

impl Algorithm {
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// The registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    fn to_jsonwebtoken(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
        }
    }

    fn new_pkcs8(self) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let random = SystemRandom::new();
        let ecdsa = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = match self {
            Self::Es256 => EcdsaKeyPair::generate_pkcs8(ecdsa, &random)?.as_ref().to_vec(),
            Self::EdDsa => Ed25519KeyPair::generate_pkcs8v1(&random)?.as_ref().to_vec(),
            Self::Rs256 => RsaKeyPair::generate(KeySize::Rsa2048)?.as_der()?.as_ref().to_vec(),
        };
        Ok(Zeroizing::new(document))
    }
}

/// The `kid` in the header of a token: the thumbprint of the public key.
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

/// The `typ` of a page of the revocation feed.
const FEED_TYPE: &str = "revocations+jwt";

/// A private key, and everything that is derived from it, computed once.
pub struct SigningKey {
    id: KeyId,
    pkcs8: Zeroizing<Vec<u8>>,
    pair: KeyPair,
    public_key: ParsedPublicKey,
    mac: MacKey,
    jwk: Jwk,
    header: String,
    feed_header: String,
}

/// The key cannot sign tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a P-256, Ed25519 or RSA (2048 bits or more) private key in PKCS#8 PEM form")]
pub struct UnusableKey;

impl SigningKey {
    const PEM_TAG: &str = "PRIVATE KEY";

    pub fn generate(algorithm: Algorithm) -> Self {
        let pkcs8 = algorithm.new_pkcs8().expect("the system provides random bytes");
        Self::new(pkcs8).expect("a generated key is usable")
    }

    fn new(pkcs8: Zeroizing<Vec<u8>>) -> Result<Self, UnusableKey> {
        let pair = KeyPair::from_pkcs8(&pkcs8).ok_or(UnusableKey)?;
        // A key that has signed once does not fail later.
        pair.sign(b"test").map_err(|_| UnusableKey)?;
        let algorithm = pair.algorithm().to_jsonwebtoken();
        let public_key = pair.parsed_public_key().map_err(|_| UnusableKey)?;
        let mut jwk = Jwk::from_decoding_key(&pair.decoding_key(), Some(algorithm))
            .map_err(|_| UnusableKey)?;
        let id = jwk.thumbprint(ThumbprintHash::SHA256).map_err(|_| UnusableKey)?;
        jwk.common.key_id = Some(id.clone());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        let header = Header { kid: Some(id.clone()), ..Header::new(algorithm) };
        let encoded_header = encoded(&header);
        let feed_header = encoded(&Header { typ: Some(FEED_TYPE.into()), ..header });
        let mac = MacKey::derive(&pair.private_key().map_err(|_| UnusableKey)?, &encoded_header);
        Ok(Self {
            id: KeyId(id),
            pkcs8,
            pair,
            public_key,
            mac,
            jwk,
            header: encoded_header,
            feed_header,
        })
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub fn algorithm(&self) -> Algorithm {
        self.pair.algorithm()
    }

    /// The encoded header of its tokens.
    pub(super) fn header(&self) -> &str {
        &self.header
    }

    pub(crate) fn jwk(&self) -> &Jwk {
        &self.jwk
    }

    /// A token with these claims.
    pub(super) fn sign(&self, claims: &impl Serialize) -> String {
        self.sign_with_header(&self.header, claims)
    }

    /// A JWT that is no token of Doorward: it has no MAC.
    #[cfg(feature = "cli")]
    pub(crate) fn sign_foreign(&self, claims: &impl Serialize) -> String {
        self.sign_parts(&self.header, &encoded(claims))
    }

    /// A page of the revocation feed. Its `typ` distinguishes it from a token.
    pub(super) fn sign_feed_page(&self, claims: &impl Serialize) -> String {
        self.sign_parts(&self.feed_header, &encoded(claims))
    }

    pub(super) fn sign_with_header(&self, header: &str, claims: &impl Serialize) -> String {
        self.sign_parts(header, &self.mac.encode(json(claims)))
    }

    pub(super) fn sign_parts(&self, header: &str, claims: &str) -> String {
        let message = format!("{header}.{claims}");
        let signature = self.pair.sign(message.as_bytes());
        let signature = signature.expect("the key signed a test message when it was read");
        format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// The decoded claims of a token, if their MAC is valid. This is fast, unlike a signature check.
    pub(super) fn claims(&self, claims: &str) -> Option<Vec<u8>> {
        self.mac.is_valid(claims).then(|| BASE64_URL_SAFE_NO_PAD.decode(claims).ok())?
    }

    /// Whether the signature is valid for the first two parts of a token.
    pub(super) fn verifies(&self, message: &str, signature: &str) -> bool {
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok();
        let verify =
            |signature: Vec<u8>| self.public_key.verify_sig(message.as_bytes(), &signature);
        signature.is_some_and(|signature| verify(signature).is_ok())
    }

    /// Parses a key in PEM form.
    ///
    /// # Errors
    /// If it is not a usable key.
    pub fn from_pem(text: &str) -> Result<Self, UnusableKey> {
        Self::from_block(&pem::parse(text).map_err(|_| UnusableKey)?)
    }

    /// Parses one or more keys in PEM form, in order and without duplicates.
    ///
    /// # Errors
    /// If there is none, or one of them is not a usable key.
    pub fn all_from_pem(text: &str) -> Result<Vec<Self>, UnusableKey> {
        let mut keys = Vec::<Self>::new();
        for block in pem::parse_many(text).map_err(|_| UnusableKey)? {
            let key = Self::from_block(&block)?;
            if keys.iter().all(|other| other.id != key.id) {
                keys.push(key);
            }
        }
        if keys.is_empty() { Err(UnusableKey) } else { Ok(keys) }
    }

    fn from_block(block: &pem::Pem) -> Result<Self, UnusableKey> {
        if block.tag() != Self::PEM_TAG {
            return Err(UnusableKey);
        }
        Self::new(Zeroizing::new(block.contents().to_vec()))
    }

    pub fn to_pem(&self) -> Zeroizing<String> {
        let block = pem::Pem::new(Self::PEM_TAG, self.pkcs8.to_vec());
        let unix = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        Zeroizing::new(pem::encode_config(&block, unix))
    }
}

pub(super) fn encoded(part: &impl Serialize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(json(part))
}

fn json(part: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(part).expect("headers and claims have strings as keys")
}

enum KeyPair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

impl KeyPair {
    /// The encoding contains the kind of key, so at most one of these succeeds.
    fn from_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        let es256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8);
        let rs256 = || RsaKeyPair::from_pkcs8(pkcs8).map(Box::new);
        let pair: Result<_, KeyRejected> = es256()
            .map(Self::Es256)
            .or_else(|_| Ed25519KeyPair::from_pkcs8(pkcs8).map(Self::EdDsa))
            .or_else(|_| rs256().map(Self::Rs256));
        pair.ok()
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Es256(_) => Algorithm::Es256,
            Self::EdDsa(_) => Algorithm::EdDsa,
            Self::Rs256(_) => Algorithm::Rs256,
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        Ok(match self {
            Self::Es256(pair) => pair.sign(&random, message)?.as_ref().to_vec(),
            Self::EdDsa(pair) => pair.try_sign(message)?.as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)?;
                signature
            }
        })
    }

    /// The private key in a form that does not depend on how it was encoded.
    fn private_key(&self) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let bytes = match self {
            Self::Es256(pair) => {
                let key: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes()?;
                key.as_ref().to_vec()
            }
            Self::EdDsa(pair) => {
                let key: Curve25519SeedBin<'_> = pair.seed()?.as_be_bytes()?;
                key.as_ref().to_vec()
            }
            Self::Rs256(pair) => pair.as_der()?.as_ref().to_vec(),
        };
        Ok(Zeroizing::new(bytes))
    }

    /// The public key, parsed once for many signature checks.
    fn parsed_public_key(&self) -> Result<ParsedPublicKey, KeyRejected> {
        match self {
            Self::Es256(pair) => ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key()),
            Self::EdDsa(pair) => ParsedPublicKey::new(&ED25519, pair.public_key()),
            Self::Rs256(pair) => {
                ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key())
            }
        }
    }

    /// The public key for the JWK Set.
    fn decoding_key(&self) -> DecodingKey {
        match self {
            Self::Es256(pair) => DecodingKey::from_ec_der(pair.public_key().as_ref()),
            Self::EdDsa(pair) => DecodingKey::from_ed_der(pair.public_key().as_ref()),
            Self::Rs256(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                DecodingKey::from_rsa_raw_components(&public.n, &public.e)
            }
        }
    }
}
