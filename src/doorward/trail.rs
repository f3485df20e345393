//! Upkeep of the audit trail: what was refused is written, events get their places in the tree, and checkpoints are published.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::OwnedMutexGuard;

use super::Doorward;
use crate::{
    audit::{AuditKey, SignedCheckpoint},
    config::{self, Settings},
    event::{Event, EventKind},
    store::{self, StoredTree},
};

/// What this process knows of the trail.
#[derive(Default)]
pub(super) struct Trail {
    /// Whether the start is recorded.
    has_started: AtomicBool,
    /// The latest checkpoint that this process has published.
    published: Mutex<Option<SignedCheckpoint>>,
    /// How many events the checkpoint has that the witness has cosigned last, as far as this process knows.
    pub(super) witnessed: AtomicU64,
    /// One verification at a time over the network: each has a thread and reads from a snapshot of its own.
    verifying: Arc<tokio::sync::Mutex<()>>,
}

impl Doorward {
    /// What a verification over the network holds until it ends. `None` while another one is under way.
    pub(crate) fn begin_verification(&self) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&self.inner.trail.verifying).try_lock_owned().ok()
    }

    /// What signs checkpoints and marks events.
    pub(crate) fn audit_key(&self) -> &AuditKey {
        self.store().audit_key()
    }

    /// Keeps the audit trail for as long as the future is polled.
    pub(super) async fn keep_trail(&self) {
        const INTERVAL: Duration = Duration::from_secs(1);
        const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(60);
        const WITNESS_TIME: Duration = Duration::from_secs(10);
        let (mut failing, mut published_at) = (false, Instant::now());
        loop {
            let outcome = async {
                self.record_start().await?;
                self.record_refused().await?;
                if published_at.elapsed() >= BETWEEN_CHECKPOINTS {
                    published_at = Instant::now();
                    self.record_left_out().await?;
                    self.publish_checkpoint(WITNESS_TIME).await?;
                }
                Ok::<_, store::Error>(())
            };
            let outcome = outcome.await;
            if let Err(error) = &outcome
                && !failing
            {
                tracing::warn!(%error, "cannot write the audit trail; what was refused waits in memory");
            }
            failing = outcome.is_err();
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Records the end of the service and publishes the last checkpoint. Call it after the future of [`Self::run_upkeep`] was dropped,
    /// before the process ends.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn close_trail(&self) -> Result<(), store::Error> {
        self.record_refused().await?;
        self.record_left_out().await?;
        if self.inner.trail.has_started.load(Ordering::Relaxed) {
            let stopped = Event::by_service(self.now(), EventKind::ServiceStopped);
            self.store().record(vec![stopped]).await?;
        }
        self.publish_checkpoint(Duration::from_secs(1)).await
    }

    /// Records with which settings the service has started, once.
    async fn record_start(&self) -> Result<(), store::Error> {
        if self.inner.trail.has_started.load(Ordering::Relaxed) {
            return Ok(());
        }
        let kind = EventKind::ServiceStarted {
            version: env!("CARGO_PKG_VERSION"),
            settings: changed_settings(self.settings()),
            guards: self
                .guards()
                .iter()
                .map(|guard| (guard.name.clone(), guard.version.clone()))
                .collect(),
        };
        self.store().record(vec![Event::by_service(self.now(), kind)]).await?;
        self.inner.trail.has_started.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes what was refused.
    pub(crate) async fn record_refused(&self) -> Result<(), store::Error> {
        const BATCH: usize = 100;
        loop {
            let batch = self.events().unrecorded().take(BATCH);
            if batch.events().is_empty() {
                return Ok(());
            }
            self.store().record(batch.events().to_vec()).await?;
            batch.recorded();
        }
    }

    async fn record_left_out(&self) -> Result<(), store::Error> {
        let unrecorded = self.events().unrecorded();
        if let Some(left_out) = unrecorded.take_left_out() {
            let event = Event::by_service(self.now(), EventKind::EventsLeftOut(left_out));
            unrecorded.put_back(vec![event]);
        }
        self.record_refused().await
    }

    /// Gives all events a place in the tree.
    pub(crate) async fn number_events(&self) -> Result<(), store::Error> {
        while self.store().number_events().await? > 0 {}
        Ok(())
    }

    /// Gives all events a place in the tree, and signs its state.
    pub(crate) async fn sign_checkpoint(&self) -> Result<SignedCheckpoint, store::Error> {
        self.number_events().await?;
        let StoredTree { size, root, checkpoint, .. } = self.store().audit_tree().await?;
        let signed = self.audit_key().sign(size, root);
        // The stored one may have the signatures of witnesses.
        Ok(checkpoint.filter(|stored| stored.checkpoint == signed.checkpoint).unwrap_or(signed))
    }

    /// Signs the state of the tree, has it cosigned, and writes it to the log and to the file, unless it has not changed. `limit` is
    /// the time for the witness.
    async fn publish_checkpoint(&self, limit: Duration) -> Result<(), store::Error> {
        let signed = self.sign_checkpoint().await?;
        let published =
            || self.inner.trail.published.lock().unwrap_or_else(PoisonError::into_inner);
        if signed.checkpoint.size == 0
            || published().as_ref().is_some_and(|last| last.checkpoint == signed.checkpoint)
        {
            return Ok(());
        }
        let signed = self.have_cosigned(signed, limit).await?;
        let stored = self.store().audit_tree().await?.checkpoint;
        // Another instance may have published a later one meanwhile.
        if stored.is_none_or(|stored| stored.checkpoint.size <= signed.checkpoint.size) {
            self.store().set_checkpoint(&signed).await?;
        }
        let text = signed.to_string();
        tracing::info!(size = signed.checkpoint.size, checkpoint = &*text, "audit checkpoint");
        if let Some(file) = &self.settings().audit.checkpoint_file
            && let Err(error) = append(file, &text)
        {
            tracing::error!(file = %file.display(), %error, "cannot write the checkpoint of the audit trail");
        }
        *published() = Some(signed);
        Ok(())
    }

    /// Deletes events that have reached the end of their retention. Their hashes stay, and an event says so.
    pub(super) async fn prune_trail(&self) -> Result<(), store::Error> {
        const BATCH: usize = 1000;
        /// An event says what was deleted, so it is done once a day.
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        while self.store().delete_pruned(BATCH).await? == BATCH {}
        let Some(retention) = self.settings().audit.retention() else { return Ok(()) };
        let (expired, due) = (self.now() - retention, self.now() - (retention + DAY));
        let mut number = self.store().audit_tree().await?.kept_from;
        let mut is_due = false;
        loop {
            let events = self.store().oldest_numbered(number, BATCH).await?;
            // A clock that was wrong may have made an event of the future, which must not keep later ones.
            let is_past = |time| time < expired || time > self.now();
            let past: Vec<_> = events.iter().take_while(|event| is_past(event.id.time())).collect();
            let old: Vec<_> = past.iter().filter(|event| event.id.time() < expired).collect();
            is_due |= old.iter().any(|event| event.id.time() < due);
            if !is_due || old.is_empty() {
                break;
            }
            number = old.last().and_then(|event| event.number).map_or(number, |last| last + 1);
            if past.len() < BATCH {
                break;
            }
        }
        if is_due {
            let event = Event::by_service(self.now(), EventKind::TrailPruned { before: number });
            self.store().prune_before(number, &event.into()).await?;
            let mut deleted = 0;
            loop {
                let count = self.store().delete_pruned(BATCH).await?;
                deleted += count;
                if count < BATCH {
                    break;
                }
            }
            tracing::info!(
                events = deleted,
                until = %expired,
                "deleted events of the audit trail that have reached the end of audit.retention"
            );
        }
        Ok(())
    }

    /// Records something that has changed outside of the database.
    pub(crate) async fn record(&self, event: Event) {
        self.events().publish_recorded(&event);
        if let Err(error) = self.store().record(vec![event.clone()]).await {
            tracing::warn!(%error, "cannot write the audit trail; the event waits in memory");
            self.events().unrecorded().put_back(vec![event]);
        }
    }
}

/// The settings that differ from the default, without secrets.
fn changed_settings(settings: &Settings) -> Vec<(&'static str, String)> {
    let default = Settings::default();
    let changed = config::keys().filter(|key| key.value(settings) != key.value(&default));
    changed.map(|key| (key.name, key.value(settings))).collect()
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
