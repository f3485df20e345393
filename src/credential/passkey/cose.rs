//! Public keys of passkeys (COSE, RFC 9053), with the three algorithms that are offered to authenticators.

use std::fmt;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RsaPublicKeyComponents,
};

use super::{
    Invalid,
    cbor::{self, Map, Value},
};

/// The algorithms to offer, the preferred one first: ES256, EdDSA, RS256.
pub const ALGORITHMS: [i32; 3] = [ES256 as i32, EDDSA as i32, RS256 as i32];

const ES256: i128 = -7;
const EDDSA: i128 = -8;
const RS256: i128 = -257;

/// An RSA key of 8192 bits has 1100 bytes. Whoever registers a key cannot make the store keep more.
const MAX_BYTES: usize = 2048;

/// The public key of a passkey.
#[derive(Clone)]
pub struct PublicKey {
    cose: Vec<u8>,
    key: ParsedPublicKey,
}

impl PublicKey {
    /// The key in its encoding, for the store.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.cose.clone()
    }

    pub fn from_bytes(stored: &[u8]) -> Option<Self> {
        Self::parse(stored).ok()
    }

    pub(super) fn parse(cose: &[u8]) -> Result<Self, Invalid> {
        if cose.len() > MAX_BYTES {
            return Err(Invalid::PublicKey);
        }
        let Some(Value::Map(map)) = cbor::parse(cose) else { return Err(Invalid::PublicKey) };
        let Some(Value::Integer(algorithm)) = map.by_number(3) else {
            return Err(Invalid::PublicKey);
        };
        let key = match *algorithm {
            ES256 => es256(&map),
            EDDSA => ed25519(&map),
            RS256 => rs256(&map),
            _ => return Err(Invalid::Algorithm),
        };
        Ok(Self { cose: cose.to_vec(), key: key.ok_or(Invalid::PublicKey)? })
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Invalid> {
        self.key.verify_sig(message, signature).map_err(|_| Invalid::Signature)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicKey").field(&self.cose).finish()
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.cose == other.cose
    }
}

impl Eq for PublicKey {}

/// A point on P-256. aws-lc-rs refuses one that is not on the curve.
fn es256(map: &Map<'_>) -> Option<ParsedPublicKey> {
    is_of(map, 2, Some(1))?;
    let (x, y) = (bytes::<32>(map, -2)?, bytes::<32>(map, -3)?);
    ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, [&[4][..], x, y].concat()).ok()
}

fn ed25519(map: &Map<'_>) -> Option<ParsedPublicKey> {
    is_of(map, 1, Some(6))?;
    ParsedPublicKey::new(&ED25519, bytes::<32>(map, -2)?).ok()
}

/// aws-lc-rs compares the size and the exponent with its bounds when it verifies. That would be too late: the key would have
/// been registered.
fn rs256(map: &Map<'_>) -> Option<ParsedPublicKey> {
    is_of(map, 3, None)?;
    let (Value::Bytes(n), Value::Bytes(e)) = (map.by_number(-1)?, map.by_number(-2)?) else {
        return None;
    };
    let bits = n.len() * 8 - n.first()?.leading_zeros() as usize;
    let exponent = e.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let is_usable = (2048..=8192).contains(&bits)
        && n.last()? % 2 == 1
        && e.len() <= 4
        && exponent >= 3
        && exponent % 2 == 1;
    let key = RsaPublicKeyComponents { n, e };
    is_usable.then(|| key.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256).ok())?
}

/// Whether the key is of this type, and on this curve.
fn is_of(map: &Map<'_>, kind: i128, curve: Option<i128>) -> Option<()> {
    let is_curve = curve.is_none_or(|curve| map.by_number(-1) == Some(&Value::Integer(curve)));
    (map.by_number(1) == Some(&Value::Integer(kind)) && is_curve).then_some(())
}

fn bytes<'a, const LENGTH: usize>(map: &Map<'a>, key: i128) -> Option<&'a [u8]> {
    match map.by_number(key)? {
        Value::Bytes(bytes) if bytes.len() == LENGTH => Some(bytes),
        _ => None,
    }
}
