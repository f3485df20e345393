//! Keyed hashes of e-mail addresses, which identify accounts whether they exist or not.

use std::fmt;

use aws_lc_rs::hmac;

use crate::user::EmailKey;

/// A keyed hash of an e-mail address. It does not reveal the address. Without the key, a collision cannot be constructed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountKey(pub(super) [u8; Self::BYTES]);

impl AccountKey {
    /// The length of a key.
    pub(super) const BYTES: usize = 16;

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key from the store; `None` if the bytes are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// The secret from which all [`AccountKey`]s of a database are computed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountSecret([u8; 32]);

impl AccountSecret {
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system provides random bytes");
        Self(bytes)
    }

    pub fn account(&self, email: &EmailKey) -> AccountKey {
        key_of(&self.to_key(), email)
    }

    pub(super) fn to_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret from the store; `None` if the bytes are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for AccountSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountSecret(…)")
    }
}

pub(super) fn key_of(secret: &hmac::Key, email: &EmailKey) -> AccountKey {
    let tag = hmac::sign(secret, email.as_str().as_bytes());
    let mut key = AccountKey([0; 16]);
    key.0.copy_from_slice(&tag.as_ref()[..16]);
    key
}
