//! Transactions and savepoints. Those of rusqlite parse `BEGIN`, `SAVEPOINT`, `RELEASE` and `COMMIT` for every write.

use rusqlite::Connection;

/// A transaction that writes. It is rolled back unless it is committed.
pub(super) struct Transaction<'db>(&'db Connection);

impl<'db> Transaction<'db> {
    /// The connection is borrowed alone, because transactions do not nest.
    pub(super) fn begin(db: &'db mut Connection) -> rusqlite::Result<Self> {
        run(db, "BEGIN IMMEDIATE")?;
        Ok(Self(db))
    }

    /// Begins a part that can be rolled back alone. One at a time.
    pub(super) fn savepoint(&mut self) -> rusqlite::Result<Savepoint<'_>> {
        run(self.0, "SAVEPOINT part")?;
        Ok(Savepoint { db: self.0, is_released: false })
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        run(self.0, "COMMIT")
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite itself has rolled back after some errors.
        if !self.0.is_autocommit() {
            let _ = run(self.0, "ROLLBACK");
        }
    }
}

/// A part of a transaction. It is rolled back unless it is released.
pub(super) struct Savepoint<'db> {
    pub(super) db: &'db Connection,
    is_released: bool,
}

impl Savepoint<'_> {
    /// Leaves what was written to the transaction.
    pub(super) fn release(mut self) -> rusqlite::Result<()> {
        run(self.db, "RELEASE part")?;
        self.is_released = true;
        Ok(())
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if !self.is_released && !self.db.is_autocommit() {
            let _ = run(self.db, "ROLLBACK TO part").and_then(|()| run(self.db, "RELEASE part"));
        }
    }
}

fn run(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(drop)
}
