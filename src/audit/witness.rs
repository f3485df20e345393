//! What a log asks its witness: C2SP `tlog-witness`.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{
    checkpoint::{SignedCheckpoint, decimal},
    tree::Hash,
};

/// The body of `add-checkpoint`: a checkpoint, and the proof that it continues the one that was cosigned last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size of the one that was cosigned last.
    pub old: u64,
    pub proof: Vec<Hash>,
    pub checkpoint: SignedCheckpoint,
}

impl AddCheckpoint {
    pub fn parse(text: &str) -> Option<Self> {
        /// The most hashes that a proof can have.
        const MAX_HASHES: usize = 63;
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.split('\n');
        let old = decimal(lines.next()?.strip_prefix("old ")?)?;
        let hash = |line| BASE64_STANDARD.decode(line).ok()?.try_into().ok();
        let proof: Vec<Hash> = lines.map(hash).collect::<Option<_>>()?;
        let checkpoint = SignedCheckpoint::parse(checkpoint).ok()?;
        (proof.len() <= MAX_HASHES).then_some(Self { old, proof, checkpoint })
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, proof, checkpoint } = self;
        writeln!(f, "old {old}")?;
        proof.iter().try_for_each(|hash| writeln!(f, "{}", BASE64_STANDARD.encode(hash)))?;
        write!(f, "\n{checkpoint}")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::checkpoint::AuditKey, *};
    use crate::token::shared_secret::SharedSecret;

    #[test]
    fn a_request_is_read_as_it_is_written() {
        let checkpoint = AuditKey::new(&SharedSecret::random()).sign(9, [3; 32]);
        for proof in [vec![], vec![[1; 32], [2; 32]]] {
            let request = AddCheckpoint { old: 4, proof, checkpoint: checkpoint.clone() };
            let text = request.to_string();
            assert_eq!(AddCheckpoint::parse(&text), Some(request));
            for malformed in ["", &text[1..], &text.replacen("old 4", "old 04", 1)] {
                assert_eq!(AddCheckpoint::parse(malformed), None);
            }
        }
        let proof = vec![[0; 32]; 64];
        let request = AddCheckpoint { old: 4, proof, checkpoint };
        assert_eq!(AddCheckpoint::parse(&request.to_string()), None);
    }
}
