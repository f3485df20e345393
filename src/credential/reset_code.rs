//! Reset codes, with which a user sets a new password without the old one.

use std::{fmt, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use zeroize::Zeroizing;

/// A code as the user receives it. Its holder can take over the account.
pub struct ResetCode(Zeroizing<String>);

impl ResetCode {
    /// How long a code can be used.
    pub const LIFETIME: Duration = Duration::from_secs(30 * 60);

    /// A new code of 128 random bits.
    pub fn random() -> Self {
        let mut bytes = Zeroizing::new([0; 16]);
        aws_lc_rs::rand::fill(&mut *bytes).expect("the system provides random bytes");
        Self::unchecked(format!("{:032x}", u128::from_be_bytes(*bytes)))
    }

    /// A code from a request, which may be any text.
    pub fn unchecked(sent: String) -> Self {
        Self(Zeroizing::new(sent))
    }

    /// The code itself, to be shown once.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest, which is all that is stored.
    pub fn digest(&self) -> ResetDigest {
        let digest = digest(&SHA256, self.0.as_bytes());
        ResetDigest(digest.as_ref().to_vec())
    }
}

impl fmt::Debug for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResetCode(…)")
    }
}

/// The SHA-256 of a code. It identifies the code without revealing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetDigest(Vec<u8>);

impl ResetDigest {
    pub(crate) fn from_store(stored: Vec<u8>) -> Self {
        Self(stored)
    }

    /// The digest, for the store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_long_and_random_and_do_not_show_in_debug_output() {
        let (one, other) = (ResetCode::random(), ResetCode::random());
        assert_eq!(one.as_str().len(), 32);
        assert_ne!(one.as_str(), other.as_str());
        assert_ne!(one.digest(), other.digest());
        assert_eq!(one.digest(), ResetCode::unchecked(one.as_str().to_owned()).digest());
        assert!(!format!("{one:?}").contains(one.as_str()));
    }
}
