//! A consistent read of the whole database for a backup, in one transaction on a connection of its own.

use tokio_postgres::Row;

use super::{
    connection::{Connection, Connector},
    signing_keys::{cookie_secret_from_rows, keys_from_rows},
    statements as sql,
    value::Value,
};
use crate::store::{Error, archive::KeySnapshot};

/// The state of the database at one moment.
pub(super) struct PostgresSnapshot {
    db: Connection,
}

impl PostgresSnapshot {
    pub(super) async fn begin(connector: &Connector) -> Result<Self, Error> {
        let db = connector.connect().await?;
        db.batch(sql::BEGIN_SNAPSHOT).await?;
        // The transaction sees the state at its first query.
        db.query(sql::HAS_USERS, &[]).await?;
        Ok(Self { db })
    }

    pub(super) async fn keys(&self) -> Result<KeySnapshot, Error> {
        let keys = keys_from_rows(&self.all_rows(sql::KEYS).await?)?;
        let cookie_secret = cookie_secret_from_rows(&self.all_rows(sql::COOKIE_SECRET).await?)?;
        Ok(KeySnapshot { keys, cookie_secret })
    }

    pub(super) async fn rows(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, Error> {
        Ok(self.db.query(sql, &values.into()).await?)
    }

    pub(super) async fn all_rows(&self, sql: &'static str) -> Result<Vec<Row>, Error> {
        Ok(self.db.query(sql, &[]).await?)
    }
}
