//! A consistent read of the whole database for a backup, in one transaction on a connection of its own.

use async_trait::async_trait;

use super::{
    connection::{Connection, Connector},
    signing_keys::{keys_from_rows, row_of, secret_from_rows},
    statements as sql,
};
use crate::{
    store::{
        Error,
        engine::{KeySnapshot, SnapshotReader},
        row::Row,
        value::Value,
    },
    token::shared_secret::{SecretName, SharedSecrets},
};

/// The state of the database at one moment.
pub(super) struct PostgresSnapshot {
    db: Connection,
}

impl PostgresSnapshot {
    pub(super) async fn begin(connector: &Connector) -> Result<Self, Error> {
        let db = connector.connect().await?;
        db.batch(sql::BEGIN_SNAPSHOT).await?;
        // The transaction sees the state at its first query.
        db.query(sql::SCHEMA_VERSION, &[]).await?;
        Ok(Self { db })
    }
}

#[async_trait]
impl SnapshotReader for PostgresSnapshot {
    async fn read(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        Ok(self.db.query(sql, &values).await?)
    }

    async fn keys(&self) -> Result<Option<KeySnapshot>, Error> {
        let keys = keys_from_rows(&self.db.query(sql::KEYS, &[]).await?)?;
        let mut secrets = SharedSecrets::new();
        for name in SecretName::ALL {
            let rows = self.db.query(sql::SHARED_SECRET, &[row_of(name).into()]).await?;
            secrets.extend(secret_from_rows(&rows)?.map(|secret| (name, secret)));
        }
        Ok(Some(KeySnapshot { keys, secrets }))
    }
}
