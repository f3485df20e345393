//! Reads on a few shared connections.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::time::{sleep, timeout};

use super::{MAX_ATTEMPTS, jitter};
use crate::store::{
    Error,
    postgres::{
        connection::{Connector, describe},
        error_class::ErrorClass,
        shared_connection::SharedConnection,
    },
    row::Row,
    value::Value,
};

/// The connections that reads share.
pub(super) struct Readers {
    connections: [SharedConnection; 2],
    next: AtomicUsize,
    named_statements: bool,
}

impl Readers {
    pub(super) fn new(named_statements: bool) -> Self {
        Self { connections: Default::default(), next: AtomicUsize::new(0), named_statements }
    }

    /// Opens all connections, so that a start fails if any of them fails.
    pub(super) async fn connect(&self, connector: &Connector) -> Result<(), Error> {
        for connection in &self.connections {
            connection.connect(connector).await?;
        }
        Ok(())
    }

    /// Drops all connections.
    pub(super) fn disconnect(&self) {
        self.connections.iter().for_each(SharedConnection::discard_current);
    }

    /// Runs a query on the next connection. Retries after a broken connection or a conflict.
    pub(super) async fn query(
        &self,
        connector: &Connector,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, Error> {
        /// Short, because every read uses an index.
        const READ_TIMEOUT: Duration = Duration::from_secs(2);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = &self.connections[number % self.connections.len()];
        let mut attempts = 0;
        loop {
            attempts += 1;
            let db = connection.connect(connector).await?;
            let rows = async {
                if self.named_statements {
                    db.query_named(sql, values).await
                } else {
                    db.query(sql, values).await
                }
            };
            let error = match timeout(READ_TIMEOUT, rows).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) => error,
                Err(_) => {
                    connection.discard(&db);
                    return Err(Error::Unavailable("the query timed out".into()));
                }
            };
            match ErrorClass::of(&error) {
                ErrorClass::Connection => connection.discard(&db),
                ErrorClass::Conflict => {}
                _ => return Err(error.into()),
            }
            if attempts == MAX_ATTEMPTS {
                return Err(Error::Unavailable(describe(&error)));
            }
            sleep(jitter(Duration::from_millis(20))).await;
        }
    }
}
