//! Brings the schema up to date: numbered files, each applied once and whole.

use rusqlite::Connection;

use crate::store;

/// In order, never changed once released. The number of those applied is the file's `user_version`.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_users_and_sessions.sql"),
    include_str!("../../../migrations/sqlite/0002_accounts.sql"),
    include_str!("../../../migrations/sqlite/0003_endings.sql"),
    include_str!("../../../migrations/sqlite/0004_moves.sql"),
    include_str!("../../../migrations/sqlite/0005_verified_email.sql"),
    include_str!("../../../migrations/sqlite/0006_login_failures.sql"),
];

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "the database was written by a newer doorward (schema {found}, this one knows {known}): \
         start that version, or restore a backup from before the upgrade"
    )]
    Newer { found: usize, known: usize },
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl From<Error> for store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Sqlite(error) => error.into(),
            newer @ Error::Newer { .. } => Self::Failed(newer.into()),
        }
    }
}

pub(super) fn apply(db: &mut Connection) -> Result<(), Error> {
    let found = applied(db)?;
    if found > MIGRATIONS.len() {
        return Err(Error::Newer { found, known: MIGRATIONS.len() });
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(found) {
        let transaction = db.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

fn applied(db: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_applied_once() {
        let mut db = Connection::open_in_memory().unwrap();
        apply(&mut db).unwrap();
        apply(&mut db).unwrap();
        assert_eq!(applied(&db).unwrap(), MIGRATIONS.len());
    }

    #[test]
    fn a_user_of_the_first_schema_is_kept() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(MIGRATIONS[0]).unwrap();
        db.pragma_update(None, "user_version", 1).unwrap();
        let user =
            "INSERT INTO users VALUES ('id', 'Ada', 'a@b.co', 'a@b.co', NULL, '', 0, 1, 1, NULL)";
        db.execute_batch(user).unwrap();
        apply(&mut db).unwrap();
        let defaults = "SELECT password_version, email_verified FROM users WHERE id = 'id'";
        let kept = db.query_row(defaults, [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(kept, Ok((0, false)));
    }

    #[test]
    fn a_database_of_a_newer_version_is_left_alone() {
        let mut db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "user_version", 1000).unwrap();
        assert!(matches!(apply(&mut db), Err(Error::Newer { found: 1000, .. })));
    }
}
