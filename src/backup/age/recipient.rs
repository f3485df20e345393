//! Public keys that a file is encrypted for.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use zeroize::Zeroizing;

use super::{
    Error, FILE_KEY_BYTES, FileKey, ONE_MESSAGE, TAG_BYTES, bech32, cipher, derive, no_data,
};

/// The purpose of a key that encrypts the key of a file.
pub(super) const WRAP_INFO: &str = "age-encryption.org/v1/X25519";

/// A public key of age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient([u8; 32]);

impl Recipient {
    /// Parses a public key as `age-keygen` prints it.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let key = bech32::decode("age", text);
        key.map(|key| Self(*key)).ok_or_else(|| {
            let is_secret = text.to_ascii_lowercase().contains("secret-key");
            Error::NotARecipient(if is_secret { "(a secret key)".into() } else { text.to_owned() })
        })
    }

    /// The recipients in a file: one a line, without empty lines and comments.
    ///
    /// # Errors
    /// If there is none, or a line is none.
    pub fn parse_file(contents: &str) -> Result<Vec<Self>, Error> {
        let lines = contents.lines().map(str::trim);
        let recipients: Vec<_> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(Self::parse)
            .collect::<Result<_, _>>()?;
        if recipients.is_empty() { Err(Error::NoRecipients) } else { Ok(recipients) }
    }

    /// The part of the header from which the holder of the private key gets the key of the file.
    pub(super) fn stanza(&self, file_key: &FileKey) -> Result<String, Error> {
        let invalid = || Error::NotARecipient("(a public key that is not on the curve)".into());
        let ephemeral = PrivateKey::generate(&X25519).map_err(|_| invalid())?;
        let share = ephemeral.compute_public_key().map_err(|_| invalid())?;
        let salt = [share.as_ref(), &self.0].concat();
        let peer = UnparsedPublicKey::new(&X25519, self.0);
        // aws-lc refuses a point of low order.
        let key =
            agree(&ephemeral, peer, invalid(), |secret| Ok(derive(secret, &salt, WRAP_INFO)))?;
        // With room for the tag, so that growing leaves no copy of the key behind.
        let mut body = Zeroizing::new(Vec::with_capacity(FILE_KEY_BYTES + TAG_BYTES));
        body.extend_from_slice(&*file_key.0);
        let nonce = aws_lc_rs::aead::Nonce::assume_unique_for_key(ONE_MESSAGE);
        let sealed = cipher(&key).seal_in_place_append_tag(nonce, no_data(), &mut *body);
        sealed.map_err(|_| invalid())?;
        let (share, body) =
            (BASE64_STANDARD_NO_PAD.encode(share), BASE64_STANDARD_NO_PAD.encode(&*body));
        Ok(format!("-> X25519 {share}\n{body}\n"))
    }
}
