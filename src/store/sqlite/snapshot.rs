//! A consistent read of the whole database for a backup, on a connection of its own. Other reads and writes continue; the
//! write-ahead log grows until the snapshot is dropped.

use std::sync::{
    Arc, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use rusqlite::Connection;

use super::{
    connections::{Database, SnapshotConnection},
    statement::query,
};
use crate::store::{
    Error,
    engine::{KeySnapshot, SnapshotReader},
    row::Row,
    value::Value,
};

/// Pages in the write-ahead log at which a backup gives up: 256 MiB.
const MAX_WAL_PAGES: usize = 64 << 10;

/// The state of the database at one moment. Reads run on the calling thread.
pub(super) struct SqliteSnapshot {
    database: Arc<Database>,
    number: u64,
}

impl SqliteSnapshot {
    pub(super) fn begin(database: &Arc<Database>) -> Result<Self, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        if !database.has_readers() {
            return Err(Error::Unavailable("a database in memory cannot be backed up".into()));
        }
        let mut slot = lock(database);
        if slot.is_some() {
            return Err(Error::Unavailable(
                "another backup or export is running: try again when it is done".into(),
            ));
        }
        let db = database.open_to_read()?;
        db.execute_batch("BEGIN")?;
        // The transaction sees the state at its first read.
        db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        *slot = Some(SnapshotConnection { number, db });
        Ok(Self { database: Arc::clone(database), number })
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        let mut slot = lock(&self.database);
        if slot.as_ref().is_some_and(|snapshot| snapshot.number == self.number) {
            *slot = None;
        }
    }
}

impl SqliteSnapshot {
    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        if self.database.wal_pages() >= MAX_WAL_PAGES {
            return Err(Error::Unavailable(
                "the backup was given up because writes have filled 256 MiB of the write-ahead log: try again when \
                 fewer people sign up or sign in"
                    .into(),
            ));
        }
        let slot = lock(&self.database);
        match &*slot {
            Some(SnapshotConnection { number, db }) if *number == self.number => Ok(work(db)?),
            _ => Err(Error::Unavailable("the database was reopened during the backup".into())),
        }
    }
}

#[async_trait]
impl SnapshotReader for SqliteSnapshot {
    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        self.run(|db| query(db, sql, &values))
    }

    /// They are files.
    async fn keys(&self) -> Result<Option<KeySnapshot>, Error> {
        Ok(None)
    }
}

fn lock(database: &Database) -> MutexGuard<'_, Option<SnapshotConnection>> {
    database.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::{
        OldSchema,
        sqlite::{connections::Place, engine::SqliteEngine},
    };

    async fn insert(engine: &SqliteEngine, size: usize) {
        let text = "x".repeat(size);
        let write = engine.run_write(move |db| {
            db.execute_batch("CREATE TABLE IF NOT EXISTS notes (text TEXT)")?;
            db.execute("INSERT INTO notes VALUES (?1)", [&text]).map(drop)
        });
        write.await.unwrap();
    }

    fn count(snapshot: &SqliteSnapshot) -> Result<i64, Error> {
        let count =
            |db: &Connection| db.query_row("SELECT count(*) FROM notes", [], |row| row.get(0));
        snapshot.run(count)
    }

    fn engine(folder: &Path) -> SqliteEngine {
        SqliteEngine::start(Place::File(folder.join("doorward.db")), None, OldSchema::MIGRATE)
            .unwrap()
    }

    #[tokio::test]
    async fn a_snapshot_does_not_see_later_writes() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        insert(&engine, 1).await;
        let snapshot = SqliteSnapshot::begin(&engine.database).unwrap();
        insert(&engine, 1).await;
        assert_eq!(count(&snapshot).unwrap(), 1);
        assert!(
            matches!(SqliteSnapshot::begin(&engine.database), Err(Error::Unavailable(_))),
            "two at a time"
        );
        drop(snapshot);
        assert_eq!(count(&SqliteSnapshot::begin(&engine.database).unwrap()).unwrap(), 2);
    }

    #[tokio::test]
    async fn writes_continue_and_the_log_is_reset_after_the_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        insert(&engine, 1).await;
        let snapshot = SqliteSnapshot::begin(&engine.database).unwrap();
        for _ in 0..80 {
            insert(&engine, 1_000_000).await;
        }
        assert_eq!(count(&snapshot).unwrap(), 1);
        let log = folder.path().join("doorward.db-wal");
        assert!(std::fs::metadata(&log).unwrap().len() > 64 << 20, "the log was not held");
        drop(snapshot);
        // The first checkpoint moves all pages, and the next write starts the log over.
        insert(&engine, 1).await;
        insert(&engine, 1).await;
        assert!(std::fs::metadata(&log).unwrap().len() <= 64 << 20, "the log was not reset");
    }

    #[tokio::test]
    async fn a_snapshot_fails_when_the_connections_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let database = Arc::new(Database::new(Place::File(folder.path().join("doorward.db"))));
        let opened = database.open_first(None, OldSchema::MIGRATE).unwrap();
        let snapshot = SqliteSnapshot::begin(&database).unwrap();
        drop(database.reopen(Some(opened.db)).unwrap());
        let later = SqliteSnapshot::begin(&database).unwrap();
        assert!(matches!(count(&snapshot), Err(Error::Unavailable(_))));
        drop(snapshot);
        assert!(later.run(|_| Ok(())).is_ok(), "the later snapshot was ended");
    }
}
