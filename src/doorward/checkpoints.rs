//! Publishes checkpoints of the audit trail: to the log, to the file of checkpoints, and to the witness.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use super::{Doorward, trail_health::TrailPart};
use crate::{audit::SignedCheckpoint, store};

/// A checkpoint that is in the log, and where else it is.
pub(super) struct Published {
    checkpoint: SignedCheckpoint,
    /// Whether the witness has cosigned it, or there is none.
    is_cosigned: bool,
    /// Whether it is in the file, or there is none.
    is_in_file: bool,
}

impl Doorward {
    /// Signs the state of the tree, has it cosigned, and writes it to the log and to the file. If the tree has not changed, it only
    /// does what has failed before. `limit` is the time for the witness.
    pub(super) async fn publish_checkpoint(&self, limit: Duration) -> Result<(), store::Error> {
        let signed = self.sign_checkpoint().await?;
        if signed.checkpoint.size == 0 {
            return Ok(());
        }
        let (is_known, was_cosigned, is_in_file) = match &*self.published() {
            Some(last) if last.checkpoint.checkpoint == signed.checkpoint => {
                (true, last.is_cosigned, last.is_in_file)
            }
            _ => (false, false, false),
        };
        if was_cosigned && is_in_file {
            return Ok(());
        }
        let (signed, is_cosigned) = match was_cosigned {
            true => (signed, true),
            false => self.have_cosigned(signed, limit).await?,
        };
        let stored = self.store().audit_tree().await?.checkpoint;
        // Another instance may have published a later one meanwhile.
        if stored.is_none_or(|stored| {
            stored.checkpoint.size <= signed.checkpoint.size && stored != signed
        }) {
            self.store().set_checkpoint(&signed).await?;
        }
        let text = signed.to_string();
        // One that was cosigned late is published again, with the signature.
        let is_new = !is_known || is_cosigned && !was_cosigned;
        if is_new {
            let (size, key) = (signed.checkpoint.size, self.audit_key().public().to_string());
            tracing::info!(size, key, checkpoint = &*text, "audit checkpoint");
        }
        let is_in_file = (is_in_file && !is_new) || self.write_to_file(&text);
        *self.published() = Some(Published { checkpoint: signed, is_cosigned, is_in_file });
        Ok(())
    }

    fn published(&self) -> MutexGuard<'_, Option<Published>> {
        self.inner.trail.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a checkpoint to the file, if there is one. Returns whether nothing is left to do.
    fn write_to_file(&self, text: &str) -> bool {
        let Some(file) = &self.settings().audit.checkpoint_file else { return true };
        let health = &self.inner.trail.health;
        match append(file, text) {
            Ok(()) => {
                if health.end(TrailPart::CheckpointFile) {
                    tracing::info!(file = %file.display(), "checkpoints of the audit trail are written again");
                }
                true
            }
            Err(error) => {
                let cause = format!("{}: {error}", file.display());
                if health.begin(TrailPart::CheckpointFile, self.now(), cause) {
                    tracing::error!(file = %file.display(), %error, "cannot write the checkpoint of the audit trail");
                }
                false
            }
        }
    }
}

/// Appends to a file, so that it can be one that nobody may change otherwise (`chattr +a`).
fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // A full disk or a crash may have left half a line.
    let is_torn = File::open(path).is_ok_and(|mut read| {
        let mut last = [0];
        read.seek(SeekFrom::End(-1)).is_ok() && read.read_exact(&mut last).is_ok() && last != *b"\n"
    });
    let text = if is_torn { format!("\n{text}") } else { text.to_owned() };
    file.write_all(text.as_bytes())?;
    file.sync_data()
}
