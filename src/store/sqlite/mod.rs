//! SQLite, the embedded database of one process.

mod connections;
mod ended_tokens;
mod engine;
mod error_class;
mod health;
#[cfg(test)]
mod login_cost;
mod migrations;
mod report;
mod schema_copy;
mod snapshot;
mod statement;
mod transaction;
mod writer;

use std::{path::Path, sync::Arc};

#[cfg(test)]
pub(super) use self::{connections::CACHED_STATEMENTS, migrations::MIGRATIONS, statement::prepare};
use self::{
    connections::{MemoryDatabase, Place},
    engine::SqliteEngine,
};
use super::{Error, OldSchema};
use crate::data_folder::Reserve;

/// The number of the newest schema that this version knows.
pub(super) const SCHEMA: usize = migrations::MIGRATIONS.len();

/// Opens a database file. Creates it if it is missing.
pub(super) fn open(
    file: &Path,
    reserve: Option<Arc<Reserve>>,
    old: OldSchema,
) -> Result<SqliteEngine, Error> {
    SqliteEngine::start(Place::File(file.to_owned()), reserve, old)
}

/// An empty database in the memory of this process. It ends with the engine.
pub(super) fn in_memory() -> Result<SqliteEngine, Error> {
    SqliteEngine::start(Place::Memory(MemoryDatabase::new()?), None, OldSchema::MIGRATE)
}

/// The steps in the plan of a statement that read a whole table, or sort what they have read.
#[cfg(test)]
pub(super) fn unbounded_steps(sql: &str) -> Vec<String> {
    let db = rusqlite::Connection::open_in_memory().unwrap();
    for migration in MIGRATIONS {
        db.execute_batch(migration).unwrap();
    }
    let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.replace('$', "?"))).unwrap();
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let step: String = row.get(3).unwrap();
        if step.starts_with("SCAN") || step.contains("TEMP B-TREE") {
            steps.push(step);
        }
    }
    steps
}
