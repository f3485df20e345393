//! Upkeep of the audit trail: what was refused is written, events get their places in the tree, and old ones are deleted.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::OwnedMutexGuard;

use super::{Doorward, checkpoints::Published, trail_health::TrailHealth};
use crate::{
    audit::{AuditKey, SignedCheckpoint},
    clock::Timestamp,
    config::{self, Settings},
    event::{Event, EventGroup, EventKind},
    store::{self, Effects, StoredTree},
};

/// What this process knows of the trail.
#[derive(Default)]
pub(super) struct Trail {
    /// Whether the start is recorded.
    has_started: AtomicBool,
    /// Whether it was a start with new keys in place of lost ones.
    new_signing_key: bool,
    /// The latest checkpoint that this process has published.
    pub(super) published: Mutex<Option<Published>>,
    /// What is wrong with what protects it.
    pub(super) health: TrailHealth,
    /// How many events the checkpoint has that the witness has cosigned last, as far as this process knows.
    pub(super) witnessed: AtomicU64,
    /// One verification at a time over the network: each has a thread and reads from a snapshot of its own.
    verifying: Arc<tokio::sync::Mutex<()>>,
}

impl Trail {
    pub(super) fn new(new_signing_key: bool) -> Self {
        Self { new_signing_key, ..Self::default() }
    }
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
        // The first checkpoint follows the record of the start, so that trouble with it is known at once.
        let (mut failing, mut published_at) = (false, None::<Instant>);
        loop {
            let outcome = async {
                self.record_start().await?;
                self.record_refused().await?;
                if published_at.is_none_or(|at| at.elapsed() >= BETWEEN_CHECKPOINTS) {
                    published_at = Some(Instant::now());
                    self.check_audit_secret().await;
                    self.record_left_out().await?;
                    self.publish_checkpoint(WITNESS_TIME).await?;
                }
                self.erase_deleted().await?;
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
            logins: self
                .logins()
                .iter()
                .map(|login| (login.name.clone(), login.version.clone()))
                .collect(),
            new_signing_key: self.inner.trail.new_signing_key,
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

    /// Deletes events that had reached the end of their retention at this time. Their hashes stay, and an event says so.
    pub(super) async fn prune_trail(&self, past: Timestamp) -> Result<(), store::Error> {
        const BATCH: usize = 1000;
        /// An event says what was deleted, so it is done once a day.
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let mut expiries = Vec::new();
        for group in EventGroup::ALL {
            let Some(retention) = self.settings().audit.retention_of(group) else { continue };
            for kind in group.kinds() {
                let due = past - (retention + DAY);
                if !self.store().expired_events(kind, due, 1).await?.is_empty() {
                    expiries.push((group, past - retention));
                    break;
                }
            }
        }
        let kind = EventKind::TrailPruned { before: expiries.clone() };
        let mut effects = Effects::from(Event::by_service(self.now(), kind));
        for (group, before) in expiries {
            let mut deleted = 0;
            for kind in group.kinds() {
                loop {
                    let events = self.store().expired_events(kind, before, BATCH).await?;
                    let count = events.len();
                    if events.is_empty() || !self.store().delete_events(events, &effects).await? {
                        break;
                    }
                    deleted += count;
                    // The first batch has it.
                    effects = Effects::NONE;
                    if count < BATCH {
                        break;
                    }
                }
            }
            tracing::info!(
                group = group.name(),
                events = deleted,
                until = %before,
                "deleted events of the audit trail that have reached the end of their retention"
            );
        }
        Ok(())
    }

    /// Erases from events what they say of users who were deleted.
    pub(crate) async fn erase_deleted(&self) -> Result<(), store::Error> {
        const BATCH: usize = 100;
        loop {
            let now = self.now();
            let due = self.store().due_erasures(now, BATCH).await?;
            for erasure in &due {
                self.store().erase(*erasure, now).await?;
            }
            if due.len() < BATCH {
                return Ok(());
            }
        }
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
