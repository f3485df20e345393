//! Runs statements: one thread writes and commits waiting writes in groups, two threads read.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Instant,
};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    connections::{Database, Place, READERS},
    error_class::{ErrorClass, panic_error},
    health::Health,
    snapshot::SqliteSnapshot,
    writer::{Changed, Work, Write, Writer},
};
use crate::{
    data_folder::Reserve,
    store::{Changes, Endings, Error, NotReady, StoreCounts},
    user::UserId,
};

/// The maximum number of waiting reads, and of waiting writes. A full queue refuses more.
const QUEUE_CAPACITY: usize = 1024;

/// The threads and connections of one database file.
pub(super) struct Engine {
    database: Arc<Database>,
    writes: Sender<Write>,
    /// `None` for a database in memory, whose reads are queued as writes.
    reads: Option<Sender<Read>>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    health: Arc<Health>,
    counts: StoreCounts,
    threads: Vec<thread::JoinHandle<()>>,
}

/// A read that waits for a thread.
struct Read {
    work: Work,
    reply: oneshot::Sender<Result<(), Error>>,
}

impl Engine {
    pub(super) fn start(place: Place, reserve: Option<Arc<Reserve>>) -> Result<Self, Error> {
        let database = Arc::new(Database::new(place));
        let opened = database.open_first(reserve.as_deref())?;
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
        Ok(Self { database, writes, reads, changes, endings, health, counts, threads })
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(super) fn endings(&self) -> &Arc<Endings> {
        &self.endings
    }

    pub(super) fn counts(&self) -> &StoreCounts {
        &self.counts
    }

    /// Whether writes succeed, as the writer thread last saw it.
    pub(super) fn check(&self) -> Result<(), NotReady> {
        self.health.check()
    }

    /// Begins to read the state at this moment, on a connection of its own.
    pub(super) fn snapshot(&self) -> Result<SqliteSnapshot, Error> {
        SqliteSnapshot::begin(&self.database)
    }

    /// Runs `work` on a reading connection.
    pub(super) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        let (work, result) = keep_result(only_once(work));
        result.after(self.count_read(work))
    }

    /// Runs `work` in a transaction and returns after the commit is on disk. The change to `user` or to their sessions is
    /// counted, and the tokens that it ended are published, before this returns.
    pub(super) fn write<T: Send + 'static>(
        &self,
        user: Option<UserId>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        let (work, result) = keep_result(only_once(work));
        result.after(self.count_write(user.into(), false, work))
    }

    /// As [`Self::write`], for a write that revokes access: on a full disk it runs once more and may use the reserve.
    pub(super) fn write_revocation<T: Send + 'static>(
        &self,
        changed: impl Into<Changed>,
        work: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        let (work, result) = keep_result(move |db: &_| work(db).map(Some));
        result.after(self.count_write(changed.into(), true, work))
    }

    async fn count_read(&self, work: Work) -> Result<(), Error> {
        let began = Instant::now();
        let outcome = match &self.reads {
            Some(reads) => queue(reads, |reply| Read { work, reply }).await,
            None => self.queue_write(Changed::Nobody, false, work).await,
        };
        self.counts.add_read(began, &outcome);
        outcome
    }

    async fn count_write(
        &self,
        changed: Changed,
        may_use_reserve: bool,
        work: Work,
    ) -> Result<(), Error> {
        let began = Instant::now();
        let outcome = self.queue_write(changed, may_use_reserve, work).await;
        self.counts.add_write(began, &outcome);
        outcome
    }

    async fn queue_write(
        &self,
        changed: Changed,
        may_use_reserve: bool,
        work: Work,
    ) -> Result<(), Error> {
        queue(&self.writes, |reply| Write { work, changed, may_use_reserve, reply }).await
    }
}

/// Runs all queued reads and writes, then closes the file.
impl Drop for Engine {
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
    with_reply: impl FnOnce(oneshot::Sender<Result<(), Error>>) -> T,
) -> Result<(), Error> {
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

fn run_reads(database: &Database, number: usize, waiting: &Receiver<Read>) {
    for Read { work, reply } in waiting {
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
            Ok(Ok(())) => (Ok(()), false),
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

/// Where [`Work`] leaves its result. The queues and threads do not depend on the type of the result, and are compiled once.
struct Kept<T>(Arc<Mutex<Option<T>>>);

fn keep_result<T: Send + 'static>(
    mut work: impl FnMut(&Connection) -> rusqlite::Result<Option<T>> + Send + 'static,
) -> (Work, Kept<T>) {
    let kept = Arc::new(Mutex::new(None));
    let result = Kept(Arc::clone(&kept));
    let work = move |db: &Connection| {
        let result = work(db)?;
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = result;
        Ok(())
    };
    (Box::new(work), result)
}

fn only_once<T>(
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> impl FnMut(&Connection) -> rusqlite::Result<Option<T>> {
    let mut work = Some(work);
    move |db| work.take().map(|work| work(db)).transpose()
}

impl<T> Kept<T> {
    async fn after(self, done: impl Future<Output = Result<(), Error>>) -> Result<T, Error> {
        done.await?;
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::connections::MemoryDatabase, *};

    fn engine() -> (tempfile::TempDir, Engine) {
        let folder = tempfile::tempdir().unwrap();
        let file = Place::File(folder.path().join("doorward.db"));
        (folder, Engine::start(file, None).unwrap())
    }

    fn engine_in_memory() -> Engine {
        Engine::start(Place::Memory(MemoryDatabase::new().unwrap()), None).unwrap()
    }

    /// Inserts a row into a table that only these tests use.
    async fn note(engine: &Engine, text: &'static str) -> Result<(), Error> {
        engine.write(None, move |db| insert(db, text)).await
    }

    fn insert(db: &Connection, text: &str) -> rusqlite::Result<()> {
        db.execute_batch("CREATE TABLE IF NOT EXISTS notes (text TEXT)")?;
        db.execute("INSERT INTO notes VALUES (?1)", [text]).map(drop)
    }

    async fn notes(engine: &Engine) -> Vec<String> {
        let read = engine.read(|db| {
            let mut statement = db.prepare("SELECT text FROM notes ORDER BY rowid")?;
            statement.query_map([], |row| row.get(0))?.collect()
        });
        read.await.unwrap()
    }

    #[tokio::test]
    async fn a_write_that_panics_is_rolled_back_and_the_others_commit() {
        let (_folder, engine) = engine();
        note(&engine, "before").await.unwrap();
        let panicking = engine.write::<()>(None, |db| {
            insert(db, "never")?;
            panic!("in the middle of a write");
        });
        let (one, panicked, other) =
            tokio::join!(note(&engine, "one"), panicking, note(&engine, "other"));
        assert!(matches!(panicked, Err(Error::Failed(_))), "{panicked:?}");
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        note(&engine, "after").await.unwrap();
        assert_eq!(notes(&engine).await, ["before", "one", "other", "after"]);
        assert_eq!(engine.check(), Ok(()));
    }

    #[tokio::test]
    async fn a_read_that_panics_leaves_the_readers_working() {
        let (_folder, engine) = engine();
        note(&engine, "kept").await.unwrap();
        for _ in 0..3 * READERS {
            let outcome = engine.read::<()>(|_| panic!("in the middle of a read")).await;
            assert!(matches!(outcome, Err(Error::Failed(_))), "{outcome:?}");
        }
        assert_eq!(notes(&engine).await, ["kept"]);
    }

    #[tokio::test]
    async fn a_database_in_memory_survives_panics_and_is_not_shared_with_another_one() {
        let (engine, other) = (engine_in_memory(), engine_in_memory());
        note(&engine, "before").await.unwrap();
        note(&other, "elsewhere").await.unwrap();
        let panicking = engine.write::<()>(None, |db| {
            insert(db, "never")?;
            panic!("in the middle of a write");
        });
        let reading = engine.read::<()>(|_| panic!("in the middle of a read"));
        let (one, panicked, read) = tokio::join!(note(&engine, "one"), panicking, reading);
        assert!(matches!(panicked, Err(Error::Failed(_))), "{panicked:?}");
        assert!(matches!(read, Err(Error::Failed(_))), "{read:?}");
        one.unwrap();
        note(&engine, "after").await.unwrap();
        assert_eq!(notes(&engine).await, ["before", "one", "after"]);
        assert_eq!(notes(&other).await, ["elsewhere"]);
        assert_eq!(engine.check(), Ok(()));
        drop(engine);
        assert_eq!(notes(&other).await, ["elsewhere"]);
    }

    #[tokio::test]
    async fn the_write_ahead_log_is_checkpointed_before_it_grows_long() {
        let (folder, engine) = engine();
        let text = "x".repeat(100_000);
        for _ in 0..200 {
            let text = text.clone();
            engine.write(None, move |db| insert(db, &text)).await.unwrap();
        }
        let wal = std::fs::metadata(folder.path().join("doorward.db-wal")).unwrap().len();
        let file = std::fs::metadata(folder.path().join("doorward.db")).unwrap().len();
        assert!(wal < 8 << 20, "a log of {wal} bytes");
        assert!(file > 10 << 20, "a file of {file} bytes");
    }
}
