//! Upkeep: the background tasks of a running service.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::Doorward;
use crate::{
    clock::Timestamp,
    config::DatabaseUrl,
    store::{self, Effects},
    supervisor::supervise,
    throttle::{AccountChange, AccountKey, Counted},
    token::{shared_secret::SecretName, signing_keys},
    user::{EmailKey, User},
};

/// How much later than due something is deleted because of its age: a jump of the clock by less may go unnoticed.
pub(super) const DELETION_DELAY: Duration = Duration::from_secs(2 * 24 * 60 * 60);

impl Doorward {
    /// Runs the background tasks for as long as the future is polled: removes what has expired, rotates keys, saves
    /// failed logins, sends mail, keeps the audit trail, adds missing search terms and refills the disk reserve. A task that panics starts again. Spawn it once per process.
    pub async fn run_upkeep(&self) {
        tokio::join!(
            supervise("removal of what has expired", || self.clean_up_regularly()),
            supervise("signing keys", || self.maintain_keys()),
            supervise("failed logins", || self.share_failures()),
            supervise("imported hashes", || self.maintain_foreign_hashes()),
            supervise("mail", || self.deliver_mail()),
            supervise("audit trail", || self.keep_trail()),
            supervise("search terms", || self.check_search_terms())
        );
    }

    /// Saves failed logins and counts those of other instances.
    async fn share_failures(&self) {
        const INTERVAL: Duration = Duration::from_secs(1);
        /// Short enough for [`store::Store::recent_failures`] to cover the whole gap.
        const MAX_GAP: Duration = Duration::from_secs(5);
        let (mut failing, mut last_success) = (false, Instant::now());
        loop {
            tokio::time::sleep(INTERVAL).await;
            let outcome = match self.save_failures().await {
                Ok(()) if last_success.elapsed() > MAX_GAP => self.load_failures().await,
                Ok(()) => self.load_recent_failures().await,
                Err(error) => Err(error),
            };
            match &outcome {
                Ok(()) => last_success = Instant::now(),
                Err(error) if !failing => {
                    tracing::warn!(%error, "cannot save failed logins; they are counted in memory");
                }
                Err(_) => {}
            }
            failing = outcome.is_err();
        }
    }

    /// Saves failed logins, so that they count after a restart and on other instances. [`Self::run_upkeep`] calls this
    /// once a second: call it yourself only before the process ends.
    ///
    /// # Errors
    /// If the database cannot be written. Failed logins that were not saved are kept for the next call.
    pub async fn save_failures(&self) -> Result<(), store::Error> {
        const BATCH: usize = 500;
        let recovery = self.settings().throttle.account_recovery;
        let mut unsaved = self.throttle().take_unsaved();
        while let Some(changes) = unsaved.next(BATCH) {
            self.store().save_failures(changes, recovery, self.now()).await?;
            let count = changes.len();
            unsaved.saved(count);
        }
        Ok(())
    }

    /// Counts the failed logins that other instances have saved in the last seconds.
    async fn load_recent_failures(&self) -> Result<(), store::Error> {
        let stored = self.store().recent_failures().await?;
        self.throttle().merge(&stored, self.instant(), self.now());
        Ok(())
    }

    pub(super) async fn load_failures(&self) -> Result<(), store::Error> {
        let stored = self.store().all_failures().await?;
        self.throttle().merge(&stored, self.instant(), self.now());
        Ok(())
    }

    /// Clears the failed logins of an account in memory and in the database: a command runs no upkeep that would save
    /// the change.
    pub(crate) async fn clear_failures(&self, email: &EmailKey) -> Result<(), store::Error> {
        self.throttle().clear_account(email, self.instant());
        let account = self.store().account_secret().await?.key_of(Counted::Passwords(email));
        let cleared = AccountChange { account, cleared: true, failures: 0 };
        let recovery = self.settings().throttle.account_recovery;
        self.store().save_failures(&[cleared], recovery, self.now()).await
    }

    /// Forgets the failed logins on an account and the wrong codes of its user, in memory, in the database and, within two seconds,
    /// on other instances. Returns false if there is no such user.
    pub(crate) async fn unlock(
        &self,
        user: &User,
        codes: &[AccountKey],
        effects: &Effects,
    ) -> Result<bool, store::Error> {
        let email = &user.email.key();
        let logins = self.store().account_secret().await?.key_of(Counted::Passwords(email));
        let now = self.now();
        let unlocked = self.store().unlock_account(user.id, logins, codes, now, effects).await?;
        if unlocked {
            self.throttle().unlock(email, self.instant());
        }
        Ok(unlocked)
    }

    async fn maintain_keys(&self) {
        const INTERVAL: Duration = Duration::from_secs(10);
        /// Short, because a revoked key stays in use until the keys have been read.
        const RETRY_AFTER: Duration = Duration::from_millis(250);
        let mut failing = false;
        loop {
            let outcome = self.reload_and_update_keys().await;
            if let Err(error) = &outcome
                && !failing
            {
                tracing::warn!(%error, "cannot read or rotate the signing keys");
            }
            failing = outcome.is_err();
            self.inner.keys_failing.store(failing, Ordering::Relaxed);
            let pause = if failing { RETRY_AFTER } else { INTERVAL };
            let _ = tokio::time::timeout(pause, self.keys().changed()).await;
        }
    }

    async fn reload_and_update_keys(&self) -> Result<(), signing_keys::Error> {
        self.keys().reload(self.now()).await?;
        // Another instance may have replaced it.
        if let Some(secret) = self.keys().stored_secret(SecretName::Cookies).await? {
            self.use_cookie_secret(secret);
        }
        self.tend_keys().await
    }

    /// Makes the next key the signing one when it is due, and removes retired keys whose last token can no longer be
    /// refreshed, unless the clock may have jumped.
    ///
    /// # Errors
    /// If the key store cannot be written.
    pub(crate) async fn tend_keys(&self) -> Result<(), signing_keys::Error> {
        let now = self.now();
        self.keys().apply_due_changes(now).await?;
        if self.keys().has_expired_ones(now).await {
            // If the events cannot be read, the next call tries again.
            if let Ok(Some(past)) = self.certainly_past().await {
                self.keys().remove_expired(past).await?;
            }
        }
        Ok(())
    }

    async fn clean_up_regularly(&self) {
        const INTERVAL: Duration = Duration::from_secs(300);
        loop {
            if let Err(error) = self.clean_up().await {
                tracing::warn!(%error, "cannot remove expired sessions");
            }
            self.refill_reserve();
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// A time that has certainly passed, unless the clock has been wrong for a day. A clock that has jumped ahead would delete what has
    /// not expired, and nothing brings that back. If an event is between one and two days old, the clock has run for a day since, or
    /// has jumped by less than [`DELETION_DELAY`]. Without one, it may have jumped by more, and nothing is certain.
    async fn certainly_past(&self) -> Result<Option<Timestamp>, store::Error> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let now = self.now();
        // The clock of `doorward dev` jumps on purpose.
        if matches!(self.settings().database, DatabaseUrl::Memory(_)) {
            return Ok(Some(now));
        }
        let past = now - DELETION_DELAY;
        let last = self.store().last_event_before(now - DAY).await?;
        let has_run = last.is_some_and(|last| last >= past);
        let was_in_doubt = self.inner.clock_in_doubt.swap(!has_run, Ordering::Relaxed);
        if let (Some(last), false, false) = (last, has_run, was_in_doubt) {
            // Not a warning: an installation that nobody has used for two days looks the same.
            tracing::info!(
                %now,
                last_event = %last,
                "nothing is deleted because of its age until the clock has run for a day: there is no event of the day before \
                 yesterday to yesterday. If the clock is wrong, correct it (systemd-timesyncd, chrony)"
            );
        } else if has_run && was_in_doubt {
            tracing::info!("the clock has run for a day: what has expired is deleted");
        }
        Ok(has_run.then_some(past))
    }

    /// Writes when sessions and API keys were last used, and removes failed logins that no longer count and, unless the clock may
    /// have jumped, expired sessions and the like, revocations of expired tokens, old events and old copies of the database.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub(crate) async fn clean_up(&self) -> Result<(), store::Error> {
        const BATCH: usize = 1000;
        /// A verifier's clock may be this far behind.
        const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);
        for seen in self.inner.callers.last_seen().take().chunks(BATCH) {
            self.store().set_last_seen(seen).await?;
        }
        for used in self.api_keys().take_last_used().chunks(BATCH) {
            self.store().set_keys_last_used(used).await?;
        }
        let recovered = self.throttle().obsolete_before(self.instant(), self.now());
        while self.store().delete_failures(recovered, BATCH).await? == BATCH {}
        while self.store().delete_internal_records(BATCH).await? == BATCH {}
        let Some(past) = self.certainly_past().await? else { return Ok(()) };
        while self.store().delete_expired(past, BATCH).await? == BATCH {}
        // Without a delay, because verifiers hold all of them: the sessions of the tokens have ended in any case.
        let expired = self.now() - (self.settings().token.lifetime + CLOCK_SKEW);
        while self.store().delete_endings(expired, BATCH).await? == BATCH {}
        if let (DatabaseUrl::Sqlite(file), Some(folder)) =
            (&self.settings().database, self.folder())
        {
            folder.remove_old_copies(file, past);
        }
        self.prune_trail(past).await
    }

    /// Records of a new installation that nobody lacks search terms, so that nothing is written in the background.
    pub(super) async fn begin_search_terms(&self) -> Result<(), store::Error> {
        match self.store().has_users().await? {
            true => Ok(()),
            false => self.complete_search_terms().await,
        }
    }

    /// Lets a command search all users, if no server has run since the database has terms.
    pub(crate) async fn complete_search_terms(&self) -> Result<(), store::Error> {
        const BATCH: usize = 1000;
        if !self.store().has_all_terms().await? {
            while self.store().check_terms(self.now(), BATCH).await? {}
        }
        Ok(())
    }

    /// Adds the terms by which users are searched, where they are missing.
    async fn check_search_terms(&self) {
        /// Few, so that no other write waits long.
        const BATCH: usize = 300;
        const RETRY_AFTER: Duration = Duration::from_secs(60);
        loop {
            let began = Instant::now();
            let pause = match self.store().check_terms(self.now(), BATCH).await {
                // Others write as well.
                Ok(true) => began.elapsed() / 4,
                // A new version on another instance, or a restore, may begin a check.
                Ok(false) => RETRY_AFTER,
                Err(error) => {
                    tracing::warn!(%error, "cannot check the search terms");
                    RETRY_AFTER
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Refills the reserve on the disk of the embedded database.
    pub(super) fn refill_reserve(&self) {
        if let (DatabaseUrl::Sqlite(_), Some(folder)) = (&self.settings().database, self.folder()) {
            folder.reserve().allocate();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, supervisor::planted};

    #[tokio::test]
    async fn a_task_that_panics_ends_neither_itself_nor_the_others() {
        let parts = [
            "removal of what has expired",
            "signing keys",
            "failed logins",
            "imported hashes",
            "mail",
            "audit trail",
            "search terms",
        ];
        for part in parts {
            let folder = tempfile::tempdir().unwrap();
            let settings = Settings {
                database: DatabaseUrl::Sqlite(folder.path().join("doorward.db")),
                ..Settings::default()
            };
            let doorward = Doorward::open(settings).await.unwrap();
            // Upkeep lowers it when it reads the keys.
            doorward.inner.keys_failing.store(true, Ordering::Relaxed);
            planted::panic_in(part);
            let upkeep = tokio::spawn(async move {
                let upkeep = doorward.clone();
                let reads_keys = async {
                    while doorward.inner.keys_failing.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                tokio::select! {
                    () = upkeep.run_upkeep() => false,
                    () = reads_keys => true,
                }
            });
            let is_running = tokio::time::timeout(Duration::from_secs(60), upkeep).await.unwrap();
            assert!(matches!(is_running, Ok(true)), "{part}: {is_running:?}");
            assert!(!planted::is_pending(), "{part}");
        }
    }
}
