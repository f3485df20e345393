//! Cosigning checkpoints of the audit trails of other installations.

use crate::{
    Doorward,
    audit::{AddCheckpoint, Signature, tree},
    store,
};

/// Why a checkpoint is not cosigned.
#[derive(Debug)]
pub(crate) enum WitnessRefusal {
    /// It is of a log that this installation does not witness.
    UnknownLog,
    /// The key of the log has not signed it.
    NotSigned,
    /// The log names an old size that is larger than the new one.
    Malformed,
    /// Another checkpoint was cosigned last, with this many entries.
    Conflict(u64),
    /// It does not continue the one that was cosigned last.
    NotConsistent,
    Store(store::Error),
}

impl From<store::Error> for WitnessRefusal {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

/// Cosigns a checkpoint that continues the one that was cosigned last.
pub(crate) async fn cosign(
    doorward: &Doorward,
    request: &AddCheckpoint,
) -> Result<Signature, WitnessRefusal> {
    let AddCheckpoint { old, proof, checkpoint: signed } = request;
    let new = &signed.checkpoint;
    let mut keys = doorward.settings().audit.witness_for.iter();
    let key = keys.find(|key| key.name == new.origin).ok_or(WitnessRefusal::UnknownLog)?;
    if !signed.is_signed_by(key) {
        return Err(WitnessRefusal::NotSigned);
    }
    if *old > new.size {
        return Err(WitnessRefusal::Malformed);
    }
    let latest = doorward.store().witnessed(&new.origin).await?;
    let (size, root) = latest.map_or((0, [0; 32]), |latest| (latest.size, latest.root));
    if *old != size || (*old == new.size && size > 0 && root != new.root) {
        return Err(WitnessRefusal::Conflict(size));
    }
    if !tree::proves_consistency(size, &root, new.size, &new.root, proof) {
        tracing::error!(
            log = new.origin,
            size,
            "an audit trail does not continue what was cosigned"
        );
        return Err(WitnessRefusal::NotConsistent);
    }
    // Stored before the answer, and only if no other request was faster.
    if !doorward.store().witness(size, signed).await? {
        let latest = doorward.store().witnessed(&new.origin).await?;
        return Err(WitnessRefusal::Conflict(latest.map_or(0, |latest| latest.size)));
    }
    Ok(doorward.audit_key().cosign(signed, doorward.now()))
}
