//! Migrates the schema with numbered files. Each statement can run again, because several instances may migrate at the
//! same time and some engines have no transactional DDL.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::{
    connection::Connection,
    engine::jitter,
    live_schema::{of_database, of_migrations, statements_of},
    statements,
};
use crate::store::{
    BackupBefore, Error, NewerSchema, OldSchema, OlderSchema, SchemaChange, row::Row,
};

/// In order, never changed after a release. The table `schema_versions` has the numbers of the applied files.
pub(in crate::store) const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/0001_schema.sql"),
    include_str!("../../../migrations/postgres/0002_factors.sql"),
    include_str!("../../../migrations/postgres/0003_operator.sql"),
];

pub(in crate::store) const CREATE_VERSIONS_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT NOT NULL PRIMARY KEY)";

/// Gives an empty database its schema, and does with an older one what `old` says.
pub(super) async fn apply(db: &Connection, old: OldSchema) -> Result<(), Error> {
    let rows = match db.query(statements::SCHEMA_VERSION, &[]).await {
        // Only in an empty database: CREATE TABLE IF NOT EXISTS needs a privilege even if the table exists.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
            run(db, CREATE_VERSIONS_TABLE).await?;
            Vec::new()
        }
        rows => rows?,
    };
    let found = applied(&rows)?;
    let known = MIGRATIONS.len();
    if found > known {
        return Err(NewerSchema { found, known }.into());
    }
    let (expected, newest) = (of_migrations(&MIGRATIONS[..found]), of_migrations(MIGRATIONS));
    of_database(db).await?.check(found, &expected, &newest, true)?;
    if found == known {
        return Ok(());
    }
    if found > 0 {
        match old {
            OldSchema::Refuse => return Err(OlderSchema { found, known }.into()),
            OldSchema::Keep => return Ok(()),
            OldSchema::Migrate { announce, .. } => {
                announce(&SchemaChange { from: found, to: known, backup: BackupBefore::OfServer });
            }
        }
    }
    for (number, migration) in (1_i64..).zip(MIGRATIONS).skip(found) {
        for statement in statements_of(migration) {
            run(db, statement).await?;
        }
        db.execute(statements::ADD_SCHEMA_VERSION, &[number.into()]).await?;
    }
    // A statement does nothing if what it creates exists.
    Ok(of_database(db).await?.check(known, &newest, &newest, true)?)
}

/// The number of applied files, from the rows of [`statements::SCHEMA_VERSION`].
pub(super) fn applied(rows: &[Row]) -> Result<usize, Error> {
    let found: Option<i64> = rows.first().map(|row| row.get(0)).transpose()?.flatten();
    Ok(usize::try_from(found.unwrap_or(0)).unwrap_or(usize::MAX))
}

/// Runs a statement of the schema. Two instances that create the same table conflict in PostgreSQL's catalogue.
async fn run(db: &Connection, statement: &str) -> Result<(), Error> {
    const MAX_ATTEMPTS: usize = 20;
    for _ in 0..MAX_ATTEMPTS {
        match db.batch(statement).await {
            Ok(()) => return Ok(()),
            Err(error) if error.code().is_some_and(is_conflict) => {
                tokio::time::sleep(jitter(Duration::from_millis(100))).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Unavailable("other instances are creating the schema".into()))
}

fn is_conflict(code: &SqlState) -> bool {
    [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        // "tuple concurrently updated"
        SqlState::INTERNAL_ERROR,
    ]
    .contains(code)
}

#[cfg(test)]
mod tests {
    use super::{super::live_schema::words_of, *};

    /// During an upgrade, instances of the previous version still read and write the database.
    #[test]
    fn a_migration_only_adds_what_the_previous_version_need_not_know() {
        let statements = MIGRATIONS[1..].iter().flat_map(|migration| {
            statements_of(migration).map(move |statement| (*migration, statement))
        });
        for (migration, statement) in statements {
            let words = words_of(statement);
            let is_new = |table: &str| {
                let begins = format!("CREATE TABLE IF NOT EXISTS {table} ");
                migration.contains(&begins)
            };
            let only_adds = match &words[..] {
                ["ALTER", "TABLE", _, "ADD", "COLUMN", "IF", "NOT", "EXISTS", definition @ ..] => {
                    definition.contains(&"DEFAULT")
                        || !definition.windows(2).any(|words| words == ["NOT", "NULL"])
                }
                ["CREATE", "TABLE" | "INDEX", "IF", "NOT", "EXISTS", ..]
                | ["INSERT" | "UPDATE", ..]
                | [] => true,
                // The previous version writes no row of it.
                ["CREATE", "UNIQUE", "INDEX", "IF", "NOT", "EXISTS", _, "ON", table, ..] => {
                    is_new(table)
                }
                _ => false,
            };
            assert!(only_adds, "{statement}");
        }
    }
}
