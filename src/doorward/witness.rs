//! The witness of the audit trail: another installation that cosigns a checkpoint only if it continues the last one that it has
//! cosigned. It notices a roll-back that this installation cannot notice.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;

use super::{Doorward, trail_health::TrailPart};
use crate::{
    audit::{AddCheckpoint, SignedCheckpoint, parse_signatures, tree},
    outbound::http::{Error as HttpError, post},
    store,
};

/// Why a checkpoint is not cosigned.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("its answer has status {0}")]
    Status(u16),
    #[error("its answer has no signature of audit.witness_key")]
    NotSigned,
    /// The witness knows a later state of the trail, or another one.
    #[error(
        "it has cosigned {witnessed} events, and the trail does not continue them: the database was rolled back to an older backup \
         or rewritten; `doorward audit verify` says more"
    )]
    NotContinued { witnessed: u64 },
    /// Another instance has had a later checkpoint cosigned.
    #[error("it has cosigned a later checkpoint of another instance")]
    Overtaken,
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Failure {
    /// A witness that has no time is as one that does not answer. Any other answer is a refusal, which does not end by itself.
    fn part(&self) -> TrailPart {
        match self {
            Self::Http(_) | Self::Status(429 | 500..) => TrailPart::WitnessUnreachable,
            _ => TrailPart::WitnessRefuses,
        }
    }
}

impl Doorward {
    /// The checkpoint with the signature of the witness, if one is set and gives it; and whether nothing is left to do.
    pub(super) async fn have_cosigned(
        &self,
        signed: SignedCheckpoint,
        limit: Duration,
    ) -> Result<(SignedCheckpoint, bool), store::Error> {
        let Some(url) = &self.settings().audit.witness else { return Ok((signed, true)) };
        let health = &self.inner.trail.health;
        let (cosigned, is_done) = match self.ask_witness(url, &signed, limit).await {
            Ok(cosigned) => (cosigned, true),
            Err(Failure::Store(error)) => return Err(error),
            Err(Failure::Overtaken) => (signed, true),
            Err(error) => {
                let part = error.part();
                if health.begin(part, self.now(), format!("{url}: {error}")) {
                    log_failure(part, url, &error);
                }
                let other = match part {
                    TrailPart::WitnessRefuses => TrailPart::WitnessUnreachable,
                    _ => TrailPart::WitnessRefuses,
                };
                health.end(other);
                return Ok((signed, false));
            }
        };
        let has_recovered =
            [TrailPart::WitnessRefuses, TrailPart::WitnessUnreachable].map(|part| health.end(part));
        if has_recovered.contains(&true) {
            tracing::info!(witness = url, "the witness cosigns the audit trail again");
        }
        Ok((cosigned, is_done))
    }

    async fn ask_witness(
        &self,
        url: &str,
        signed: &SignedCheckpoint,
        limit: Duration,
    ) -> Result<SignedCheckpoint, Failure> {
        let url = format!("{url}/add-checkpoint");
        let witnessed = &self.inner.trail.witnessed;
        let size = signed.checkpoint.size;
        // After a start, the witness says what it has cosigned last.
        for _ in 0..3 {
            let old = witnessed.load(Ordering::Relaxed);
            if old > size {
                let is_known = self.store().audit_tree().await?.size >= old;
                let rolled_back = Failure::NotContinued { witnessed: old };
                return Err(if is_known { Failure::Overtaken } else { rolled_back });
            }
            let tiles = self.store().tiles(tree::tiles_for_consistency(old, size)).await?;
            let proof = tiles.consistency_proof(old, size).unwrap_or_default();
            let request = AddCheckpoint { old, proof, checkpoint: signed.clone() };
            let answer = post(&url, Bytes::from(request.to_string()), limit).await?;
            let text = str::from_utf8(&answer.body).unwrap_or_default();
            match answer.status {
                200 => {
                    let signatures = parse_signatures(text).ok_or(Failure::NotSigned)?;
                    let cosigned = signed.clone().with(signatures);
                    let key = self.settings().audit.witness_key.as_ref();
                    if !key.is_some_and(|key| cosigned.is_signed_by(key)) {
                        return Err(Failure::NotSigned);
                    }
                    witnessed.store(size, Ordering::Relaxed);
                    return Ok(cosigned);
                }
                409 => match text.trim_end().parse::<u64>() {
                    Ok(latest) if latest != old => witnessed.store(latest, Ordering::Relaxed),
                    _ => return Err(Failure::NotContinued { witnessed: old }),
                },
                422 => return Err(Failure::NotContinued { witnessed: old }),
                status => return Err(Failure::Status(status)),
            }
        }
        Err(Failure::Status(409))
    }
}

fn log_failure(part: TrailPart, url: &str, error: &Failure) {
    match part {
        TrailPart::WitnessRefuses => {
            tracing::error!(%error, witness = url, "the witness refuses the audit trail");
        }
        _ => {
            tracing::warn!(%error, witness = url, "the witness has not cosigned the audit trail");
        }
    }
}
