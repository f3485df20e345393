//! Private keys that decrypt a file.

use aws_lc_rs::{
    aead::Nonce,
    agreement::{PrivateKey, UnparsedPublicKey, X25519, agree},
};
use zeroize::Zeroizing;

use super::{
    Error, FILE_KEY_BYTES, FileKey, ONE_MESSAGE, TAG_BYTES, bech32, cipher, derive, header::Stanza,
    no_data, recipient::WRAP_INFO,
};

/// The private keys of an identity file.
pub struct Identities(Vec<PrivateKey>);

impl Identities {
    /// The identities in a file that `age-keygen` has made.
    ///
    /// # Errors
    /// If there is none, or a line is none.
    pub fn parse_file(contents: &str) -> Result<Self, Error> {
        let lines = contents.lines().map(str::trim);
        let keys: Vec<_> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| {
                let secret = bech32::decode("age-secret-key-", line).ok_or(Error::NotAnIdentity)?;
                PrivateKey::from_private_key(&X25519, &*secret).map_err(|_| Error::NotAnIdentity)
            })
            .collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(Error::NotAnIdentity) } else { Ok(Self(keys)) }
    }

    /// The key of a file, from the parts of its header.
    pub(super) fn file_key(&self, stanzas: &[Stanza]) -> Result<FileKey, Error> {
        let mut is_known = false;
        for Stanza { arguments, body } in stanzas {
            let [kind, share] = &arguments[..] else { continue };
            if kind != "X25519" {
                continue;
            }
            is_known = true;
            let share = decoded_share(share).ok_or(Error::Damaged)?;
            if body.len() != FILE_KEY_BYTES + TAG_BYTES {
                return Err(Error::Damaged);
            }
            if let Some(key) = self.0.iter().find_map(|identity| unwrap(identity, share, body)) {
                return Ok(key);
            }
        }
        Err(if is_known { Error::WrongIdentity } else { Error::Unknown })
    }
}

fn decoded_share(text: &str) -> Option<[u8; 32]> {
    super::header::decode_base64(text)?.try_into().ok()
}

fn unwrap(identity: &PrivateKey, share: [u8; 32], body: &[u8]) -> Option<FileKey> {
    let own = identity.compute_public_key().ok()?;
    let salt = [&share, own.as_ref()].concat();
    let peer = UnparsedPublicKey::new(&X25519, share);
    let key = agree(identity, peer, (), |secret| Ok(derive(secret, &salt, WRAP_INFO))).ok()?;
    let mut opened = Zeroizing::new(body.to_vec());
    let nonce = Nonce::assume_unique_for_key(ONE_MESSAGE);
    let opened = cipher(&key).open_in_place(nonce, no_data(), &mut opened).ok()?;
    let mut file_key = Zeroizing::new([0; FILE_KEY_BYTES]);
    file_key.copy_from_slice(opened);
    Some(FileKey(file_key))
}
