//! Opens the database and its connections, and closes all of them after a failed flush.

use std::{
    fs, io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, MAIN_DB, OpenFlags, config::DbConfig, ffi, wal::CheckpointMode,
};
use uuid::Uuid;

use super::{
    ended_tokens,
    error_class::{ErrorClass, describe},
    migrations,
};
use crate::{
    clock::Timestamp,
    data_folder::Reserve,
    private_file,
    session::TokenId,
    store::{Error, OldSchema},
};

pub(super) const READERS: usize = 2;
/// The page cache of each connection.
const CACHE_KIB: i32 = 8 << 10;
/// How many parsed statements a connection keeps. All portable statements fit, so none displaces another.
pub(in crate::store) const CACHED_STATEMENTS: usize = 320;

/// Where a database is.
pub(super) enum Place {
    File(PathBuf),
    Memory(MemoryDatabase),
}

/// A database in the memory of this process. It exists as long as this, because the connection in it keeps it open. SQLite allows
/// no reader beside a writer there, so only the writer's connection is used.
pub(super) struct MemoryDatabase {
    url: String,
    _keeps_open: Mutex<Connection>,
}

impl MemoryDatabase {
    pub(super) fn new() -> rusqlite::Result<Self> {
        // The name starts with a slash: only then all connections share one database.
        let url = format!("file:/{}?vfs=memdb", Uuid::new_v4());
        let _keeps_open = Mutex::new(Self::connect(&url)?);
        Ok(Self { url, _keeps_open })
    }

    fn connect(url: &str) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(url, flags)?;
        // Else SQLite sorts large results in a temporary file.
        db.pragma_update(None, "temp_store", "MEMORY")?;
        Ok(db)
    }
}

/// The database and the connections of the readers. Each is behind a lock, so that all can be closed at once.
pub(super) struct Database {
    place: Place,
    readers: [Mutex<Option<Connection>>; READERS],
    /// The connection of a backup. At most one runs at a time.
    pub(super) snapshot: Mutex<Option<SnapshotConnection>>,
    /// The number of pages in the write-ahead log after the last commit.
    wal_pages: Arc<AtomicUsize>,
}

/// A connection with an open transaction, and the number of the snapshot that it belongs to.
pub(super) struct SnapshotConnection {
    pub(super) number: u64,
    pub(super) db: Connection,
}

/// The writing connection and what was read when it was first opened.
pub(super) struct Opened {
    pub(super) db: Connection,
    /// The ended tokens, and the number of the last.
    pub(super) ended: Vec<(TokenId, Timestamp)>,
    pub(super) last_ending: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Database {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            readers: Default::default(),
            snapshot: Mutex::default(),
            wal_pages: Arc::default(),
        }
    }

    /// Whether reads have connections of their own.
    pub(super) fn has_readers(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    pub(super) fn reader(&self, number: usize) -> MutexGuard<'_, Option<Connection>> {
        self.readers[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wal_pages(&self) -> usize {
        self.wal_pages.load(Ordering::Relaxed)
    }

    /// Opens the writing connection at the start, sees to the schema and reads the ended tokens. A failure is retried
    /// once; on a full disk the reserve is released first.
    pub(super) fn open_first(
        &self,
        reserve: Option<&Reserve>,
        old: OldSchema,
    ) -> Result<Opened, Error> {
        let error = match self.try_to_open_first(old) {
            Err(migrations::Error::Sqlite(error)) => error,
            outcome => return outcome.map_err(Error::from),
        };
        if !ErrorClass::of(&error).fails_transaction() {
            return Err(error.into());
        }
        let cause = describe(&error);
        if reserve.is_some_and(|reserve| reserve.is_disk_full() && reserve.release()) {
            tracing::warn!(%cause, "released the reserve file to open the database: free some disk space");
        } else {
            tracing::warn!(%cause, "cannot open the database: retrying once");
        }
        self.try_to_open_first(old).map_err(|error| match error {
            migrations::Error::Sqlite(error) => self.explain(error, reserve),
            newer => newer.into(),
        })
    }

    fn try_to_open_first(&self, old: OldSchema) -> Result<Opened, migrations::Error> {
        if let Place::File(file) = &self.place {
            let created = private_file::create_if_missing(file);
            created.map_err(|error| cannot_open(file, &error.to_string()))?;
        }
        let mut db = self.open_to_write()?;
        let file = match &self.place {
            Place::File(file) => Some(file.as_path()),
            Place::Memory(_) => None,
        };
        migrations::prepare(&mut db, file, old)?;
        let mut last_ending = 0;
        let ended = ended_tokens::read_after(&db, &mut last_ending)?;
        Ok(Opened { db, ended, last_ending })
    }

    /// The error for the operator if the database cannot be opened. No connection is open at this point.
    fn explain(&self, error: rusqlite::Error, reserve: Option<&Reserve>) -> Error {
        let class = ErrorClass::of(&error);
        if class == ErrorClass::DiskFull || reserve.is_some_and(Reserve::is_disk_full) {
            return Error::Unavailable("the disk is full: free some space and start again".into());
        }
        if !class.fails_transaction() {
            return error.into();
        }
        let Place::File(file) = &self.place else { return error.into() };
        if let Some(cause) = read_error(file) {
            return Error::Unavailable(cause);
        }
        let (file, cause) = (file.display(), describe(&error));
        match (class, error.sqlite_error_code()) {
            (ErrorClass::Damaged, _) => Error::Failed(
                format!(
                    "{file} is damaged ({cause}): restore it from a backup; \
                     `sqlite3 {file} 'PRAGMA integrity_check'` lists the damage"
                )
                .into(),
            ),
            (_, Some(ErrorCode::SystemIoFailure)) => {
                Error::Unavailable(format!("{file}: {cause}: check the disk"))
            }
            _ => Error::Unavailable(cause),
        }
    }

    pub(super) fn open_to_read(&self) -> rusqlite::Result<Connection> {
        self.open(Access::Read)
    }

    pub(super) fn open_to_write(&self) -> rusqlite::Result<Connection> {
        let mut db = self.open(Access::Write)?;
        let pages = Arc::clone(&self.wal_pages);
        // Replaces SQLite's automatic checkpoints, which fail silently.
        db.wal_hook(Some(move |_: &mut _, count| {
            pages.store(usize::try_from(count).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(db)
    }

    fn open(&self, access: Access) -> rusqlite::Result<Connection> {
        let db = match &self.place {
            Place::File(file) => open_file(file, access)?,
            Place::Memory(memory) => MemoryDatabase::connect(&memory.url)?,
        };
        // The inner pages of a million users fit; with less, every look-up reads some of them again.
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.pragma_update(None, "trusted_schema", false)?;
        db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        // Else SQLite parses a statement again whenever the parameter of its LIMIT or OFFSET gets a value.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(db)
    }

    /// Closes all connections and opens the writing one again, with an empty write-ahead log.
    ///
    /// After a failed flush the kernel may hold pages as clean that never reached the disk. SQLite recovers the log from
    /// its start, and writes all pages again, only when no connection has the file open. Nothing may be appended to that
    /// log before it has been checkpointed into the file and the file has been flushed.
    pub(super) fn reopen(&self, writer: Option<Connection>) -> rusqlite::Result<Connection> {
        let mut readers: Vec<_> = (0..READERS).map(|number| self.reader(number)).collect();
        readers.iter_mut().for_each(|reader| **reader = None);
        // A backup then fails: it has read a part of a state that cannot be read again.
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        *snapshot = None;
        drop(writer);
        let db = self.open_to_write()?;
        db.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE)?;
        self.wal_pages.store(0, Ordering::Relaxed);
        Ok(db)
    }
}

fn open_file(file: &Path, access: Access) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    // SQLite silently opens a file read-only when it cannot open it for writing.
    if access == Access::Write && db.is_readonly(MAIN_DB)? {
        let writable = rustix::fs::access(file, rustix::fs::Access::WRITE_OK);
        let cause = writable.map_or_else(
            |error| io::Error::from(error).to_string(),
            |()| "it could only be opened read-only".into(),
        );
        return Err(cannot_open(file, &cause));
    }
    db.busy_timeout(Duration::from_secs(5))?;
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(cannot_open(file, &format!("the journal mode is {mode} and cannot be WAL")));
    }
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    // What is deleted is overwritten wherever that writes no further page.
    db.pragma_update(None, "secure_delete", "FAST")?;
    Ok(db)
}

fn cannot_open(file: &Path, cause: &str) -> rusqlite::Error {
    let message = format!("cannot open {}: {cause}", file.display());
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(message))
}

/// The system's error when the files are read without SQLite.
fn read_error(file: &Path) -> Option<String> {
    let mut wal = file.to_owned().into_os_string();
    wal.push("-wal");
    let read_error_of = |path: &Path| {
        let error = read_through(path).err()?;
        let advice = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => "",
            _ => ": check the disk",
        };
        Some(format!("cannot read {}: {error}{advice}", path.display()))
    };
    let wal = Path::new(&wal);
    read_error_of(file).or_else(|| wal.exists().then(|| read_error_of(wal)).flatten())
}

fn read_through(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    let mut chunk = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        // With pread, as SQLite reads, so that the system reports the same error.
        match file.read_at(&mut chunk, at)? {
            0 => return Ok(()),
            bytes => at += bytes as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_error(contents: &[u8]) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("doorward.db");
        fs::write(&file, contents).unwrap();
        Database::new(Place::File(file)).open_first(None, OldSchema::MIGRATE).err().expect("opened")
    }

    #[test]
    fn the_error_for_a_damaged_file_says_what_to_do() {
        let mut damaged = b"SQLite format 3\0".to_vec();
        damaged.resize(8192, 0xff);
        for contents in [&damaged, &vec![b'x'; 8192]] {
            let Error::Failed(cause) = open_error(contents) else { panic!("temporary") };
            let cause = cause.to_string();
            assert!(cause.contains("backup") && cause.contains("integrity_check"), "{cause}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_the_system_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/doorward.db");
        let Err(Error::Unavailable(cause)) =
            Database::new(Place::File(missing.clone())).open_first(None, OldSchema::MIGRATE)
        else {
            panic!("opened, or not temporary");
        };
        assert!(cause.contains(missing.to_str().unwrap()), "{cause}");
        assert!(cause.contains("No such file or directory"), "{cause}");
    }
}
