//! Encryption for public keys in the format of age (<https://age-encryption.org/v1>), so that operators can use `age-keygen`
//! and `age`. The cryptography is that of aws-lc-rs.

mod bech32;
mod decryptor;
mod encryptor;
mod header;
mod identity;
mod recipient;

use std::io;

use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, KeyType, Salt},
};
use zeroize::Zeroizing;

pub use self::{
    decryptor::Decryptor, encryptor::Encryptor, identity::Identities, recipient::Recipient,
};

/// The first line of an encrypted file.
const INTRO: &str = "age-encryption.org/v1";
/// The plaintext of each part of a file but the last, which has at most as much.
const CHUNK_BYTES: usize = 64 << 10;
const TAG_BYTES: usize = 16;
const FILE_KEY_BYTES: usize = 16;

/// Why a file cannot be encrypted or decrypted. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recipient is not a public key of age.
    #[error(
        "the recipient {0} is not a public key of age: it begins with age1, and `age-keygen -y FILE` prints it"
    )]
    NotARecipient(String),
    /// A file has no recipients.
    #[error("the file has no recipients: write one public key of age a line")]
    NoRecipients,
    /// A file has no identity that can be used.
    #[error(
        "not an identity file of age: `age-keygen` makes one, and an identity in it begins with AGE-SECRET-KEY-1"
    )]
    NotAnIdentity,
    /// The identities are for other files.
    #[error("none of the identities fits: the backup is encrypted for other recipients")]
    WrongIdentity,
    /// The file is encrypted in a way that is not known here.
    #[error("encrypted in another way than for a public key of age: decrypt it with age first")]
    Unknown,
    /// The file is not what was written.
    #[error("the encrypted backup is damaged or incomplete: use another one")]
    Damaged,
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Whether the text begins as an encrypted file, in binary or as text.
pub fn is_encrypted(start: &[u8]) -> bool {
    start.starts_with(b"age-encryption.org/") || start.starts_with(b"-----BEGIN AGE ENCRYPTED FILE")
}

/// The key of a file. It is encrypted for each recipient.
struct FileKey(Zeroizing<[u8; FILE_KEY_BYTES]>);

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF with SHA-256.
fn derive(secret: &[u8], salt: &[u8], info: &str) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let info = [info.as_bytes()];
    let expanded = Salt::new(HKDF_SHA256, salt)
        .extract(secret)
        .expand(&info, Length(32))
        .and_then(|okm| okm.fill(&mut *key));
    expanded.expect("32 bytes are a valid length of a key");
    key
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    LessSafeKey::new(key.expect("the key has the length of the cipher"))
}

/// Encrypts the key of a file, or decrypts it. Each key is used for one message.
const ONE_MESSAGE: [u8; NONCE_LEN] = [0; NONCE_LEN];

/// The nonces of the parts of a file: their number, and whether it is the last one.
#[derive(Default)]
struct PartNonces {
    next: u64,
}

impl PartNonces {
    fn next(&mut self, is_last: bool) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[3..11].copy_from_slice(&self.next.to_be_bytes());
        nonce[11] = u8::from(is_last);
        self.next += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// No part of a file has additional data.
fn no_data() -> Aad<[u8; 0]> {
    Aad::empty()
}

#[cfg(test)]
mod tests;
