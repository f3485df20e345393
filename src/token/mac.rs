//! The MAC by which Doorward detects forged tokens without a signature check. It is the last claim of every token and
//! covers everything before it. Other verifiers ignore it.

use aws_lc_rs::{cmac, constant_time::verify_slices_are_equal, hkdf};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Computes and checks MACs for one signing key. AES-128-CMAC takes a quarter of the instructions of HMAC-SHA256 on CPUs
/// without SHA-256 instructions.
pub(super) struct MacKey(cmac::Key);

/// The text before the value of the claim, and the text after it, which closes the object.
const BEFORE: &[u8] = br#","mac":""#;
const AFTER: &[u8] = br#""}"#;
const KEY_BYTES: usize = 16;
/// 16 bytes in base64.
const TAG_CHARACTERS: usize = 22;
const CLAIM_BYTES: usize = BEFORE.len() + TAG_CHARACTERS + AFTER.len();
/// The length of the claim at the end of the encoded claims.
const ENCODED_CLAIM: usize = (CLAIM_BYTES * 4).div_ceil(3);

impl MacKey {
    /// Derives the MAC key from a signing key and the header of its tokens, which the MAC therefore covers. It is not
    /// stored: every instance with the private key derives the same one, and revoking the signing key invalidates it.
    pub(super) fn derive(private_key: &[u8], header: &str) -> Self {
        const PURPOSE: &[u8] = b"doorward token mac 1 ";
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(private_key);
        let info = [PURPOSE, header.as_bytes()];
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let expanded = extracted.expand(&info, Length).and_then(|okm| okm.fill(&mut *key));
        expanded.expect("HKDF supports keys of this length");
        Self(cmac::Key::new(cmac::AES_128, &*key).expect("the key has the length of the cipher"))
    }

    /// Encodes the claims of a token, a JSON object, and appends the MAC. Spaces pad the covered part to a multiple of three
    /// bytes, so that it can be separated from the MAC without decoding.
    pub(super) fn encode(&self, mut claims: Vec<u8>) -> String {
        let brace = claims.pop();
        debug_assert_eq!(brace, Some(b'}'), "claims are an object");
        claims.resize(claims.len().next_multiple_of(3), b' ');
        let mut encoded = BASE64_URL_SAFE_NO_PAD.encode(claims);
        let claim = self.claim(encoded.as_bytes());
        encoded.extend(claim.into_iter().map(char::from));
        encoded
    }

    /// Whether these encoded claims end with their MAC. Only the form that [`Self::encode`] writes is accepted.
    pub(super) fn is_valid(&self, encoded: &str) -> bool {
        let parts = encoded.as_bytes().split_last_chunk::<ENCODED_CLAIM>();
        parts.is_some_and(|(covered, claim)| {
            verify_slices_are_equal(claim, &self.claim(covered)).is_ok()
        })
    }

    /// The encoded claim with the MAC of the covered part.
    fn claim(&self, covered: &[u8]) -> [u8; ENCODED_CLAIM] {
        let tag = cmac::sign(&self.0, covered).expect("CMAC accepts any input");
        let mut claim = [0; CLAIM_BYTES];
        let (before, rest) = claim.split_at_mut(BEFORE.len());
        let (value, after) = rest.split_at_mut(TAG_CHARACTERS);
        before.copy_from_slice(BEFORE);
        after.copy_from_slice(AFTER);
        let mut encoded = [0; ENCODED_CLAIM];
        let inner = BASE64_URL_SAFE_NO_PAD.encode_slice(tag.as_ref(), value);
        let outer = BASE64_URL_SAFE_NO_PAD.encode_slice(claim, &mut encoded);
        debug_assert_eq!((inner, outer), (Ok(TAG_CHARACTERS), Ok(ENCODED_CLAIM)));
        encoded
    }
}

struct Length;

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> MacKey {
        MacKey::derive(b"private", "header")
    }

    #[test]
    fn the_mac_is_the_last_claim_of_valid_json() {
        for claims in [r#"{"sub":"ada"}"#, r#"{"sub":"ada1"}"#, r#"{"sub":"ada12"}"#] {
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(key().encode(claims.into())).unwrap();
            let mut read: serde_json::Value = serde_json::from_slice(&decoded).unwrap();
            let mac = read.as_object_mut().unwrap().remove("mac").unwrap();
            assert_eq!(mac.as_str().unwrap().len(), TAG_CHARACTERS);
            assert_eq!(read, serde_json::from_str::<serde_json::Value>(claims).unwrap());
            assert!(decoded.ends_with(AFTER));
        }
    }

    #[test]
    fn only_claims_with_the_mac_of_this_key_and_header_are_accepted() {
        let claims = key().encode(br#"{"sub":"ada"}"#.to_vec());
        assert!(key().is_valid(&claims), "the MAC is deterministic");
        for other in [MacKey::derive(b"another", "header"), MacKey::derive(b"private", "another")] {
            assert!(!other.is_valid(&claims));
        }
    }

    #[test]
    fn no_changed_or_missing_character_is_accepted() {
        let (key, claims) = (key(), key().encode(br#"{"sub":"ada","jti":"1"}"#.to_vec()));
        for at in 0..claims.len() {
            let other = if claims[at..].starts_with('A') { 'B' } else { 'A' };
            let changed = format!("{}{other}{}", &claims[..at], &claims[at + 1..]);
            assert!(!key.is_valid(&changed), "character {at}");
            assert!(!key.is_valid(&claims[..at]), "the first {at} characters");
            assert!(!key.is_valid(&claims[at + 1..]), "without the first {}", at + 1);
        }
        for more in ["=", "A", " "] {
            assert!(!key.is_valid(&format!("{claims}{more}")));
        }
    }
}
