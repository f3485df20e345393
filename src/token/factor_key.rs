//! The key that encrypts the secrets of authenticator apps, so that a copy of the database alone does not contain them.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use zeroize::Zeroizing;

use crate::{id::Id, user::UserId};

/// The first byte of what is stored: AES-256-GCM with a random nonce, which follows it.
const VERSION: u8 = 1;

/// Encrypts and decrypts secrets of users.
pub struct FactorKey(RandomizedNonceKey);

impl FactorKey {
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(RandomizedNonceKey::new(&AES_256_GCM, secret).expect("the secret has 32 bytes"))
    }

    /// The secret in the form in which it is stored. Only this user's row can have it.
    pub fn encrypt(&self, user: UserId, secret: &[u8]) -> Vec<u8> {
        // With room for the tag, so that no copy of the secret is left behind.
        let mut sealed = Vec::with_capacity(secret.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(secret);
        let nonce = self.0.seal_in_place_append_tag(bound_to(user), &mut sealed);
        let nonce = nonce.expect("a short text can be encrypted");
        [&[VERSION], nonce.as_ref().as_slice(), &sealed].concat()
    }

    /// The stored secret of this user. `None` if it was encrypted with another key or for another user, or is damaged.
    pub fn decrypt(&self, user: UserId, stored: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = stored.strip_prefix(&[VERSION])?.split_first_chunk::<NONCE_LEN>()?;
        let mut opened = Zeroizing::new(sealed.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.0.open_in_place(nonce, bound_to(user), &mut opened).ok()?.len();
        opened.truncate(length);
        Some(opened)
    }
}

fn bound_to(user: UserId) -> Aad<[u8; 17]> {
    let mut bound = [VERSION; 17];
    bound[1..].copy_from_slice(user.uuid().as_bytes());
    Aad::from(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_only_with_its_key_for_its_user_and_unchanged() {
        let (key, other) = (FactorKey::new(&[7; 32]), FactorKey::new(&[8; 32]));
        let (ada, eve) = (UserId::random(), UserId::random());
        let secret = b"a secret of 20 bytes";
        let stored = key.encrypt(ada, secret);
        assert!(!stored.windows(secret.len()).any(|part| part == secret));
        assert_ne!(stored, key.encrypt(ada, secret), "the nonce is random");
        assert_eq!(key.decrypt(ada, &stored).unwrap().as_slice(), secret);
        assert!(key.decrypt(eve, &stored).is_none());
        assert!(other.decrypt(ada, &stored).is_none());
        for at in 0..stored.len() {
            let mut changed = stored.clone();
            changed[at] ^= 1;
            assert!(key.decrypt(ada, &changed).is_none(), "byte {at}");
            assert!(key.decrypt(ada, &stored[..at]).is_none(), "{at} bytes");
        }
    }
}
