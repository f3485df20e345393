//! Runs statements: one thread writes and commits waiting writes in groups, two threads read.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Instant, SystemTime},
};

use async_trait::async_trait;
use crossbeam_channel::{Receiver, Sender, TrySendError};
use rusqlite::Connection;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{
    connections::{Database, Opened, Place, READERS},
    error_class::{ErrorClass, panic_error},
    health::Health,
    migrations, report,
    snapshot::SqliteSnapshot,
    statement,
    writer::{WaitingWrite, Work, Writer},
};
use crate::{
    data_folder::Reserve,
    store::{
        Changes, DatabaseReport, Error, NotReady, OldSchema, StoreCounts,
        engine::{DatabaseKind, Engine, SnapshotReader},
        row::Row,
        statements::Lookup,
        value::Value,
        write::{AnyResult, Transaction, Verdict, WriteScope},
    },
    token::endings::Endings,
};

/// The maximum number of waiting reads, and of waiting writes. A full queue refuses more.
const QUEUE_CAPACITY: usize = 1024;

/// The threads and connections of one database file.
pub(in crate::store) struct SqliteEngine {
    pub(super) database: Arc<Database>,
    writes: Sender<WaitingWrite>,
    /// `None` for a database in memory, whose reads are queued as writes.
    reads: Option<Sender<WaitingRead>>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    health: Arc<Health>,
    counts: StoreCounts,
    threads: Vec<thread::JoinHandle<()>>,
}

/// A read that waits for a thread.
struct WaitingRead {
    work: Work,
    reply: oneshot::Sender<Result<AnyResult, Error>>,
}

impl SqliteEngine {
    pub(super) fn start(
        place: Place,
        reserve: Option<Arc<Reserve>>,
        old: OldSchema,
    ) -> Result<Self, Error> {
        let database = Arc::new(Database::new(place));
        let opened = database.open_first(reserve.as_deref(), old)?;
        Ok(Self::over(database, opened, reserve))
    }

    /// Starts the threads of an open database.
    pub(super) fn over(
        database: Arc<Database>,
        opened: Opened,
        reserve: Option<Arc<Reserve>>,
    ) -> Self {
        let (changes, endings) = (Arc::new(Changes::embedded()), Arc::new(Endings::new()));
        let health = Arc::<Health>::default();
        let mut writer = Writer::new(
            Arc::clone(&database),
            opened,
            Arc::clone(&changes),
            Arc::clone(&endings),
            Arc::clone(&health),
            reserve,
        );
        let (writes, waiting_writes) = crossbeam_channel::bounded(QUEUE_CAPACITY);
        let mut threads = vec![spawn("write".into(), move || writer.run(&waiting_writes))];
        let reads = database.has_readers().then(|| {
            let (reads, waiting_reads) = crossbeam_channel::bounded(QUEUE_CAPACITY);
            for number in 0..READERS {
                let (database, waiting) = (Arc::clone(&database), waiting_reads.clone());
                threads.push(spawn(format!("read-{number}"), move || {
                    run_reads(&database, number, &waiting);
                }));
            }
            reads
        });
        let counts = StoreCounts::default();
        Self { database, writes, reads, changes, endings, health, counts, threads }
    }

    /// Runs `work` on a reading connection.
    async fn run_read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let work: Work = Box::new(move |db| Ok(Verdict::Commit(Box::new(work(db)?) as AnyResult)));
        let began = Instant::now();
        let outcome = match &self.reads {
            Some(reads) => queue(reads, |reply| WaitingRead { work, reply }).await,
            None => self.queue_write(WriteScope::Uncached, false, work).await,
        };
        self.counts.add_read(began, &outcome);
        outcome.map(|result| *result.downcast().expect("`work` makes results of this type"))
    }

    /// Runs `work` in a transaction.
    #[cfg(test)]
    pub(super) async fn run_write(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let work: Work = Box::new(move |db| {
            work(db)?;
            Ok(Verdict::Commit(Box::new(())))
        });
        self.queue_write(WriteScope::Uncached, false, work).await.map(drop)
    }

    async fn queue_write(
        &self,
        scope: WriteScope,
        may_use_reserve: bool,
        work: Work,
    ) -> Result<AnyResult, Error> {
        queue(&self.writes, |reply| WaitingWrite { work, scope, may_use_reserve, reply }).await
    }
}

#[async_trait]
impl Engine for SqliteEngine {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Sqlite
    }

    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        self.run_read(move |db| statement::query(db, sql, &values)).await
    }

    /// No read has a limit.
    async fn read_without_limit(
        &self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        self.read(sql, values).await
    }

    async fn row_by_id(&self, lookup: Lookup, id: Uuid) -> Result<Option<Row>, Error> {
        Ok(self.read(lookup.one, vec![id.into()]).await?.pop())
    }

    /// A write that revokes access runs once more on a full disk.
    async fn write(&self, transaction: Transaction) -> Result<AnyResult, Error> {
        let Transaction { scope, revokes_access, prepare } = transaction;
        let work: Work = Box::new(move |db| statement::run(db, scope, &*prepare));
        let began = Instant::now();
        let outcome = self.queue_write(scope, revokes_access, work).await;
        self.counts.add_write(began, &outcome);
        outcome
    }

    async fn snapshot(&self) -> Result<Box<dyn SnapshotReader>, Error> {
        Ok(Box::new(SqliteSnapshot::begin(&self.database)?))
    }

    #[expect(clippy::disallowed_methods, reason = "`CURRENT_TIMESTAMP` has the system's clock")]
    async fn time(&self) -> Result<SystemTime, Error> {
        Ok(SystemTime::now())
    }

    async fn delete_expired(&self, _limit: usize) -> Result<usize, Error> {
        Ok(0)
    }

    fn changes(&self) -> &Changes {
        &self.changes
    }

    fn counts(&self) -> &StoreCounts {
        &self.counts
    }

    fn endings(&self) -> &Arc<Endings> {
        &self.endings
    }

    async fn has_known_schema(&self) -> Result<bool, Error> {
        Ok(self.run_read(migrations::applied).await? <= migrations::MIGRATIONS.len())
    }

    /// As the writer thread last saw it.
    async fn check_writes(&self) -> Result<(), NotReady> {
        self.health.check()
    }

    async fn report(&self) -> Result<DatabaseReport, Error> {
        self.run_read(report::report).await
    }
}

/// Runs all queued reads and writes, then closes the file.
impl Drop for SqliteEngine {
    fn drop(&mut self) {
        (self.writes, self.reads) = (crossbeam_channel::bounded(0).0, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new().name(name).spawn(work).expect("the system can start a thread")
}

async fn queue<T>(
    waiting: &Sender<T>,
    with_reply: impl FnOnce(oneshot::Sender<Result<AnyResult, Error>>) -> T,
) -> Result<AnyResult, Error> {
    let (reply, answer) = oneshot::channel();
    waiting.try_send(with_reply(reply)).map_err(|refused| match refused {
        TrySendError::Full(_) => Error::Unavailable("too many requests are waiting".into()),
        TrySendError::Disconnected(_) => stopped(),
    })?;
    answer.await.unwrap_or_else(|_| Err(stopped()))
}

fn stopped() -> Error {
    Error::Unavailable("shutting down".into())
}

fn run_reads(database: &Database, number: usize, waiting: &Receiver<WaitingRead>) {
    for WaitingRead { work, reply } in waiting {
        if reply.is_closed() {
            continue;
        }
        let mut reader = database.reader(number);
        let db = match &mut *reader {
            Some(db) => Ok(&*db),
            closed => database.open_to_read().map(|db| &*closed.insert(db)),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| db.and_then(work)));
        let (outcome, closes) = match outcome {
            Ok(Ok(
                Verdict::Commit(result)
                | Verdict::CommitAfter(_, result)
                | Verdict::RollBack(result),
            )) => (Ok(result), false),
            Ok(Ok(Verdict::Fail(error))) => (Err(error), false),
            Ok(Err(error)) => {
                let closes = ErrorClass::of(&error).closes_connection();
                (Err(error.into()), closes)
            }
            Err(_) => (Err(panic_error()), true),
        };
        if closes {
            *reader = None;
        }
        let _ = reply.send(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::connections::MemoryDatabase, *};

    fn engine() -> (tempfile::TempDir, SqliteEngine) {
        let folder = tempfile::tempdir().unwrap();
        let file = Place::File(folder.path().join("doorward.db"));
        (folder, SqliteEngine::start(file, None, OldSchema::MIGRATE).unwrap())
    }

    fn engine_in_memory() -> SqliteEngine {
        SqliteEngine::start(Place::Memory(MemoryDatabase::new().unwrap()), None, OldSchema::MIGRATE)
            .unwrap()
    }

    /// Inserts a row into a table that only these tests use.
    async fn note(engine: &SqliteEngine, text: &'static str) -> Result<(), Error> {
        engine.run_write(move |db| insert(db, text)).await
    }

    fn insert(db: &Connection, text: &str) -> rusqlite::Result<()> {
        db.execute_batch("CREATE TABLE IF NOT EXISTS notes (text TEXT)")?;
        db.execute("INSERT INTO notes VALUES (?1)", [text]).map(drop)
    }

    async fn notes(engine: &SqliteEngine) -> Vec<String> {
        let read = engine.run_read(|db| {
            let mut statement = db.prepare("SELECT text FROM notes ORDER BY rowid")?;
            statement.query_map([], |row| row.get(0))?.collect()
        });
        read.await.unwrap()
    }

    #[tokio::test]
    async fn a_write_that_panics_is_rolled_back_and_the_others_commit() {
        let (_folder, engine) = engine();
        note(&engine, "before").await.unwrap();
        let panicking = engine.run_write(|db| {
            insert(db, "never")?;
            panic!("in the middle of a write");
        });
        let (one, panicked, other) =
            tokio::join!(note(&engine, "one"), panicking, note(&engine, "other"));
        assert!(matches!(panicked, Err(Error::Failed(_))), "{panicked:?}");
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        note(&engine, "after").await.unwrap();
        assert_eq!(notes(&engine).await, ["before", "one", "other", "after"]);
        assert_eq!(engine.check_writes().await, Ok(()));
    }

    #[tokio::test]
    async fn a_read_that_panics_leaves_the_readers_working() {
        let (_folder, engine) = engine();
        note(&engine, "kept").await.unwrap();
        for _ in 0..3 * READERS {
            let outcome = engine.run_read::<()>(|_| panic!("in the middle of a read")).await;
            assert!(matches!(outcome, Err(Error::Failed(_))), "{outcome:?}");
        }
        assert_eq!(notes(&engine).await, ["kept"]);
    }

    #[tokio::test]
    async fn a_database_in_memory_survives_panics_and_is_not_shared_with_another_one() {
        let (engine, other) = (engine_in_memory(), engine_in_memory());
        note(&engine, "before").await.unwrap();
        note(&other, "elsewhere").await.unwrap();
        let panicking = engine.run_write(|db| {
            insert(db, "never")?;
            panic!("in the middle of a write");
        });
        let reading = engine.run_read::<()>(|_| panic!("in the middle of a read"));
        let (one, panicked, read) = tokio::join!(note(&engine, "one"), panicking, reading);
        assert!(matches!(panicked, Err(Error::Failed(_))), "{panicked:?}");
        assert!(matches!(read, Err(Error::Failed(_))), "{read:?}");
        one.unwrap();
        note(&engine, "after").await.unwrap();
        assert_eq!(notes(&engine).await, ["before", "one", "after"]);
        assert_eq!(notes(&other).await, ["elsewhere"]);
        assert_eq!(engine.check_writes().await, Ok(()));
        drop(engine);
        assert_eq!(notes(&other).await, ["elsewhere"]);
    }

    #[tokio::test]
    async fn the_write_ahead_log_is_checkpointed_before_it_grows_long() {
        let (folder, engine) = engine();
        let text = "x".repeat(100_000);
        for _ in 0..200 {
            let text = text.clone();
            engine.run_write(move |db| insert(db, &text)).await.unwrap();
        }
        let wal = std::fs::metadata(folder.path().join("doorward.db-wal")).unwrap().len();
        let file = std::fs::metadata(folder.path().join("doorward.db")).unwrap().len();
        assert!(wal < 8 << 20, "a log of {wal} bytes");
        assert!(file > 10 << 20, "a file of {file} bytes");
    }
}
