//! Which database is used, and what to say when it is not there.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::store::PostgresUrl;

/// Which database, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of the embedded database, which its folder belongs to as well.
    Sqlite(PathBuf),
    /// PostgreSQL, which several instances may share.
    Postgres(PostgresUrl),
}

impl DatabaseUrl {
    /// Makes sure that the file of the embedded database is there, for whoever must not make one.
    ///
    /// # Errors
    /// If there is none, or nobody can tell.
    pub fn ensure_exists(&self) -> Result<(), NotFound> {
        let Self::Sqlite(file) = self else { return Ok(()) };
        let found = fs::metadata(file).map(drop);
        found.map_err(|error| NotFound { file: absolute(file), error })
    }

    /// None if it is neither of the two.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(file) = text.strip_prefix("sqlite://") else {
            return PostgresUrl::parse(text).map(Self::Postgres);
        };
        let names_a_file = !file.is_empty() && !file.ends_with('/') && !file.contains(['?', '#']);
        names_a_file.then(|| Self::Sqlite(file.into()))
    }
}

/// The embedded database is not there, or cannot be looked for. Says what to do.
#[derive(Debug)]
pub struct NotFound {
    file: PathBuf,
    error: io::Error,
}

/// How another database is named.
const NAME_DATABASE: &str =
    "--database-url, DOORWARD_DATABASE_URL or database_url in the file that --config names";

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, error) = (self.file.display(), &self.error);
        match error.kind() {
            io::ErrorKind::NotFound => write!(
                f,
                "there is no database {file}: name the right one with {NAME_DATABASE}, or make it with `doorward serve`"
            ),
            io::ErrorKind::PermissionDenied => write!(
                f,
                "cannot look for the database {file}: {error}: run this command as the user that the server runs as, \
                 or name another database with {NAME_DATABASE}"
            ),
            _ => write!(
                f,
                "cannot look for the database {file}: {error}: name the right one with {NAME_DATABASE}"
            ),
        }
    }
}

impl std::error::Error for NotFound {}

/// The path as it reads from any folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder that belongs to the embedded database in this file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Never shows a password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => write!(f, "sqlite://{}", file.display()),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_database_is_told_from_one_that_cannot_be_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let told = |file: &str| {
            let error = DatabaseUrl::Sqlite(folder.path().join(file)).ensure_exists().unwrap_err();
            error.to_string().replace(&format!("{}/", folder.path().display()), "/")
        };
        assert!(told("no.db").starts_with("there is no database /no.db: name the right one with "));
        let error = told("file/no.db");
        assert!(error.starts_with("cannot look for the database /file/no.db: Not a directory"));
        let denied = io::ErrorKind::PermissionDenied.into();
        let denied = NotFound { file: "/data/doorward.db".into(), error: denied }.to_string();
        assert!(denied.contains("permission denied") && denied.contains("as the user"), "{denied}");
    }
}
