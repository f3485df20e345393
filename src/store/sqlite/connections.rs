//! The database file and its connections: how they are opened, and closed all at once when that is the only cure.

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

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, ffi, wal::CheckpointMode};

use super::{
    Error, endings, migrations,
    trouble::{Trouble, describe},
};
use crate::{clock::Timestamp, data_folder::Reserve, private_file, session::TokenId};

pub(super) const READERS: usize = 2;
/// Pages that a connection keeps at most.
const CACHE_KIB: i32 = 8 << 10;

/// The file, and a place for the connection of each reader: behind a lock, so that all can be closed at once.
pub(super) struct Database {
    file: PathBuf,
    readers: [Mutex<Option<Connection>>; READERS],
    /// In the journal after the last commit.
    journal_pages: Arc<AtomicUsize>,
}

/// What the first opening brings.
pub(super) struct Opened {
    pub(super) db: Connection,
    /// The tokens that have ended, and the number of the last.
    pub(super) ended: Vec<(TokenId, Timestamp)>,
    pub(super) last_ending: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Database {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), readers: Default::default(), journal_pages: Arc::default() }
    }

    pub(super) fn reader(&self, number: usize) -> MutexGuard<'_, Option<Connection>> {
        self.readers[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn journal_pages(&self) -> usize {
        self.journal_pages.load(Ordering::Relaxed)
    }

    /// Opens the writing connection at the start, brings the schema up to date and reads which tokens have ended. A
    /// fault that passes costs one more try; on a full disk the reserve is given up for it.
    pub(super) fn open_first(&self, reserve: Option<&Reserve>) -> Result<Opened, Error> {
        let error = match self.try_to_open_first() {
            Err(migrations::Error::Sqlite(error)) => error,
            outcome => return outcome.map_err(Error::from),
        };
        if !Trouble::of(&error).ends_the_transaction() {
            return Err(error.into());
        }
        let cause = describe(&error);
        if reserve.is_some_and(|reserve| reserve.is_disk_full() && reserve.release()) {
            tracing::warn!(%cause, "gave up the reserve file to open the database: free some disk space");
        } else {
            tracing::warn!(%cause, "cannot open the database: trying once more");
        }
        self.try_to_open_first().map_err(|error| match error {
            migrations::Error::Sqlite(error) => self.explain(error, reserve),
            newer => newer.into(),
        })
    }

    fn try_to_open_first(&self) -> Result<Opened, migrations::Error> {
        private_file::create_if_missing(&self.file)
            .map_err(|error| self.cannot_open(&error.to_string()))?;
        let mut db = self.open_to_write()?;
        migrations::apply(&mut db)?;
        let mut last_ending = 0;
        let ended = endings::read_on(&db, &mut last_ending)?;
        Ok(Opened { db, ended, last_ending })
    }

    /// What to tell an operator whose database cannot be opened. No connection is open when this is asked.
    fn explain(&self, error: rusqlite::Error, reserve: Option<&Reserve>) -> Error {
        let trouble = Trouble::of(&error);
        if trouble == Trouble::DiskFull || reserve.is_some_and(Reserve::is_disk_full) {
            return Error::Unavailable("the disk is full: free some space and start again".into());
        }
        if !trouble.ends_the_transaction() {
            return error.into();
        }
        if let Some(cause) = self.cannot_be_read() {
            return Error::Unavailable(cause);
        }
        let (file, cause) = (self.file.display(), describe(&error));
        match (trouble, error.sqlite_error_code()) {
            (Trouble::Damaged, _) => Error::Failed(
                format!(
                    "{file} is damaged ({cause}): restore it from a backup; \
                     `sqlite3 {file} 'PRAGMA integrity_check'` lists what is wrong with it"
                )
                .into(),
            ),
            (_, Some(ErrorCode::SystemIoFailure)) => {
                Error::Unavailable(format!("{file}: {cause}: check the disk"))
            }
            _ => Error::Unavailable(cause),
        }
    }

    /// What the system says to reading the files, without SQLite in between.
    fn cannot_be_read(&self) -> Option<String> {
        let mut journal = self.file.clone().into_os_string();
        journal.push("-wal");
        let cannot = |path: &Path| {
            let error = read_through(path).err()?;
            let advice = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => "",
                _ => ": check the disk",
            };
            Some(format!("cannot read {}: {error}{advice}", path.display()))
        };
        let journal = Path::new(&journal);
        cannot(&self.file).or_else(|| journal.exists().then(|| cannot(journal)).flatten())
    }

    pub(super) fn open_to_read(&self) -> rusqlite::Result<Connection> {
        self.open(Access::Read)
    }

    pub(super) fn open_to_write(&self) -> rusqlite::Result<Connection> {
        let mut db = self.open(Access::Write)?;
        let pages = Arc::clone(&self.journal_pages);
        // In place of SQLite's own checkpoints, which fail without a word.
        db.wal_hook(Some(move |_: &mut _, count| {
            pages.store(usize::try_from(count).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(db)
    }

    fn open(&self, access: Access) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.file, flags)?;
        // SQLite opens a file for reading that it cannot open for writing, and says nothing.
        if access == Access::Write && db.is_readonly(MAIN_DB)? {
            let writable = rustix::fs::access(&self.file, rustix::fs::Access::WRITE_OK);
            let cause = writable.map_or_else(
                |error| io::Error::from(error).to_string(),
                |()| "it could be opened for reading only".into(),
            );
            return Err(self.cannot_open(&cause));
        }
        db.busy_timeout(Duration::from_secs(5))?;
        let mode: String =
            db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            return Err(self.cannot_open(&format!("the journal mode is {mode} and cannot be WAL")));
        }
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "journal_size_limit", 64 << 20)?;
        // The inner pages of a million users are 4 MiB; with less, every look-up reads some of them again.
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.pragma_update(None, "trusted_schema", false)?;
        Ok(db)
    }

    /// Closes all connections and opens the writing one again, on a journal that starts anew.
    ///
    /// After a failed flush the system may hold pages as clean that never reached the disk. Only when nobody has
    /// the file open does SQLite go through its journal from the start and write them all once more; and nothing may
    /// be built on that journal before it has been emptied into the file, and the file flushed.
    pub(super) fn reopen(&self, writer: Option<Connection>) -> rusqlite::Result<Connection> {
        let mut readers: Vec<_> = (0..READERS).map(|number| self.reader(number)).collect();
        readers.iter_mut().for_each(|reader| **reader = None);
        drop(writer);
        let db = self.open_to_write()?;
        db.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE)?;
        self.journal_pages.store(0, Ordering::Relaxed);
        Ok(db)
    }

    fn cannot_open(&self, cause: &str) -> rusqlite::Error {
        let message = format!("cannot open {}: {cause}", self.file.display());
        rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(message))
    }
}

fn read_through(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    let mut chunk = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        // As SQLite reads, so that the system says the same.
        match file.read_at(&mut chunk, at)? {
            0 => return Ok(()),
            bytes => at += bytes as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(contents: &[u8]) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("doorward.db");
        fs::write(&file, contents).unwrap();
        Database::new(&file).open_first(None).err().expect("opened")
    }

    #[test]
    fn damage_is_told_with_what_to_do() {
        let mut damaged = b"SQLite format 3\0".to_vec();
        damaged.resize(8192, 0xff);
        for contents in [&damaged, &vec![b'x'; 8192]] {
            let Error::Failed(cause) = refused(contents) else { panic!("worth another try") };
            let cause = cause.to_string();
            assert!(cause.contains("backup") && cause.contains("integrity_check"), "{cause}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_the_systems_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/doorward.db");
        let Err(Error::Unavailable(cause)) = Database::new(&missing).open_first(None) else {
            panic!("opened, or not worth another try");
        };
        assert!(cause.contains(missing.to_str().unwrap()), "{cause}");
        assert!(cause.contains("No such file or directory"), "{cause}");
    }
}
