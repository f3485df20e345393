//! Replaces all rows in one transaction, for `doorward restore`.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::{
    PostgresUrl, archive::insertions, connection::Connection, engine::Engine,
    error_class::ErrorClass, migrations, row::column, signing_keys::key_insertions,
    statements as sql, value::Value,
};
use crate::{
    clock::Timestamp,
    store::{
        Error, PostgresOptions, RestoreError,
        archive::{KeySnapshot, Page, Restoration},
    },
};

/// Connections that are idle for this long belong to no running server.
const IDLE_TIME: Duration = Duration::from_secs(5);

/// Connects to the database and deletes its contents in a transaction. Refuses a database that a server uses, and one with
/// users unless `replace` is true.
pub(crate) async fn begin_restoration(
    url: &PostgresUrl,
    options: PostgresOptions,
    replace: bool,
) -> Result<Box<dyn Restoration>, RestoreError> {
    let engine = Engine::new(url, options).map_err(|error| Error::Failed(error.into()))?;
    let db = engine.connector().connect().await.map_err(Error::from)?;
    migrations::apply(&db).await?;
    ensure_unused(&db).await?;
    let change_id = Uuid::new_v4();
    let begin = async {
        db.batch(sql::BEGIN).await?;
        if !replace && !db.query(sql::HAS_USERS, &[]).await?.is_empty() {
            return Ok(false);
        }
        for statement in sql::DELETE_CONTENTS {
            db.execute(statement, &[]).await?;
        }
        db.execute(sql::ADD_CHANGE, &[change_id.into(), None::<Uuid>.into()]).await?;
        Ok::<_, tokio_postgres::Error>(true)
    };
    match begin.await.map_err(Error::from)? {
        true => Ok(Box::new(PostgresRestoration { engine, db, change_id })),
        false => Err(RestoreError::NotEmpty),
    }
}

/// Returns an error if a server uses the database. It polls for changes four times a second, so that its connections are
/// never idle for long. A pooler keeps the connections of a stopped server open, but they stay idle.
async fn ensure_unused(db: &Connection) -> Result<(), RestoreError> {
    let (started, mut first) = (Instant::now(), None);
    while started.elapsed() < IDLE_TIME {
        let rows = match db.query(sql::LAST_ACTIVITY, &[]).await {
            // Some engines have no such table.
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(()),
            rows => rows.map_err(Error::from)?,
        };
        let last = rows.first().map(|row| column::<Option<SystemTime>>(row, 0)).transpose()?;
        let Some(last) = last.flatten() else { return Ok(()) };
        if last > *first.get_or_insert(last) {
            return Err(RestoreError::InUse);
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

struct PostgresRestoration {
    engine: Engine,
    db: Connection,
    change_id: Uuid,
}

impl PostgresRestoration {
    /// Sends all statements at once. Each of them inserts one row.
    async fn insert(&self, statements: Vec<(&'static str, Vec<Value>)>) -> Result<(), Error> {
        let counts = statements.iter().map(|(sql, values)| self.db.execute(sql, values));
        let counts = try_join_all(counts).await?;
        if counts.contains(&0) {
            return Err(Error::Failed("a record occurs twice in the backup".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl Restoration for PostgresRestoration {
    async fn add(&mut self, page: Page) -> Result<(), Error> {
        self.insert(insertions(&page)).await
    }

    async fn add_keys(&mut self, keys: &KeySnapshot, signs_at: Timestamp) -> Result<(), Error> {
        self.insert(key_insertions(&keys.keys, signs_at)).await?;
        match &keys.cookie_secret {
            Some(secret) => {
                let values = vec![secret.as_bytes().to_vec().into()];
                self.insert(vec![(sql::ADD_COOKIE_SECRET, values)]).await
            }
            None => Ok(()),
        }
    }

    async fn commit(self: Box<Self>) -> Result<(), Error> {
        self.db.clear_warnings();
        let is_lost = match self.db.batch(sql::COMMIT).await {
            Ok(()) => self.db.was_warned(),
            Err(error) if ErrorClass::of(&error) == ErrorClass::Connection => true,
            Err(error) => return Err(error.into()),
        };
        if is_lost && !self.engine.has_committed(self.change_id).await? {
            return Err(Error::Unavailable("the commit failed: nothing was restored".into()));
        }
        Ok(())
    }
}
