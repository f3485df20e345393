//! What becomes of a database that an older version has written. Only a server and `doorward migrate` change its schema.

use std::{fmt, path::PathBuf};

use super::Error;

/// What to do with a database whose schema is older than that of this version. An empty database gets the schema in any case.
#[derive(Clone, Copy)]
pub enum OldSchema {
    /// Refuse it, and say what to do.
    Refuse,
    /// Leave it as it is, for what reads nothing that a later schema has added.
    Keep,
    /// Change it.
    Migrate {
        /// Called before the first change, when a copy is at hand.
        announce: fn(&SchemaChange),
        /// Whether a file is copied before.
        copy: bool,
    },
}

impl OldSchema {
    /// What a server does: it keeps a copy, and its log says so.
    pub const MIGRATE: Self =
        Self::Migrate { announce: |change| tracing::info!("{change}"), copy: true };
}

/// A change of the schema that is about to begin.
#[derive(Debug)]
pub struct SchemaChange {
    pub from: usize,
    pub to: usize,
    pub backup: BackupBefore,
}

/// The way back from a change of the schema.
#[derive(Debug)]
pub enum BackupBefore {
    /// A copy of the file.
    Copy(PathBuf),
    /// The operator has waived a copy.
    Waived,
    /// A database server, which this program does not copy.
    OfServer,
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, backup } = self;
        write!(f, "changing the schema of the database from {from} to {to}")?;
        match backup {
            BackupBefore::Copy(path) => {
                write!(f, "; a copy of the database before the change is {}", path.display())
            }
            BackupBefore::Waived => write!(f, "; no copy of it was made"),
            BackupBefore::OfServer => write!(
                f,
                "; the version before does not start on it any more, so a backup of before (pg_dump, or `doorward backup` of that \
                 version) is the way back"
            ),
        }
    }
}

/// The schema of the database is older than that of this version, and nothing may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an older doorward has written the database (schema {found}, this version reads schema {known}), and this command does not \
     change the schema: start the server or run `doorward migrate`, which change it, or use the version that has written it; \
     nothing was changed"
)]
pub(crate) struct OlderSchema {
    pub(super) found: usize,
    pub(super) known: usize,
}

impl From<OlderSchema> for Error {
    fn from(error: OlderSchema) -> Self {
        Self::Failed(error.into())
    }
}

impl Error {
    /// Whether the schema is older than that of this version.
    pub(crate) fn is_older_schema(&self) -> bool {
        matches!(self, Self::Failed(cause) if cause.is::<OlderSchema>())
    }
}
