//! The thread that writes: commits in groups, moves the journal into the file, and recovers from what goes wrong.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use rusqlite::{Connection, MAIN_DB, TransactionBehavior, wal::CheckpointMode};

use super::{
    Changes, Endings, Error,
    connections::{Database, Opened},
    endings,
    health::{Ailment, Health},
    trouble::{Trouble, describe},
};
use crate::{data_folder::Reserve, user::UserId};

/// Writes committed together at most: one flush to disk for all of them.
const GROUP: usize = 64;
/// Pages of the journal that are worth moving into the file: 4 MiB, as SQLite has it.
const CHECKPOINT_AT: usize = 1000;
/// Pages of the journal beyond which nothing is added while they cannot be moved: 64 MiB. Endings may add as much again.
const JOURNAL_LIMIT: usize = 16 << 10;
/// How long after a failure something is tried again that no caller waits for.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something to write, whatever the type of its outcome.
pub(super) trait Write: Send {
    fn run(&mut self, db: &Connection) -> rusqlite::Result<()>;
    fn touched(&self) -> Option<UserId>;
    /// Whether it takes access away: then it may use the reserve, and can be run again.
    fn is_ending(&self) -> bool;
    fn answer(self: Box<Self>, outcome: Result<(), Error>);
}

type Group = Vec<Box<dyn Write>>;

/// The connection of the writer.
enum Link {
    Open(Connection),
    /// It was of no use, or could not be opened.
    Closed,
    /// All connections have to be closed, and the journal emptied, before anything is written: after a failed flush
    /// because pages may be missing from it.
    Unflushed,
}

pub(super) struct Writer {
    link: Link,
    database: Arc<Database>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    health: Arc<Health>,
    reserve: Option<Arc<Reserve>>,
    /// The number of the last ending that has been told.
    last_ending: i64,
    /// When the last checkpoint failed.
    checkpoint_failed_at: Option<Instant>,
    /// Whether it was told that others keep the journal from starting anew.
    told_of_readers: bool,
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
            link: Link::Open(db),
            database,
            changes,
            endings,
            health,
            reserve,
            last_ending,
            checkpoint_failed_at: None,
            told_of_readers: false,
        }
    }

    /// Writes whatever comes until nobody can send any more. While something is wrong it tries by itself, so that
    /// recovery shows without a caller.
    pub(super) fn work(&mut self, waiting: &Receiver<Box<dyn Write>>) {
        loop {
            let first = if self.health.is_good() {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                waiting.recv_timeout(RETRY_AFTER)
            };
            let survived = catch_unwind(AssertUnwindSafe(|| match first {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(waiting.try_iter().take(GROUP - 1));
                    self.write(group);
                    true
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.probe();
                    true
                }
                Err(RecvTimeoutError::Disconnected) => false,
            }));
            match survived {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    tracing::error!("the thread that writes panicked: opening the database anew");
                    self.link = Link::Unflushed;
                }
            }
        }
    }

    fn write(&mut self, group: Group) {
        let mut group = self.refuse_what_must_wait(group);
        if group.is_empty() {
            return;
        }
        match self.commit(&mut group) {
            Ok(outcomes) => self.acknowledge(group, outcomes),
            Err(error) => {
                let full = self.fail(&error);
                let (mut endings, others): (Group, Group) =
                    group.into_iter().partition(|write| full && write.is_ending());
                self.answer_failure(others, &error);
                if !endings.is_empty() {
                    match self.commit_from_reserve(&mut endings) {
                        Some(Ok(outcomes)) => self.acknowledge(endings, outcomes),
                        Some(Err(error)) => {
                            self.fail(&error);
                            self.answer_failure(endings, &error);
                        }
                        None => self.answer_failure(endings, &error),
                    }
                }
            }
        }
        self.checkpoint_if_due();
    }

    /// Answers the writes that may not use the reserve while it is spent, and those that the journal has no room for.
    fn refuse_what_must_wait(&mut self, group: Group) -> Group {
        let is_spent = self.reserve.as_ref().is_some_and(|reserve| !reserve.restore());
        let pages = self.database.journal_pages();
        let is_long = |limit| self.health.has(Ailment::CheckpointsFail) && pages >= limit;
        let (refuse_all, refuse_others) = (is_long(2 * JOURNAL_LIMIT), is_long(JOURNAL_LIMIT));
        if !is_spent && !refuse_others {
            return group;
        }
        let (kept, refused): (Group, Group) =
            group.into_iter().partition(|write| write.is_ending() && !refuse_all);
        let cause = if is_spent {
            "the disk is full"
        } else {
            "the journal has reached its limit and cannot be moved into the file"
        };
        for write in refused {
            write.answer(Err(Error::Unavailable(cause.into())));
        }
        if kept.is_empty() {
            self.checkpoint_if_due();
        }
        kept
    }

    fn commit(&mut self, group: &mut Group) -> rusqlite::Result<Vec<Result<(), Error>>> {
        let (outcomes, panicked) = commit(self.connection()?, group)?;
        if panicked {
            tracing::error!("a write panicked: it is undone, and the database is opened anew");
            self.link = Link::Closed;
        }
        Ok(outcomes)
    }

    /// Sessions must end on a full disk as well. None if there is nothing in reserve.
    fn commit_from_reserve(
        &mut self,
        group: &mut Group,
    ) -> Option<rusqlite::Result<Vec<Result<(), Error>>>> {
        self.reserve.as_ref().filter(|reserve| reserve.spend())?;
        tracing::warn!("the disk is full: sessions end in the space of the reserve file");
        Some(self.commit(group))
    }

    fn acknowledge(&mut self, group: Group, outcomes: Vec<Result<(), Error>>) {
        self.tell_recovery();
        if group.iter().any(|write| write.touched().is_some())
            && let Err(error) = self.tell_endings()
        {
            tracing::error!(%error, "cannot read which tokens have ended: the next write tries again");
        }
        for (write, outcome) in group.into_iter().zip(outcomes) {
            if let Some(user) = write.touched() {
                self.changes.mark(user);
            }
            write.answer(outcome);
        }
    }

    /// Tells of a failure and closes what is of no use; true if the disk is full.
    fn fail(&mut self, error: &rusqlite::Error) -> bool {
        let trouble = Trouble::of(error);
        let full = trouble == Trouble::DiskFull
            || self.reserve.as_ref().is_some_and(|reserve| reserve.is_disk_full());
        let (ailment, what) = if full {
            (Ailment::DiskFull, "the disk is full: only reading goes on, and sessions can end")
        } else {
            (Ailment::CannotWrite, "cannot write to the database; reading goes on")
        };
        if self.health.set(ailment) {
            tracing::error!(cause = describe(error), "{what}");
        }
        if trouble.needs_a_new_beginning() {
            self.link = match std::mem::replace(&mut self.link, Link::Unflushed) {
                Link::Open(db) => {
                    self.database.reopen(Some(db)).map_or(Link::Unflushed, Link::Open)
                }
                Link::Closed | Link::Unflushed => Link::Unflushed,
            };
        } else if trouble.spoils_the_connection() && matches!(self.link, Link::Open(_)) {
            self.link = Link::Closed;
        }
        full
    }

    fn answer_failure(&self, group: Group, error: &rusqlite::Error) {
        let (trouble, cause) = (Trouble::of(error), describe(error));
        for write in group {
            // What could not be flushed may be recovered all the same.
            if let Some(user) = write.touched() {
                self.changes.mark(user);
            }
            write.answer(Err(trouble.told(cause.clone())));
        }
    }

    /// Passes on which tokens have ended since the last time.
    fn tell_endings(&mut self) -> rusqlite::Result<()> {
        let mut last = self.last_ending;
        let ended = endings::read_on(self.connection()?, &mut last)?;
        self.endings.add(ended);
        self.last_ending = last;
        Ok(())
    }

    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        self.link = match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Closed => Link::Open(self.database.open_to_write()?),
            Link::Unflushed => {
                self.link = Link::Unflushed;
                Link::Open(self.database.reopen(None)?)
            }
            open => open,
        };
        match &mut self.link {
            Link::Open(db) => Ok(db),
            Link::Closed | Link::Unflushed => unreachable!("it has just been opened"),
        }
    }

    /// After a write that worked. Space in the journal does not mean that there is space on the disk.
    fn tell_recovery(&self) {
        if self.health.is_good() {
            return;
        }
        let has_space = !self.is_disk_full() && self.health.clear(Ailment::DiskFull);
        if self.health.clear(Ailment::CannotWrite) || has_space {
            tracing::info!("writing to the database again");
        }
    }

    fn is_disk_full(&self) -> bool {
        self.reserve.as_ref().is_some_and(|reserve| reserve.is_spent() || reserve.is_disk_full())
    }

    /// Tries whether what went wrong is over.
    fn probe(&mut self) {
        if let Some(reserve) = &self.reserve {
            reserve.restore();
        }
        let fails = self.health.has(Ailment::DiskFull) || self.health.has(Ailment::CannotWrite);
        if fails && !self.is_disk_full() {
            match self.connection().and_then(write_something) {
                Ok(()) => self.tell_recovery(),
                Err(error) => drop(self.fail(&error)),
            }
        }
        self.checkpoint_if_due();
    }

    /// Moves the journal into the file when it is long enough, or when that failed the last time.
    fn checkpoint_if_due(&mut self) {
        let is_due = match self.checkpoint_failed_at {
            Some(at) => at.elapsed() >= RETRY_AFTER,
            None => self.database.journal_pages() >= CHECKPOINT_AT,
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
                if self.health.clear(Ailment::CheckpointsFail) {
                    tracing::info!("the journal is moved into the database file again");
                }
                self.tell_of_readers(pages.max(0) as usize, pages > moved);
            }
            Err(error) if Trouble::of(&error) == Trouble::Busy => {}
            Err(error) => {
                self.checkpoint_failed_at = Some(Instant::now());
                if self.health.set(Ailment::CheckpointsFail) {
                    tracing::error!(
                        cause = describe(&error),
                        "cannot move the journal into the database file: it grows, and writing stops at 64 MiB"
                    );
                }
                if Trouble::of(&error) == Trouble::Connection && matches!(self.link, Link::Open(_))
                {
                    self.link = Link::Closed;
                }
            }
        }
    }

    /// A program that reads for long keeps the journal from starting anew. That is not a fault, so nothing is refused.
    fn tell_of_readers(&mut self, pages: usize, is_held: bool) {
        let is_long = is_held && pages >= JOURNAL_LIMIT;
        if is_long && !self.told_of_readers {
            tracing::warn!("another program reads the database and keeps its journal growing");
        }
        self.told_of_readers = is_long;
    }
}

/// Runs each write by itself and commits them together. An error is one that hit all of them. Tells also whether one
/// of them panicked.
fn commit(
    db: &mut Connection,
    group: &mut Group,
) -> rusqlite::Result<(Vec<Result<(), Error>>, bool)> {
    let mut transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    let mut panicked = false;
    for write in group {
        let savepoint = transaction.savepoint()?;
        // Dropping the savepoint undoes what the write began.
        let outcome = match catch_unwind(AssertUnwindSafe(|| write.run(&savepoint))) {
            Ok(outcome) => outcome.and_then(|()| savepoint.commit()),
            Err(_) => {
                panicked = true;
                outcomes.push(Err(super::engine::panicked()));
                continue;
            }
        };
        match outcome {
            Err(error) if Trouble::of(&error).ends_the_transaction() => return Err(error),
            outcome => outcomes.push(outcome.map_err(Error::from)),
        }
    }
    transaction.commit()?;
    Ok((outcomes, panicked))
}

/// Writes the number of the schema once more: a commit like any other that changes nothing.
fn write_something(db: &mut Connection) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}
