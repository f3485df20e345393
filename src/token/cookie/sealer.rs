//! Authenticated values in base64: a payload and the MAC of payload and context.

use aws_lc_rs::{cmac, constant_time::verify_slices_are_equal, hkdf};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::token::shared_secret::SharedSecret;

/// Seals and opens the values of one purpose.
pub(super) struct Sealer(cmac::Key);

const KEY_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
/// The longest sealed value. A URL of 2 KB with everything else takes 3 KB, and the most roles that a login gives take 6 KB.
const MAX_CHARACTERS: usize = 8192;

impl Sealer {
    pub(super) fn derive(secret: &SharedSecret, purpose: &str) -> Self {
        let key = derive::<KEY_BYTES>(secret, purpose);
        Self(cmac::Key::new(cmac::AES_128, &*key).expect("the key has the length of the cipher"))
    }

    /// Seals a payload. It opens only with the same context, which is not part of the value.
    pub(super) fn seal(&self, payload: &[u8], context: &str) -> String {
        let tag = self.tag(payload, context);
        BASE64_URL_SAFE_NO_PAD.encode([payload, tag.as_ref()].concat())
    }

    /// The payload; `None` if the value was not sealed here with this context.
    pub(super) fn open(&self, sealed: &str, context: &str) -> Option<Vec<u8>> {
        if sealed.len() > MAX_CHARACTERS {
            return None;
        }
        let mut value = BASE64_URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (payload, tag) = value.split_last_chunk::<TAG_BYTES>()?;
        let expected = self.tag(payload, context);
        verify_slices_are_equal(tag, expected.as_ref()).ok()?;
        value.truncate(value.len() - TAG_BYTES);
        Some(value)
    }

    /// The length comes first, so that no other division into context and payload has the same input.
    fn tag(&self, payload: &[u8], context: &str) -> cmac::Tag {
        let length = (context.len() as u64).to_be_bytes();
        let input = [&length, context.as_bytes(), payload].concat();
        cmac::sign(&self.0, &input).expect("CMAC accepts any input")
    }
}

/// Bytes that only this secret has for this purpose.
pub(super) fn derive<const BYTES: usize>(
    secret: &SharedSecret,
    purpose: &str,
) -> Zeroizing<[u8; BYTES]> {
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret.as_bytes());
    let info = [b"doorward 1 ", purpose.as_bytes()];
    let mut derived = Zeroizing::new([0; BYTES]);
    let expanded = extracted.expand(&info, Length(BYTES)).and_then(|okm| okm.fill(&mut *derived));
    expanded.expect("HKDF supports this length");
    derived
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}
