//! Options of the PostgreSQL store. They exist without the feature `postgres` too, so that every build reads the same
//! settings.

use std::{path::PathBuf, time::Duration};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// A file with the password, read for each connection.
    pub password_file: Option<PathBuf>,
    /// The number of connections for writes.
    pub connections: usize,
    /// Whether reads use named statements, which cost the server less and do not work behind every pooler.
    pub named_statements: bool,
    /// For how long cached callers are trusted while the database is unreachable.
    pub outage_grace: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            password_file: None,
            connections: 8,
            named_statements: false,
            outage_grace: Duration::from_secs(60),
        }
    }
}
