//! Migrates the schema: numbered files, each applied once in one transaction.

use rusqlite::Connection;

use crate::store::{self, NewerSchema};

/// In order, never changed after a release. The number of applied files is the database's `user_version`.
pub(in crate::store) const MIGRATIONS: &[&str] =
    &[include_str!("../../../migrations/sqlite/0001_schema.sql")];

/// Why the schema could not be migrated.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Newer(#[from] NewerSchema),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl From<Error> for store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Sqlite(error) => error.into(),
            Error::Newer(error) => error.into(),
        }
    }
}

pub(super) fn apply(db: &mut Connection, migrations: &[&str]) -> Result<(), Error> {
    let found = applied(db)?;
    if found > migrations.len() {
        return Err(NewerSchema { found, known: migrations.len() }.into());
    }
    for (number, migration) in (1..).zip(migrations).skip(found) {
        let transaction = db.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

pub(super) fn applied(db: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_applied_once() {
        let mut db = Connection::open_in_memory().unwrap();
        apply(&mut db, MIGRATIONS).unwrap();
        apply(&mut db, MIGRATIONS).unwrap();
        assert_eq!(applied(&db).unwrap(), MIGRATIONS.len());
    }

    #[test]
    fn a_later_version_applies_only_new_migrations_and_keeps_the_rows() {
        const FIRST: &str = "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')";
        const SECOND: &str = "ALTER TABLE notes ADD COLUMN number INTEGER NOT NULL DEFAULT 7";
        let mut db = Connection::open_in_memory().unwrap();
        apply(&mut db, &[FIRST]).unwrap();
        apply(&mut db, &[FIRST, SECOND]).unwrap();
        let rows: Vec<(String, i64)> = db
            .prepare("SELECT text, number FROM notes")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(rows, [("kept".to_owned(), 7)]);
        assert_eq!(applied(&db).unwrap(), 2);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        const FIRST: &str = "CREATE TABLE notes (text TEXT)";
        const BROKEN: &str = "CREATE TABLE others (text TEXT); INSERT INTO missing VALUES (1)";
        let mut db = Connection::open_in_memory().unwrap();
        assert!(matches!(apply(&mut db, &[FIRST, BROKEN]), Err(Error::Sqlite(_))));
        assert_eq!(applied(&db).unwrap(), 1);
        assert!(!db.table_exists(None, "others").unwrap());
        assert!(db.table_exists(None, "notes").unwrap());
    }

    #[test]
    fn a_database_of_a_newer_version_is_not_changed() {
        let mut db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "user_version", 1000).unwrap();
        let refused = apply(&mut db, MIGRATIONS);
        assert!(matches!(refused, Err(Error::Newer(NewerSchema { found: 1000, .. }))));
        assert!(!db.table_exists(None, "users").unwrap());
    }
}
