//! How statements are run: one thread writes, committing in groups whatever is waiting, and a few others read.

use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};
use tokio::sync::oneshot;

use super::{Changes, Endings, Error, endings, migrations};
use crate::user::UserId;

/// Writes committed together at most: one flush to disk for all of them.
const GROUP: usize = 64;
/// Reads or writes waiting at most; beyond it the database is too slow for what is asked of it.
const QUEUE: usize = 1024;
const READERS: usize = 2;
/// Pages that a connection keeps at most.
const CACHE_KIB: i32 = 8 << 10;

/// The threads and connections of one database file.
pub(super) struct Engine {
    writes: Sender<Box<dyn Write>>,
    reads: Sender<Read>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    threads: Vec<thread::JoinHandle<()>>,
}

type Read = Box<dyn FnOnce(rusqlite::Result<&Connection>) + Send>;

impl Engine {
    pub(super) fn start(file: &Path) -> Result<Self, Error> {
        let database = Arc::new(Database::new(file));
        let (changes, endings) = (Arc::new(Changes::alone()), Arc::new(Endings::new()));
        let mut writer = Writer {
            db: Some(database.open_and_migrate()?),
            database: Arc::clone(&database),
            changes: Arc::clone(&changes),
            endings: Arc::clone(&endings),
            seen: 0,
            failing: false,
        };
        writer.tell_endings()?;
        let (writes, waiting_writes) = crossbeam_channel::bounded(QUEUE);
        let (reads, waiting_reads) = crossbeam_channel::bounded(QUEUE);
        let mut threads = vec![spawn("write".into(), move || writer.work(&waiting_writes))];
        for number in 0..READERS {
            let (database, waiting) = (Arc::clone(&database), waiting_reads.clone());
            threads.push(spawn(format!("read-{number}"), move || {
                read_on(&database, number, &waiting);
            }));
        }
        Ok(Self { writes, reads, changes, endings, threads })
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(super) fn endings(&self) -> &Endings {
        &self.endings
    }

    /// Runs `work` on a reading connection.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let read: Read = Box::new(move |db| {
            if !reply.is_closed() {
                let _ = reply.send(db.and_then(work).map_err(Error::from));
            }
        });
        self.reads.try_send(read).map_err(too_slow)?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Runs `work` in a transaction and returns when it is safe on disk. A change to `touched`, or to a session of
    /// theirs, is marked before anybody is told, and so are the tokens that it ended.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        touched: Option<UserId>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let write = Waiting { work: Some(work), done: None, touched, reply };
        self.writes.try_send(Box::new(write)).map_err(too_slow)?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// Everything that was queued is still done; then the file is closed.
impl Drop for Engine {
    fn drop(&mut self) {
        (self.writes, self.reads) =
            (crossbeam_channel::bounded(0).0, crossbeam_channel::bounded(0).0);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new().name(name).spawn(work).expect("the system has a thread for the database")
}

fn too_slow<T>(refused: TrySendError<T>) -> Error {
    match refused {
        TrySendError::Full(_) => Error::Unavailable("it does not keep up with its queue".into()),
        TrySendError::Disconnected(_) => stopped(),
    }
}

fn stopped() -> Error {
    Error::Unavailable("it is being closed".into())
}

/// The file, and a place for the connection of each reader: behind a lock, so that all can be closed at once.
struct Database {
    file: PathBuf,
    readers: [Mutex<Option<Connection>>; READERS],
}

impl Database {
    fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), readers: Default::default() }
    }

    fn reader(&self, number: usize) -> MutexGuard<'_, Option<Connection>> {
        self.readers[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        // The journal and the shared memory inherit the mode of the file, so it must exist before SQLite makes it.
        let created = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file);
        created.map_err(|error| cannot_open(&self.file, &error))?;
        let db = Connection::open(&self.file)?;
        db.busy_timeout(Duration::from_secs(5))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "journal_size_limit", 64 << 20)?;
        // The inner pages of a million users are 4 MiB; with less, every look-up reads some of them again.
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.pragma_update(None, "trusted_schema", false)?;
        Ok(db)
    }

    fn open_and_migrate(&self) -> Result<Connection, Error> {
        let mut db = self.open()?;
        migrations::apply(&mut db).map_err(|error| match error {
            migrations::Error::Sqlite(error) => error.into(),
            newer @ migrations::Error::Newer { .. } => Error::Failed(newer.into()),
        })?;
        Ok(db)
    }

    /// Closes all connections and opens the writing one again, on a journal that starts anew.
    ///
    /// After a failed flush the system may hold pages as clean that never reached the disk. Only when nobody has
    /// the file open does SQLite go through its journal from the start and write them all once more; and nothing may
    /// be built on that journal before it has been emptied into the file, and the file flushed.
    fn reopen(&self, writer: Option<Connection>) -> rusqlite::Result<Connection> {
        let mut readers: Vec<_> = (0..READERS).map(|number| self.reader(number)).collect();
        readers.iter_mut().for_each(|reader| **reader = None);
        drop(writer);
        let db = self.open()?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(db)
    }
}

fn cannot_open(file: &Path, error: &io::Error) -> rusqlite::Error {
    let message = format!("{}: {error}", file.display());
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(message))
}

fn read_on(database: &Database, number: usize, waiting: &Receiver<Read>) {
    for read in waiting {
        let mut reader = database.reader(number);
        read(match &mut *reader {
            Some(db) => Ok(db),
            closed => database.open().map(|db| &*closed.insert(db)),
        });
    }
}

/// Something to write, whatever the type of its outcome.
trait Write: Send {
    fn run(&mut self, db: &Connection) -> rusqlite::Result<()>;
    fn touched(&self) -> Option<UserId>;
    fn answer(self: Box<Self>, outcome: Result<(), Error>);
}

struct Waiting<T, F> {
    work: Option<F>,
    done: Option<T>,
    touched: Option<UserId>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T: Send, F: FnOnce(&Connection) -> rusqlite::Result<T> + Send> Write for Waiting<T, F> {
    fn run(&mut self, db: &Connection) -> rusqlite::Result<()> {
        if let Some(work) = self.work.take() {
            self.done = Some(work(db)?);
        }
        Ok(())
    }

    fn touched(&self) -> Option<UserId> {
        self.touched
    }

    fn answer(self: Box<Self>, outcome: Result<(), Error>) {
        let Self { done, reply, .. } = *self;
        let _ = reply.send(outcome.and_then(|()| done.ok_or_else(stopped)));
    }
}

struct Writer {
    /// None while the file cannot be opened.
    db: Option<Connection>,
    database: Arc<Database>,
    changes: Arc<Changes>,
    endings: Arc<Endings>,
    /// The number of the last ending that has been told.
    seen: i64,
    /// Whether the last group failed, so that trouble and its end are each told once.
    failing: bool,
}

impl Writer {
    fn work(&mut self, waiting: &Receiver<Box<dyn Write>>) {
        while let Ok(first) = waiting.recv() {
            let mut group = vec![first];
            group.extend(waiting.try_iter().take(GROUP - 1));
            self.write(group);
        }
    }

    fn write(&mut self, mut group: Vec<Box<dyn Write>>) {
        let outcome = self.connection().and_then(|db| commit(db, &mut group));
        match outcome {
            Ok(outcomes) => {
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
                    write.answer(outcome.map_err(Error::from));
                }
            }
            Err(error) => {
                self.tell_trouble(&error);
                if is_failed_flush(&error) {
                    self.db = self.database.reopen(self.db.take()).ok();
                }
                let cause = error.to_string();
                for write in group {
                    // What could not be flushed may be recovered all the same.
                    if let Some(user) = write.touched() {
                        self.changes.mark(user);
                    }
                    write.answer(Err(Error::Unavailable(cause.clone())));
                }
            }
        }
    }

    /// Passes on which tokens have ended since the last time.
    fn tell_endings(&mut self) -> rusqlite::Result<()> {
        if let Some(db) = &self.db {
            self.endings.add(endings::read_on(db, &mut self.seen)?);
        }
        Ok(())
    }

    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        match &mut self.db {
            Some(db) => Ok(db),
            closed => Ok(closed.insert(self.database.reopen(None)?)),
        }
    }

    fn tell_trouble(&mut self, error: &rusqlite::Error) {
        if !self.failing {
            tracing::error!(%error, "cannot write to the database; reading goes on");
            self.failing = true;
        }
    }

    fn tell_recovery(&mut self) {
        if self.failing {
            tracing::info!("writing to the database again");
            self.failing = false;
        }
    }
}

/// Runs each write by itself and commits them together. An error is one that hit all of them.
fn commit(
    db: &mut Connection,
    group: &mut [Box<dyn Write>],
) -> rusqlite::Result<Vec<rusqlite::Result<()>>> {
    let mut transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for write in group {
        let savepoint = transaction.savepoint()?;
        // Dropping the savepoint undoes what the write began.
        let outcome = write.run(&savepoint).and_then(|()| savepoint.commit());
        match outcome {
            Err(error) if ends_the_transaction(&error) => return Err(error),
            outcome => outcomes.push(outcome),
        }
    }
    transaction.commit()?;
    Ok(outcomes)
}

/// After any other error the next transaction overwrites what the failed one wrote.
fn is_failed_flush(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|failure| failure.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

fn ends_the_transaction(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, OutOfMemory, ReadOnly, SystemIoFailure};
    error.sqlite_error_code().is_some_and(|code| {
        matches!(code, CannotOpen | DiskFull | OutOfMemory | ReadOnly | SystemIoFailure)
    })
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{DatabaseBusy, DatabaseLocked};
        match error.sqlite_error() {
            Some(failure) if failure.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE => {
                Self::EmailTaken
            }
            Some(failure)
                if ends_the_transaction(&error)
                    || matches!(failure.code, DatabaseBusy | DatabaseLocked) =>
            {
                Self::Unavailable(error.to_string())
            }
            _ => Self::Failed(error.into()),
        }
    }
}
