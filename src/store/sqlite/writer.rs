//! The writer thread: commits in groups, checkpoints the write-ahead log and recovers from errors.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use rusqlite::{Connection, MAIN_DB, TransactionBehavior, wal::CheckpointMode};
use tokio::sync::oneshot;

use super::{
    connections::{Database, Opened},
    ended_tokens,
    error_class::{ErrorClass, describe, panic_error},
    health::{Health, Problem},
    transaction::Transaction,
};
use crate::{
    data_folder::Reserve,
    store::{
        Changes, Error,
        write::{AnyResult, Verdict, WriteScope},
    },
    token::endings::Endings,
};

/// The maximum number of writes in one commit. They share one flush to disk.
const MAX_GROUP: usize = 64;
/// Pages in the write-ahead log that start a checkpoint: 4 MiB, SQLite's default.
const CHECKPOINT_PAGES: usize = 1000;
/// Pages in the write-ahead log beyond which writes are refused while checkpoints fail: 64 MiB. Revocations may use as
/// much again.
const MAX_WAL_PAGES: usize = 16 << 10;
/// The pause before a failed operation is retried in the background.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Statements, independent of the type of their result. The verdict decides about the savepoint in which they run.
pub(super) type Work = Box<dyn Fn(&Connection) -> rusqlite::Result<Verdict<AnyResult>> + Send>;

type Outcome = Result<AnyResult, Error>;

/// A write that waits for its turn.
pub(super) struct WaitingWrite {
    pub(super) work: Work,
    pub(super) scope: WriteScope,
    /// Whether it revokes access: then it may use the reserve, and can run again.
    pub(super) may_use_reserve: bool,
    pub(super) reply: oneshot::Sender<Outcome>,
}

impl WaitingWrite {
    fn answer(self, outcome: Outcome) {
        let _ = self.reply.send(outcome);
    }
}

type Group = Vec<WaitingWrite>;

/// The writer's connection.
enum WriteConnection {
    Open(Connection),
    /// Closed after an error, or never opened.
    Closed,
    /// All connections must be closed and the write-ahead log checkpointed before the next write: after a failed flush
    /// pages may be missing from the log.
    Unflushed,
}

pub(super) struct Writer {
    connection: WriteConnection,
    database: Arc<Database>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    health: Arc<Health>,
    reserve: Option<Arc<Reserve>>,
    /// The number of the last ended token that was published.
    last_ending: i64,
    /// When the last checkpoint failed.
    checkpoint_failed_at: Option<Instant>,
    /// Whether a warning was logged about another program that reads the database.
    warned_of_reader: bool,
}

impl Writer {
    pub(super) fn new(
        database: Arc<Database>,
        opened: Opened,
        changes: Arc<Changes>,
        endings: Arc<Endings>,
        health: Arc<Health>,
        reserve: Option<Arc<Reserve>>,
    ) -> Self {
        let Opened { db, ended, last_ending } = opened;
        endings.add(ended);
        Self {
            connection: WriteConnection::Open(db),
            database,
            changes,
            endings,
            health,
            reserve,
            last_ending,
            checkpoint_failed_at: None,
            warned_of_reader: false,
        }
    }

    /// Writes until all senders are dropped. While there is a problem, checks once a second whether it is over, so that
    /// recovery does not depend on requests.
    pub(super) fn run(&mut self, waiting: &Receiver<WaitingWrite>) {
        loop {
            let first = if self.health.is_good() {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                waiting.recv_timeout(RETRY_AFTER)
            };
            let continues = catch_unwind(AssertUnwindSafe(|| match first {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(waiting.try_iter().take(MAX_GROUP - 1));
                    self.write(group);
                    true
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.probe();
                    true
                }
                Err(RecvTimeoutError::Disconnected) => false,
            }));
            match continues {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    tracing::error!("the writer thread panicked: reopening the database");
                    self.connection = WriteConnection::Unflushed;
                }
            }
        }
    }

    fn write(&mut self, group: Group) {
        let mut group = self.refuse_when_full(group);
        if group.is_empty() {
            return;
        }
        match self.commit(&mut group) {
            Ok(outcomes) => self.acknowledge(group, outcomes),
            Err(error) => {
                let is_full = self.fail(&error);
                let (mut revocations, others): (Group, Group) =
                    group.into_iter().partition(|write| is_full && write.may_use_reserve);
                self.answer_failure(others, &error);
                if !revocations.is_empty() {
                    match self.commit_from_reserve(&mut revocations) {
                        Some(Ok(outcomes)) => self.acknowledge(revocations, outcomes),
                        Some(Err(error)) => {
                            self.fail(&error);
                            self.answer_failure(revocations, &error);
                        }
                        None => self.answer_failure(revocations, &error),
                    }
                }
            }
        }
        self.checkpoint_if_due();
    }

    /// Refuses the writes that may not use the reserve while it is spent, and those that would grow the write-ahead log
    /// beyond its limit. Returns the others.
    fn refuse_when_full(&mut self, group: Group) -> Group {
        let is_spent = self.reserve.as_ref().is_some_and(|reserve| !reserve.restore());
        let pages = self.database.wal_pages();
        let is_long = |limit| self.health.has(Problem::CheckpointsFail) && pages >= limit;
        let (refuse_all, refuse_others) = (is_long(2 * MAX_WAL_PAGES), is_long(MAX_WAL_PAGES));
        if !is_spent && !refuse_others {
            return group;
        }
        let (kept, refused): (Group, Group) =
            group.into_iter().partition(|write| write.may_use_reserve && !refuse_all);
        let cause = if is_spent {
            "the disk is full"
        } else {
            "the write-ahead log has reached its limit because checkpoints fail"
        };
        for write in refused {
            write.answer(Err(Error::Unavailable(cause.into())));
        }
        if kept.is_empty() {
            self.checkpoint_if_due();
        }
        kept
    }

    fn commit(&mut self, group: &mut Group) -> rusqlite::Result<Vec<Outcome>> {
        let (outcomes, panicked) = commit(self.connection()?, group)?;
        if panicked {
            tracing::error!("a write panicked: it is rolled back, and the database is reopened");
            self.connection = WriteConnection::Closed;
        }
        Ok(outcomes)
    }

    /// Commits revocations on a full disk. Returns `None` if the reserve is empty.
    fn commit_from_reserve(&mut self, group: &mut Group) -> Option<rusqlite::Result<Vec<Outcome>>> {
        self.reserve.as_ref().filter(|reserve| reserve.spend())?;
        tracing::warn!("the disk is full: using the space of the reserve file to end sessions");
        Some(self.commit(group))
    }

    fn acknowledge(&mut self, group: Group, outcomes: Vec<Outcome>) {
        self.note_success();
        if group.iter().any(|write| write.scope.may_end_sessions())
            && let Err(error) = self.publish_endings()
        {
            tracing::error!(%error, "cannot read the ended tokens: retrying with the next write");
        }
        for (write, outcome) in group.into_iter().zip(outcomes) {
            write.scope.count_in(&self.changes);
            write.answer(outcome);
        }
    }

    /// Records a failure and closes connections that are no longer usable. Returns true if the disk is full.
    fn fail(&mut self, error: &rusqlite::Error) -> bool {
        let class = ErrorClass::of(error);
        let is_full = class == ErrorClass::DiskFull
            || self.reserve.as_ref().is_some_and(|reserve| reserve.is_disk_full());
        let (problem, message) = if is_full {
            (Problem::DiskFull, "the disk is full: reads continue, and sessions can be ended")
        } else if self.reserve.as_ref().is_some_and(|reserve| reserve.is_disk_read_only()) {
            (Problem::CannotWrite, "the disk of the database is read-only: reads continue")
        } else {
            (Problem::CannotWrite, "cannot write to the database: reads continue")
        };
        if self.health.set(problem) {
            tracing::error!(cause = describe(error), "{message}");
        }
        if class.closes_all_connections() {
            self.connection =
                match std::mem::replace(&mut self.connection, WriteConnection::Unflushed) {
                    WriteConnection::Open(db) => self
                        .database
                        .reopen(Some(db))
                        .map_or(WriteConnection::Unflushed, WriteConnection::Open),
                    WriteConnection::Closed | WriteConnection::Unflushed => {
                        WriteConnection::Unflushed
                    }
                };
        } else if class.closes_connection() && matches!(self.connection, WriteConnection::Open(_)) {
            self.connection = WriteConnection::Closed;
        }
        is_full
    }

    fn answer_failure(&self, group: Group, error: &rusqlite::Error) {
        let (class, cause) = (ErrorClass::of(error), describe(error));
        for write in group {
            // A commit that could not be flushed may still become durable.
            write.scope.count_in(&self.changes);
            write.answer(Err(class.to_error(cause.clone())));
        }
    }

    /// Adds the tokens that have ended since the last call to the log in memory.
    fn publish_endings(&mut self) -> rusqlite::Result<()> {
        let mut last = self.last_ending;
        let ended = ended_tokens::read_after(self.connection()?, &mut last)?;
        self.endings.add(ended);
        self.last_ending = last;
        Ok(())
    }

    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        self.connection = match std::mem::replace(&mut self.connection, WriteConnection::Closed) {
            WriteConnection::Closed => WriteConnection::Open(self.database.open_to_write()?),
            WriteConnection::Unflushed => {
                self.connection = WriteConnection::Unflushed;
                WriteConnection::Open(self.database.reopen(None)?)
            }
            open => open,
        };
        match &mut self.connection {
            WriteConnection::Open(db) => Ok(db),
            WriteConnection::Closed | WriteConnection::Unflushed => {
                unreachable!("it was opened above")
            }
        }
    }

    /// Clears problems after a successful write. The write may have used existing space in the write-ahead log, so the disk is
    /// checked separately.
    fn note_success(&self) {
        if self.health.is_good() {
            return;
        }
        let has_space = !self.is_disk_full() && self.health.clear(Problem::DiskFull);
        if self.health.clear(Problem::CannotWrite) || has_space {
            tracing::info!("writes to the database succeed again");
        }
    }

    fn is_disk_full(&self) -> bool {
        self.reserve.as_ref().is_some_and(|reserve| reserve.is_spent() || reserve.is_disk_full())
    }

    /// Checks whether a problem is over.
    fn probe(&mut self) {
        if let Some(reserve) = &self.reserve {
            reserve.restore();
        }
        let fails = self.health.has(Problem::DiskFull) || self.health.has(Problem::CannotWrite);
        if fails && !self.is_disk_full() {
            match self.connection().and_then(write_probe) {
                Ok(()) => self.note_success(),
                Err(error) => drop(self.fail(&error)),
            }
        }
        self.checkpoint_if_due();
    }

    /// Checkpoints the write-ahead log when it is long enough, or when the last checkpoint failed.
    fn checkpoint_if_due(&mut self) {
        let is_due = match self.checkpoint_failed_at {
            Some(at) => at.elapsed() >= RETRY_AFTER,
            None => self.database.wal_pages() >= CHECKPOINT_PAGES,
        };
        if !is_due {
            return;
        }
        let outcome = self
            .connection()
            .and_then(|db| db.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE));
        match outcome {
            Ok((pages, moved)) => {
                self.checkpoint_failed_at = None;
                if self.health.clear(Problem::CheckpointsFail) {
                    tracing::info!("checkpoints of the database succeed again");
                }
                self.warn_of_reader(pages.max(0) as usize, pages > moved);
            }
            Err(error) if ErrorClass::of(&error) == ErrorClass::Busy => {}
            Err(error) => {
                self.checkpoint_failed_at = Some(Instant::now());
                if self.health.set(Problem::CheckpointsFail) {
                    tracing::error!(
                        cause = describe(&error),
                        "checkpoints of the database fail: the write-ahead log grows, and writes stop at 64 MiB"
                    );
                }
                if ErrorClass::of(&error) == ErrorClass::Connection
                    && matches!(self.connection, WriteConnection::Open(_))
                {
                    self.connection = WriteConnection::Closed;
                }
            }
        }
    }

    /// Warns that a long read, of a backup or by another program, keeps the write-ahead log from being reset. Writes continue.
    fn warn_of_reader(&mut self, pages: usize, is_held: bool) {
        let is_long = is_held && pages >= MAX_WAL_PAGES;
        if is_long && !self.warned_of_reader {
            tracing::warn!(
                "a backup or another program reads the database, so its write-ahead log grows"
            );
        }
        self.warned_of_reader = is_long;
    }
}

/// Runs each write in a savepoint and commits them together. An error fails all of them. Also returns whether one of
/// them panicked.
fn commit(db: &mut Connection, group: &mut Group) -> rusqlite::Result<(Vec<Outcome>, bool)> {
    let mut transaction = Transaction::begin(db)?;
    let mut outcomes = Vec::with_capacity(group.len());
    let mut panicked = false;
    for write in group {
        let savepoint = transaction.savepoint()?;
        // Dropping the savepoint rolls the write back.
        let outcome = match catch_unwind(AssertUnwindSafe(|| (write.work)(savepoint.db))) {
            Ok(Ok(Verdict::Commit(result) | Verdict::CommitAfter(_, result))) => {
                savepoint.release().map(|()| Ok(result))
            }
            Ok(Ok(Verdict::RollBack(result))) => Ok(Ok(result)),
            Ok(Ok(Verdict::Fail(error))) => Ok(Err(error)),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                panicked = true;
                Ok(Err(panic_error()))
            }
        };
        match outcome {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) if ErrorClass::of(&error).fails_transaction() => return Err(error),
            Err(error) => outcomes.push(Err(error.into())),
        }
    }
    transaction.commit()?;
    Ok((outcomes, panicked))
}

/// Writes the schema version again: a commit that changes nothing.
fn write_probe(db: &mut Connection) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}
