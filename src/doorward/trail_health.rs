//! What is wrong with what protects the audit trail, as this process knows it: its witness, its file of checkpoints, its secret.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Doorward;
use crate::{clock::Timestamp, count::labels};

/// Something that protects the audit trail and can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrailPart {
    /// The witness answers, and does not cosign.
    WitnessRefuses,
    WitnessUnreachable,
    /// Checkpoints cannot be written to the file.
    CheckpointFile,
    /// The stored secret is missing, or not the one that this process uses.
    Secret,
}

labels!(TrailPart {
    WitnessRefuses => "witness_refuses",
    WitnessUnreachable => "witness_unreachable",
    CheckpointFile => "checkpoint_file",
    Secret => "secret",
});

/// A part that fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditTrouble")]
pub(crate) struct TrailTrouble {
    pub(crate) part: TrailPart,
    /// When this process noticed it.
    pub(crate) since: Timestamp,
    /// For the operator. It may name a file or a host.
    pub(crate) cause: String,
}

impl TrailTrouble {
    /// For everybody: it names no file, host or cause.
    pub(crate) fn public_text(&self) -> String {
        let what = match self.part {
            TrailPart::WitnessRefuses => "The witness refuses to cosign the trail",
            TrailPart::WitnessUnreachable => "The witness cannot be reached",
            TrailPart::CheckpointFile => "The file of checkpoints cannot be written",
            TrailPart::Secret => "The secret of the trail is missing or was replaced",
        };
        format!("{what} (since {}): see the log.", self.since)
    }
}

/// The parts that fail.
#[derive(Default)]
pub(super) struct TrailHealth(Mutex<Vec<TrailTrouble>>);

impl TrailHealth {
    /// Records that a part fails. Returns whether that is new.
    pub(super) fn begin(&self, part: TrailPart, now: Timestamp, cause: String) -> bool {
        let mut troubles = self.troubles();
        match troubles.iter_mut().find(|trouble| trouble.part == part) {
            Some(known) => {
                known.cause = cause;
                false
            }
            None => {
                troubles.push(TrailTrouble { part, since: now, cause });
                true
            }
        }
    }

    /// Records that a part works. Returns whether that is new.
    pub(super) fn end(&self, part: TrailPart) -> bool {
        let mut troubles = self.troubles();
        let before = troubles.len();
        troubles.retain(|trouble| trouble.part != part);
        troubles.len() < before
    }

    fn troubles(&self) -> MutexGuard<'_, Vec<TrailTrouble>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doorward {
    /// What is wrong with what protects the audit trail.
    pub(crate) fn trail_troubles(&self) -> Vec<TrailTrouble> {
        self.inner.trail.health.troubles().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_begins_once_and_keeps_its_time_until_it_ends() {
        let (health, at) = (TrailHealth::default(), Timestamp::from_seconds);
        let part = TrailPart::WitnessUnreachable;
        assert!(!health.end(part));
        assert!(health.begin(part, at(1), "no route".into()));
        assert!(!health.begin(part, at(2), "refused".into()));
        assert!(health.begin(TrailPart::Secret, at(3), "missing".into()));
        let found = health.troubles().clone();
        let known = TrailTrouble { part, since: at(1), cause: "refused".into() };
        assert_eq!(found[0], known);
        assert!(!found[0].public_text().contains("refused"), "{found:?}");
        assert!(health.end(part) && !health.end(part));
        assert_eq!(health.troubles().len(), 1);
    }
}
