//! What becomes of a database that an older version has written. Only a server, `doorward migrate` and, on PostgreSQL,
//! `doorward restore` change its schema.

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
        /// Called before a file is copied, and before the first change.
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
    /// A copy of the file, which is made first. This can take minutes.
    CopyBegins { path: PathBuf, bytes: u64 },
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
        let way_back = match backup {
            BackupBefore::CopyBegins { path, bytes } => {
                let (path, size) = (path.display(), bytes.div_ceil(1 << 20));
                return write!(
                    f,
                    "copying the database ({size} MiB) to {path} before its schema is changed from {from} to {to}"
                );
            }
            BackupBefore::Copy(path) => {
                format!("a copy of the database before the change is {}", path.display())
            }
            BackupBefore::Waived => "no copy of it was made".to_owned(),
            BackupBefore::OfServer => {
                "the version before does not start on it any more, so a backup of before (pg_dump, or `doorward backup` of that \
                 version) is the way back"
                    .to_owned()
            }
        };
        write!(f, "changing the schema of the database from {from} to {to}; {way_back}")
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
