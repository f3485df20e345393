//! A proof that an event is in the trail, for anybody who has the public key: C2SP `tlog-proof`. Its extra data is the entry, which is
//! the salt and the event.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{
    checkpoint::{SignedCheckpoint, VerifierKey, decimal},
    entry::Entry,
    tree::{Hash, leaf_hash, proves_inclusion},
};

const HEADER: &str = "c2sp.org/tlog-proof@v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The salt of 16 bytes, followed by the text of the event.
    pub entry: Vec<u8>,
    pub index: u64,
    pub hashes: Vec<Hash>,
    pub checkpoint: SignedCheckpoint,
}

/// Why a proof proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    #[error("it is not a proof of the form {HEADER}")]
    Malformed,
    #[error("its checkpoint is not signed with this key")]
    Signature,
    #[error("the event in it is not the one that was logged, or its hashes were changed")]
    Inclusion,
}

impl Proof {
    /// # Errors
    /// If the text is not a proof.
    pub fn parse(text: &str) -> Result<Self, ProofFault> {
        Self::read(text).ok_or(ProofFault::Malformed)
    }

    fn read(text: &str) -> Option<Self> {
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.split('\n');
        if lines.next()? != HEADER {
            return None;
        }
        let entry = BASE64_STANDARD.decode(lines.next()?.strip_prefix("extra ")?).ok()?;
        let index = decimal(lines.next()?.strip_prefix("index ")?)?;
        let hash = |line| BASE64_STANDARD.decode(line).ok()?.try_into().ok();
        let hashes = lines.map(hash).collect::<Option<_>>()?;
        let checkpoint = SignedCheckpoint::parse(checkpoint).ok()?;
        Some(Self { entry, index, hashes, checkpoint })
    }

    /// The event that it proves.
    ///
    /// # Errors
    /// If it does not prove it to whoever trusts this key.
    pub fn verify(&self, key: &VerifierKey) -> Result<&str, ProofFault> {
        let Self { entry, index, hashes, checkpoint } = self;
        if checkpoint.checkpoint.origin != key.name || !checkpoint.is_signed_by(key) {
            return Err(ProofFault::Signature);
        }
        let (size, root) = (checkpoint.checkpoint.size, &checkpoint.checkpoint.root);
        if !proves_inclusion(&leaf_hash(&[entry]), *index, size, hashes, root) {
            return Err(ProofFault::Inclusion);
        }
        Entry::text_of_proved(entry).ok_or(ProofFault::Malformed)
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, index, hashes, checkpoint } = self;
        writeln!(f, "{HEADER}\nextra {}\nindex {index}", BASE64_STANDARD.encode(entry))?;
        hashes.iter().try_for_each(|hash| writeln!(f, "{}", BASE64_STANDARD.encode(hash)))?;
        write!(f, "\n{checkpoint}")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{checkpoint::AuditKey, tree::Tiles},
        *,
    };
    use crate::token::shared_secret::SharedSecret;

    #[test]
    fn a_proof_holds_for_its_event_and_key_alone() {
        let key = AuditKey::new(&SharedSecret::random());
        let entry = |number: u8| [&[number; 16][..], b"{\"event\":1}"].concat();
        let leaves: Vec<_> = (0..20).map(|number| leaf_hash(&[&entry(number)])).collect();
        let mut tiles = Tiles::default();
        tiles.append(0, &leaves);
        let checkpoint = key.sign(20, tiles.root(20).unwrap());
        let hashes = tiles.inclusion_proof(7, 20).unwrap();
        let proof = Proof { entry: entry(7), index: 7, hashes, checkpoint };
        let text = proof.to_string();
        assert_eq!(Proof::parse(&text), Ok(proof.clone()));
        assert_eq!(proof.verify(&key.public()), Ok("{\"event\":1}"));
        let other = AuditKey::new(&SharedSecret::random());
        assert_eq!(proof.verify(&other.public()), Err(ProofFault::Signature));
        assert_eq!(proof.verify(&key.public_of_witness()), Err(ProofFault::Signature));
        let changed = [
            Proof { entry: entry(8), ..proof.clone() },
            Proof { index: 6, ..proof.clone() },
            Proof { hashes: proof.hashes[1..].to_vec(), ..proof.clone() },
        ];
        for changed in changed {
            assert_eq!(changed.verify(&key.public()), Err(ProofFault::Inclusion));
        }
        for malformed in
            ["", "x", &text.replacen("v1", "v2", 1), &text.replacen("extra", "more", 1)]
        {
            assert_eq!(Proof::parse(malformed), Err(ProofFault::Malformed));
        }
    }
}
