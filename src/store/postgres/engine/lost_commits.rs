//! Finds the outcome of a commit whose response was lost.

use std::time::Duration;

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use super::{PostgresEngine, jitter};
use crate::{
    id::Id,
    store::{Error, postgres::statements as sql, write::WriteScope},
};

/// The outcome of a commit.
pub(super) enum CommitOutcome {
    Committed,
    NotCommitted,
    Unknown,
}

/// Bounds the connections on which commits are checked.
pub(super) struct CommitChecks(Semaphore);

impl CommitChecks {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(2))
    }
}

impl PostgresEngine {
    /// Whether a change of all rows was committed. If it was not, it cannot be committed later.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(in crate::store::postgres) async fn has_committed(
        &self,
        change_id: Uuid,
    ) -> Result<bool, Error> {
        match self.commit_outcome(change_id, WriteScope::Everybody).await {
            CommitOutcome::Committed => Ok(true),
            CommitOutcome::NotCommitted => Ok(false),
            CommitOutcome::Unknown => {
                Err(Error::Unavailable("the outcome of the commit is unknown".into()))
            }
        }
    }

    /// Finds out whether a change was committed. If it was not, it cannot be committed later.
    pub(super) async fn commit_outcome(&self, change_id: Uuid, scope: WriteScope) -> CommitOutcome {
        const GIVE_UP_AFTER: Duration = Duration::from_secs(600);
        /// The statement may wait for a commit that waits for a standby.
        const CHECK_TIMEOUT: Duration = Duration::from_secs(60);
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        while started.elapsed() < GIVE_UP_AFTER {
            {
                let _permit = self.commit_checks.0.acquire().await;
                let outcome = timeout(CHECK_TIMEOUT, self.check_commit(change_id, scope)).await;
                if let Ok(Ok(outcome)) = outcome {
                    self.mark(scope);
                    return outcome;
                }
            }
            sleep(jitter(pause)).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        CommitOutcome::Unknown
    }

    /// Inserts the id of the change again. This waits for a commit in progress. If the commit has not happened, the inserted
    /// row prevents it.
    async fn check_commit(
        &self,
        change_id: Uuid,
        scope: WriteScope,
    ) -> Result<CommitOutcome, Error> {
        let db = self.connector().connect().await?;
        db.clear_warnings();
        let values = [change_id.into(), user_in(scope).into()];
        let rows = db.query(sql::CHECK_COMMIT, &values).await?;
        if db.was_warned() {
            return Err(Error::Unavailable("not replicated to a standby".into()));
        }
        let row =
            rows.first().ok_or_else(|| Error::Failed("the commit check returned no row".into()))?;
        let is_void: bool = row.get(0)?;
        Ok(if is_void { CommitOutcome::NotCommitted } else { CommitOutcome::Committed })
    }
}

/// The user of a change, as stored in the table `changes`.
pub(super) fn user_in(scope: WriteScope) -> Option<Uuid> {
    match scope {
        WriteScope::NewUser(id) | WriteScope::User(id) | WriteScope::OneTime(id, _) => {
            Some(id.uuid())
        }
        WriteScope::Everybody | WriteScope::SigningKeys | WriteScope::Uncached => None,
    }
}
