//! Migrates the schema: numbered files, each applied once. One transaction applies all that are missing.

use std::path::Path;

use rusqlite::Connection;

use super::schema_copy;
use crate::store::{
    self, BackupBefore, NewerSchema, OldSchema, OlderSchema, SchemaChange,
    schema::{Schema, UnknownSchema},
};

/// In order, never changed after a release. The number of applied files is the database's `user_version`.
pub(in crate::store) const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_schema.sql"),
    include_str!("../../../migrations/sqlite/0002_factors.sql"),
    include_str!("../../../migrations/sqlite/0003_operator.sql"),
];

/// Why the schema could not be migrated.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Newer(#[from] NewerSchema),
    #[error(transparent)]
    Older(#[from] OlderSchema),
    #[error(transparent)]
    Unknown(#[from] UnknownSchema),
    #[error(transparent)]
    NotCopied(#[from] schema_copy::Error),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl From<Error> for store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Sqlite(error) => error.into(),
            Error::Newer(error) => error.into(),
            Error::Older(error) => error.into(),
            Error::Unknown(error) => error.into(),
            Error::NotCopied(error) => Self::Failed(error.into()),
        }
    }
}

/// Gives an empty database its schema, and does with an older one what `old` says. `file` is where the database is; none is one in
/// memory.
pub(super) fn prepare(
    db: &mut Connection,
    file: Option<&Path>,
    old: OldSchema,
) -> Result<(), Error> {
    let (found, known) = (known_schema(db, MIGRATIONS)?, MIGRATIONS.len());
    if found == 0 || found == known {
        return run(db, found, MIGRATIONS);
    }
    match old {
        OldSchema::Refuse => Err(OlderSchema { found, known }.into()),
        OldSchema::Keep => Ok(()),
        OldSchema::Migrate { announce, copy } => {
            let announce = |backup| announce(&SchemaChange { from: found, to: known, backup });
            let backup = match file.filter(|_| copy) {
                Some(file) => {
                    let begins = |path: &Path, bytes| {
                        announce(BackupBefore::CopyBegins { path: path.to_owned(), bytes });
                    };
                    BackupBefore::Copy(schema_copy::make(db, file, found, begins)?)
                }
                None => BackupBefore::Waived,
            };
            announce(backup);
            run(db, found, MIGRATIONS)
        }
    }
}

/// The number of the schema of the database, which is one that these migrations make.
fn known_schema(db: &Connection, migrations: &[&str]) -> Result<usize, Error> {
    let found = applied(db)?;
    if found > migrations.len() {
        return Err(NewerSchema { found, known: migrations.len() }.into());
    }
    check(db, found, migrations)?;
    Ok(found)
}

#[cfg(test)]
pub(super) fn apply(db: &mut Connection, migrations: &[&str]) -> Result<(), Error> {
    let found = known_schema(db, migrations)?;
    run(db, found, migrations)
}

/// Applies the migrations after this one, all or none.
fn run(db: &mut Connection, found: usize, migrations: &[&str]) -> Result<(), Error> {
    let transaction = db.transaction()?;
    for (number, migration) in (1..).zip(migrations).skip(found) {
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "user_version", number)?;
    }
    Ok(transaction.commit()?)
}

/// Compares the tables with those that the applied migrations make in an empty database. The number of a migration is written in the
/// transaction of its changes, so none of these is there without it.
fn check(db: &Connection, found: usize, migrations: &[&str]) -> Result<(), Error> {
    let expected = Connection::open_in_memory()?;
    migrations[..found].iter().try_for_each(|migration| expected.execute_batch(migration))?;
    let applied = schema(&expected)?;
    // A migration that fails does so in the database as well, and is reported then.
    let _ = migrations[found..].iter().try_for_each(|migration| expected.execute_batch(migration));
    Ok(schema(db)?.check(found, &applied, &schema(&expected)?, false)?)
}

fn schema(db: &Connection) -> rusqlite::Result<Schema> {
    let mut schema = Schema::default();
    let mut columns = db.prepare(
        "SELECT m.name, c.name, lower(c.type), c.\"notnull\" = 0 AND c.pk = 0 FROM sqlite_master m \
         JOIN pragma_table_info(m.name) c WHERE m.type = 'table'",
    )?;
    let mut rows = columns.query([])?;
    while let Some(row) = rows.next()? {
        let (table, name, kind): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        schema.add_column(&table, &name, &kind, row.get(3)?);
    }
    let mut indexes = db.prepare(
        "SELECT i.\"unique\", i.name, m.name, (SELECT group_concat(name, ', ') FROM pragma_index_info(i.name)) \
         FROM sqlite_master m JOIN pragma_index_list(m.name) i WHERE m.type = 'table'",
    )?;
    let mut rows = indexes.query([])?;
    while let Some(row) = rows.next()? {
        let (name, table, columns): (String, String, String) =
            (row.get(1)?, row.get(2)?, row.get(3)?);
        schema.add_index(row.get(0)?, &name, &table, &columns);
    }
    Ok(schema)
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
    fn a_migration_that_fails_leaves_the_version_from_which_it_began() {
        const FIRST: &str = "CREATE TABLE notes (text TEXT)";
        const SECOND: &str = "CREATE TABLE others (text TEXT)";
        const BROKEN: &str = "CREATE TABLE more (text TEXT); INSERT INTO missing VALUES (1)";
        let mut db = Connection::open_in_memory().unwrap();
        apply(&mut db, &[FIRST]).unwrap();
        assert!(matches!(apply(&mut db, &[FIRST, SECOND, BROKEN]), Err(Error::Sqlite(_))));
        assert_eq!(applied(&db).unwrap(), 1);
        for (table, is_there) in [("notes", true), ("others", false), ("more", false)] {
            assert_eq!(db.table_exists(None, table).unwrap(), is_there, "{table}");
        }
    }

    #[test]
    fn a_database_that_something_else_has_changed_is_refused() {
        const FIRST: &str = "CREATE TABLE notes (id INTEGER NOT NULL PRIMARY KEY, text TEXT); \
                             CREATE INDEX notes_by_text ON notes (text)";
        const SECOND: &str = "ALTER TABLE notes ADD COLUMN number INTEGER NOT NULL DEFAULT 7";
        for (change, difference) in [
            ("DROP INDEX notes_by_text", "index notes_by_text on notes (text) is missing"),
            ("ALTER TABLE notes ADD COLUMN more TEXT", "notes.more text is not known"),
            (SECOND, "notes.number integer not null is not known"),
            ("ALTER TABLE notes RENAME COLUMN text TO body", "notes.text text is missing"),
        ] {
            let mut db = Connection::open_in_memory().unwrap();
            apply(&mut db, &[FIRST]).unwrap();
            db.execute_batch(change).unwrap();
            let refused = apply(&mut db, &[FIRST, SECOND]).unwrap_err().to_string();
            assert!(
                refused.contains("schema 1 of doorward") && refused.contains(difference),
                "{refused}"
            );
            assert_eq!(applied(&db).unwrap(), 1);
        }
        // The tables of another program.
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE notes (mine TEXT)").unwrap();
        let refused = apply(&mut db, &[FIRST]).unwrap_err().to_string();
        assert!(
            refused.contains("notes.mine text is not known") && refused.contains("of its own"),
            "{refused}"
        );
        // Litestream adds tables of its own.
        let mut db = Connection::open_in_memory().unwrap();
        apply(&mut db, &[FIRST]).unwrap();
        db.execute_batch("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
            .unwrap();
        apply(&mut db, &[FIRST, SECOND]).unwrap();
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
