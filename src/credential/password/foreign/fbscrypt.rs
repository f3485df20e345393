//! Firebase's hash: the project's signer key, encrypted with AES-256-CTR under the output of scrypt. Stored in the form that
//! Supabase reads too: `$fbscrypt$v=1,n=14,r=8,p=1,ss=…,sk=…$salt$hash`.

use aws_lc_rs::{
    cipher::{AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey},
    constant_time::verify_slices_are_equal,
    iv::FixedLength,
};
use base64::{Engine, prelude::BASE64_STANDARD};

use super::{decode, number, parameter, scrypt::Scrypt};

pub(in crate::credential::password) struct Fbscrypt {
    /// With the salt and the project's salt separator.
    pub(super) scrypt: Scrypt,
    signer_key: Vec<u8>,
    output: Vec<u8>,
}

impl Fbscrypt {
    const KEY_BYTES: usize = 32;

    /// Reads what follows the scheme.
    pub(super) fn parse(rest: &str) -> Option<Self> {
        let (parameters, value) = rest.split_once('$')?;
        let (salt, output) = value.split_once('$')?;
        if parameter(parameters, "v") != Some("1") || parameter(parameters, "p") != Some("1") {
            return None;
        }
        let mut salt = decode(salt)?;
        salt.extend(decode(parameter(parameters, "ss")?)?);
        let (log_n, r) = (number(parameters, "n")?, number(parameters, "r")?);
        let scrypt = Scrypt::new(log_n, r, 1, salt, vec![0; Self::KEY_BYTES])?;
        let (signer_key, output) = (decode(parameter(parameters, "sk")?)?, decode(output)?);
        (signer_key.len() >= 16 && signer_key.len() == output.len()).then_some(Self {
            scrypt,
            signer_key,
            output,
        })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let Some(key) = self.scrypt.derive(password, Self::KEY_BYTES) else { return false };
        let Some(computed) = encrypt(&key, &self.signer_key) else { return false };
        verify_slices_are_equal(&computed, &self.output).is_ok()
    }
}

/// Counter mode encrypts as it decrypts. The counter starts at zero, because every user has another key.
fn encrypt(key: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let key = UnboundCipherKey::new(&AES_256, key).and_then(DecryptingKey::ctr).ok()?;
    let mut text = text.to_vec();
    let counter = DecryptionContext::Iv128(FixedLength::from([0; 16]));
    key.decrypt(&mut text, counter).ok()?;
    Some(text)
}

/// The stored form of a user's hash.
pub(super) fn to_phc(
    log_n: u8,
    rounds: u32,
    separator: &[u8],
    signer_key: &[u8],
    salt: &[u8],
    output: &[u8],
) -> String {
    let base64 = |bytes| BASE64_STANDARD.encode(bytes);
    format!(
        "$fbscrypt$v=1,n={log_n},r={rounds},p=1,ss={},sk={}${}${}",
        base64(separator),
        base64(signer_key),
        base64(salt),
        base64(output)
    )
}
