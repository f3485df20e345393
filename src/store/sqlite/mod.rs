//! SQLite, the embedded database of one process.

mod archive;
mod connections;
mod credentials;
mod emergency;
mod ended_tokens;
mod engine;
mod error_class;
mod health;
mod ids;
mod imported_hashes;
mod imports;
mod invitations;
mod known_networks;
mod login_failures;
mod mailing;
mod migrations;
mod one_times;
mod outbox;
mod report;
mod row;
mod sessions;
mod snapshot;
mod users;
mod writer;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;

use self::{
    connections::{MemoryDatabase, Place},
    engine::Engine,
};
use super::{
    Changes, DatabaseReport, Error, NotReady, Sizes, Store, StoreCounts, UserStore,
    counts::{SIZES, size},
};
use crate::{clock::Timestamp, data_folder::Reserve};

/// The number of the newest schema that this version knows.
pub(super) const SCHEMA: usize = migrations::MIGRATIONS.len();

/// A store in one SQLite file or in memory, for one process.
pub struct SqliteStore {
    engine: Engine,
}

impl SqliteStore {
    /// Opens the database file, creates it if it is missing and migrates its schema. With a reserve, the database can be
    /// opened and sessions can be ended on a full disk.
    ///
    /// # Errors
    /// If the file cannot be opened, or a newer version has written it.
    pub fn open(file: &Path, reserve: Option<Arc<Reserve>>) -> Result<Self, Error> {
        Ok(Self { engine: Engine::start(Place::File(file.to_owned()), reserve)? })
    }

    /// An empty database in the memory of this process. It ends with this store.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn in_memory() -> Result<Self, Error> {
        let memory = MemoryDatabase::new()?;
        Ok(Self { engine: Engine::start(Place::Memory(memory), None)? })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                let codes = credentials::delete_expired(db, now, limit)?;
                let sessions = sessions::delete_expired(db, now, limit)?;
                let used = credentials::delete_expired_used_codes(db, now, limit)?;
                let one_times = one_times::delete_expired(db, now, limit)?;
                let invitations = invitations::delete_expired(db, now, limit)?;
                let mails = outbox::delete_given_up(db, now, limit)?;
                let counts = [codes, sessions, used, one_times, invitations, mails];
                Ok(counts.into_iter().max().unwrap_or(0))
            })
            .await
    }

    fn changes(&self) -> &Changes {
        self.engine.changes()
    }

    fn counts(&self) -> &StoreCounts {
        self.engine.counts()
    }

    async fn sizes(&self) -> Result<Sizes, Error> {
        let row = |row: &rusqlite::Row<'_>| {
            Ok(Sizes {
                users: size(row.get(0)?),
                sessions: size(row.get(1)?),
                mail_waiting: size(row.get(2)?),
                mail_given_up: size(row.get(3)?),
                imported_hashes: size(row.get(4)?),
            })
        };
        self.engine.read(move |db| db.query_row(SIZES, [], row)).await
    }

    async fn has_known_schema(&self) -> Result<bool, Error> {
        let applied = self.engine.read(migrations::applied).await?;
        Ok(applied <= migrations::MIGRATIONS.len())
    }

    async fn check(&self) -> Result<(), NotReady> {
        self.has_users().await.map_err(NotReady::cannot_read)?;
        self.engine.check()
    }

    async fn report(&self) -> Result<DatabaseReport, Error> {
        self.engine.read(report::report).await
    }
}

/// A limit in SQLite's type.
fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
