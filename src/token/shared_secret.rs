//! Secrets that all instances share, stored beside the signing keys.

use std::{collections::BTreeMap, fmt};

use zeroize::Zeroizing;

use crate::random::random_bytes;

/// What a secret is for. Each is stored apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretName {
    /// The keys of cookies and one-time secrets are derived from it.
    Cookies,
    /// It encrypts the secrets of authenticator apps. Without it, nobody can sign in with such an app.
    Factors,
    /// The keys of the audit trail are derived from it.
    Audit,
}

impl SecretName {
    pub const ALL: [Self; 3] = [Self::Cookies, Self::Factors, Self::Audit];
}

/// A secret of 32 bytes. It outlives signing keys: a rotation signs nobody out.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret(Zeroizing<[u8; 32]>);

/// The secrets of an installation.
pub type SharedSecrets = BTreeMap<SecretName, SharedSecret>;

impl SharedSecret {
    pub fn random() -> Self {
        Self(random_bytes())
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The secret from its stored bytes; `None` if they are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Zeroizing::new).map(Self)
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}
