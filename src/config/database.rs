//! The database: `database_url`, `[database]` and `data_folder`.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::{
    key::Key,
    value::{Choice, Custom, HOUR, Number, OptionalPath, SECOND, Seconds, field},
};
use crate::{
    data_folder::DataFolder,
    store::{MemoryDatabase, PostgresUrl},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "database_url",
        purpose: "Database: a SQLite file, whose folder also holds the signing keys, or PostgreSQL",
        value: &Custom {
            field: field!(database),
            parse: DatabaseUrl::parse,
            show: ToString::to_string,
            allowed: || {
                let postgres = PostgresUrl::SYNTAX;
                format!("sqlite:// and a file, such as sqlite://data/doorward.db, or {postgres}")
            },
            secret: true,
        },
    },
    Key {
        name: "database.password_file",
        purpose: "File with the password for PostgreSQL, read for each connection; none uses the one in the URL",
        value: &OptionalPath { field: field!(postgres.password_file), target: "file" },
    },
    Key {
        name: "database.connections",
        purpose: "Maximum number of PostgreSQL connections for writes; reads and change polling take three more",
        value: &Number { field: field!(postgres.connections), range: 1..=100 },
    },
    Key {
        name: "database.statements",
        purpose: "How statements are sent to PostgreSQL: unnamed works with every pooler, named costs the server less",
        value: &Choice {
            field: field!(postgres.named_statements),
            choices: &[("unnamed", false), ("named", true)],
        },
    },
    Key {
        name: "database.outage_grace",
        purpose: "How long guards admit cached callers while PostgreSQL does not answer",
        value: &Seconds {
            field: field!(postgres.outage_grace),
            range: SECOND..=HOUR,
            examples: "60s or 10m",
        },
    },
    Key {
        name: "data_folder",
        purpose: "Folder of the control socket of a server on PostgreSQL; each server needs its own",
        value: &OptionalPath { field: field!(data_folder), target: "folder" },
    },
];

/// The kind of database and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file. Its folder also belongs to Doorward.
    Sqlite(PathBuf),
    /// PostgreSQL, which several instances can share.
    Postgres(PostgresUrl),
    /// The memory of this process, for `doorward dev`. No setting selects it.
    Memory(MemoryDatabase),
}

impl DatabaseUrl {
    /// Makes sure that a SQLite file exists, for commands that must not create one.
    ///
    /// # Errors
    /// If there is no file, or it cannot be accessed.
    pub fn ensure_exists(&self) -> Result<(), InaccessibleDatabase> {
        let Self::Sqlite(file) = self else { return Ok(()) };
        let found = match fs::metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_being_restored(file) => {
                Ok(())
            }
            found => found.map(drop),
        };
        found.map_err(|error| InaccessibleDatabase { file: absolute(file), error })
    }

    /// Whether it is a SQLite file that nobody has created yet.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Sqlite(file)
            if matches!(file.try_exists(), Ok(false)) && !is_being_restored(file))
    }

    /// `None` if the text is the URL of neither database.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(file) = text.strip_prefix("sqlite://") else {
            return PostgresUrl::parse(text).map(Self::Postgres);
        };
        let names_a_file = !file.is_empty() && !file.ends_with('/') && !file.contains(['?', '#']);
        names_a_file.then(|| Self::Sqlite(file.into()))
    }
}

/// Whether a restore was interrupted while this file is moved. Opening its folder completes the restore.
fn is_being_restored(file: &Path) -> bool {
    DataFolder::is_being_replaced(folder_of(file))
}

/// The SQLite file does not exist or cannot be accessed. The message says what to do.
#[derive(Debug)]
pub struct InaccessibleDatabase {
    file: PathBuf,
    error: io::Error,
}

/// Where the database URL is set.
const URL_SOURCES: &str =
    "--database-url, DOORWARD_DATABASE_URL or database_url in the file that --config names";

impl fmt::Display for InaccessibleDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, error) = (self.file.display(), &self.error);
        match error.kind() {
            io::ErrorKind::NotFound => write!(
                f,
                "there is no database {file}: set another one with {URL_SOURCES}, or create it with `doorward serve`"
            ),
            io::ErrorKind::PermissionDenied => write!(
                f,
                "cannot access the database {file}: {error}: run this command as the user that the server runs as, \
                 or set another database with {URL_SOURCES}"
            ),
            _ => write!(
                f,
                "cannot access the database {file}: {error}: set another one with {URL_SOURCES}"
            ),
        }
    }
}

impl std::error::Error for InaccessibleDatabase {}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder of a SQLite file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => write!(f, "sqlite://{}", file.display()),
            Self::Postgres(url) => url.fmt(f),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_an_interrupted_restore_has_not_moved_yet_exists() {
        let folder = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        assert!(url.is_missing() && url.ensure_exists().is_err());
        fs::create_dir(folder.path().join("restore-placing-1800000000")).unwrap();
        assert!(!url.is_missing() && url.ensure_exists().is_ok());
    }

    #[test]
    fn a_missing_database_is_distinguished_from_one_that_cannot_be_accessed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let message = |file: &str| {
            let error = DatabaseUrl::Sqlite(folder.path().join(file)).ensure_exists().unwrap_err();
            error.to_string().replace(&format!("{}/", folder.path().display()), "/")
        };
        assert!(message("no.db").starts_with("there is no database /no.db: set another one with "));
        let error = message("file/no.db");
        assert!(error.starts_with("cannot access the database /file/no.db: Not a directory"));
        let denied = io::ErrorKind::PermissionDenied.into();
        let denied =
            InaccessibleDatabase { file: "/data/doorward.db".into(), error: denied }.to_string();
        assert!(denied.contains("permission denied") && denied.contains("as the user"), "{denied}");
    }
}
