//! The code by which Doorward tells its own tokens from forgeries without checking a signature. It is the last claim of
//! every token and covers everything before it; verifiers elsewhere ignore it.

use aws_lc_rs::{cmac, constant_time::verify_slices_are_equal, hkdf};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Makes and checks the codes of one signing key: AES-128-CMAC, which costs a quarter of the instructions of HMAC-SHA256
/// where the CPU has no instructions for SHA-256.
pub(super) struct MacKey(cmac::Key);

/// The claim in front of its value, and what closes it and the object.
const BEFORE: &[u8] = br#","mac":""#;
const AFTER: &[u8] = br#""}"#;
const KEY_BYTES: usize = 16;
/// 16 bytes in base64.
const TAG_CHARACTERS: usize = 22;
const CLAIM_BYTES: usize = BEFORE.len() + TAG_CHARACTERS + AFTER.len();
/// The claim at the end of the encoded claims.
const ENCODED_CLAIM: usize = (CLAIM_BYTES * 4).div_ceil(3);

impl MacKey {
    /// A key of its own for each signing key and the head of its tokens, which the code therefore covers. Nothing is
    /// stored: whoever has the private key derives the same, and a revoked key takes its codes along.
    pub(super) fn derive(private_key: &[u8], head: &str) -> Self {
        const PURPOSE: &[u8] = b"doorward token mac 1 ";
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(private_key);
        let info = [PURPOSE, head.as_bytes()];
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let expanded = extracted.expand(&info, Length).and_then(|okm| okm.fill(&mut *key));
        expanded.expect("HKDF makes keys of this length");
        Self(cmac::Key::new(cmac::AES_128, &*key).expect("the key has the length of the cipher"))
    }

    /// The encoded claims of a token, made of a JSON object. Spaces make the part that is covered a multiple of three
    /// bytes, so that it can be told from the code without decoding anything.
    pub(super) fn encode(&self, mut claims: Vec<u8>) -> String {
        let brace = claims.pop();
        debug_assert_eq!(brace, Some(b'}'), "claims are an object");
        claims.resize(claims.len().next_multiple_of(3), b' ');
        let mut encoded = BASE64_URL_SAFE_NO_PAD.encode(claims);
        let claim = self.claim(encoded.as_bytes());
        encoded.extend(claim.into_iter().map(char::from));
        encoded
    }

    /// Whether these encoded claims end with their code. Only the form that [`Self::encode`] writes is accepted.
    pub(super) fn has_made(&self, encoded: &str) -> bool {
        let parts = encoded.as_bytes().split_last_chunk::<ENCODED_CLAIM>();
        parts.is_some_and(|(covered, claim)| {
            verify_slices_are_equal(claim, &self.claim(covered)).is_ok()
        })
    }

    /// The claim with the code of what is covered, encoded.
    fn claim(&self, covered: &[u8]) -> [u8; ENCODED_CLAIM] {
        let tag = cmac::sign(&self.0, covered).expect("a code can be made of everything");
        let mut claim = [0; CLAIM_BYTES];
        let (before, rest) = claim.split_at_mut(BEFORE.len());
        let (code, after) = rest.split_at_mut(TAG_CHARACTERS);
        before.copy_from_slice(BEFORE);
        after.copy_from_slice(AFTER);
        let mut encoded = [0; ENCODED_CLAIM];
        let inner = BASE64_URL_SAFE_NO_PAD.encode_slice(tag.as_ref(), code);
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
        MacKey::derive(b"private", "head")
    }

    #[test]
    fn the_code_is_the_last_claim_of_valid_json() {
        for claims in [r#"{"sub":"ada"}"#, r#"{"sub":"ada1"}"#, r#"{"sub":"ada12"}"#] {
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(key().encode(claims.into())).unwrap();
            let mut read: serde_json::Value = serde_json::from_slice(&decoded).unwrap();
            let code = read.as_object_mut().unwrap().remove("mac").unwrap();
            assert_eq!(code.as_str().unwrap().len(), TAG_CHARACTERS);
            assert_eq!(read, serde_json::from_str::<serde_json::Value>(claims).unwrap());
            assert!(decoded.ends_with(AFTER));
        }
    }

    #[test]
    fn only_claims_with_the_code_of_this_key_and_head_are_accepted() {
        let claims = key().encode(br#"{"sub":"ada"}"#.to_vec());
        assert!(key().has_made(&claims), "nothing is random");
        for other in [MacKey::derive(b"another", "head"), MacKey::derive(b"private", "another")] {
            assert!(!other.has_made(&claims));
        }
    }

    #[test]
    fn no_changed_or_missing_character_is_accepted() {
        let (key, claims) = (key(), key().encode(br#"{"sub":"ada","jti":"1"}"#.to_vec()));
        for at in 0..claims.len() {
            let other = if claims[at..].starts_with('A') { 'B' } else { 'A' };
            let changed = format!("{}{other}{}", &claims[..at], &claims[at + 1..]);
            assert!(!key.has_made(&changed), "character {at}");
            assert!(!key.has_made(&claims[..at]), "the first {at} characters");
            assert!(!key.has_made(&claims[at + 1..]), "without the first {}", at + 1);
        }
        for more in ["=", "A", " "] {
            assert!(!key.has_made(&format!("{claims}{more}")));
        }
    }
}
