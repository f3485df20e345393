//! A copy of the database file before its schema is changed. The older version starts on it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, backup::Backup};

use crate::{
    data_folder::{SchemaCopy, Spool},
    private_file,
};

/// How many copies are kept: of the schemas with the highest numbers.
const KEPT: usize = 2;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub(in crate::store) enum Error {
    #[error(
        "no space for a copy of the database before its schema is changed from {from}: it needs {needed} MiB, and {free} MiB are \
         free: free some space, or make a backup elsewhere and run `doorward migrate --no-copy`; nothing was changed"
    )]
    NoSpace { from: usize, needed: u64, free: u64 },
    #[error(
        "{}: {error}: the database cannot be copied before its schema is changed: make a backup elsewhere and run \
         `doorward migrate --no-copy`; nothing was changed", .path.display()
    )]
    Io { path: PathBuf, error: io::Error },
}

/// Copies a database with this schema, also what is in its write-ahead log. Removes older copies. `begins` gets the path of the
/// copy and its size in bytes, before the first byte is copied.
pub(super) fn make(
    db: &Connection,
    file: &Path,
    schema: usize,
    begins: impl FnOnce(&Path, u64),
) -> Result<PathBuf, Error> {
    let path = SchemaCopy { schema, is_unfinished: false }.path(file);
    let unfinished = SchemaCopy { schema, is_unfinished: true }.path(file);
    let copied = (|| {
        // What a killed process has left takes the space that the copy needs.
        remove(&unfinished).map_err(|error| io_error(&path, error))?;
        let bytes = check_space(db, file, schema)?;
        begins(&path, bytes);
        copy(db, &unfinished).map_err(|error| io_error(&path, error))?;
        fs::rename(&unfinished, &path).map_err(|error| io_error(&path, error))?;
        let folder = folder_of(file);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| io_error(&path, e))
    })();
    if let Err(error) = copied {
        let _ = remove(&unfinished);
        return Err(error);
    }
    remove_older(file);
    Ok(path)
}

fn io_error(path: &Path, error: impl Into<io::Error>) -> Error {
    Error::Io { path: path.to_owned(), error: error.into() }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the size of the database in bytes. The copy must leave space to the database, which grows when its schema changes.
fn check_space(db: &Connection, file: &Path, from: usize) -> Result<u64, Error> {
    const MIB: u64 = 1 << 20;
    let number = |pragma| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = number("page_count").and_then(|pages| Ok(pages * number("page_size")?));
    let bytes = bytes.map_err(|error| io_error(file, io::Error::other(error)))?;
    let bytes = u64::try_from(bytes).unwrap_or(0);
    let needed = bytes + Spool::SPARE_BYTES;
    let disk = rustix::fs::statvfs(folder_of(file));
    let disk = disk.map_err(|error| io_error(file, error))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    match free < needed {
        true => Err(Error::NoSpace { from, needed: needed.div_ceil(MIB), free: free / MIB }),
        false => Ok(bytes),
    }
}

fn copy(db: &Connection, path: &Path) -> io::Result<()> {
    /// 4 MiB at once.
    const PAGES: std::ffi::c_int = 1024;
    private_file::create_if_missing(path)?;
    let mut copy = Connection::open(path).map_err(io::Error::other)?;
    let run = Backup::new(db, &mut copy)
        .and_then(|backup| backup.run_to_completion(PAGES, Duration::from_millis(1), None));
    run.map_err(io::Error::other)?;
    copy.close().map_err(|(_, error)| io::Error::other(error))?;
    // A connection that reads the copy may leave these.
    for left in ["-wal", "-shm", "-journal"] {
        remove(&with_suffix(path, left))?;
    }
    File::open(path)?.sync_all()
}

/// Removes all but the newest copies. One that cannot be removed does not matter here, nor one that is not complete.
fn remove_older(file: &Path) {
    let mut copies: Vec<(usize, PathBuf)> = fs::read_dir(folder_of(file))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((schema_of(file, &entry.path())?, entry.path())))
        .collect();
    copies.sort_unstable_by(|one, other| other.cmp(one));
    for (_, path) in copies.into_iter().skip(KEPT) {
        let _ = fs::remove_file(path);
    }
}

/// The schema of a complete copy of this database; `None` if it is another file.
fn schema_of(file: &Path, path: &Path) -> Option<usize> {
    let copy = SchemaCopy::named(path.file_name()?, file.file_name()?)?;
    (!copy.is_unfinished).then_some(copy.schema)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_copy_has_everything_also_of_the_log_and_the_two_newest_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        let db = Connection::open(&file).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE t (x); PRAGMA user_version = 7").unwrap();
        fs::write(folder.path().join("x.db.schema-9.unfinished"), "of a crash").unwrap();
        for schema in [7, 8, 9, 10] {
            db.execute("INSERT INTO t VALUES (1)", []).unwrap();
            let mut said = Vec::new();
            let copy = make(&db, &file, schema, |path, bytes| {
                said.push((path.to_owned(), bytes));
                let unfinished = format!("x.db.schema-{schema}.unfinished");
                assert!(!names(folder.path()).contains(&unfinished));
            });
            // Two pages.
            assert_eq!(said, [(copy.unwrap(), 8192)]);
        }
        assert!(fs::metadata(folder.path().join("x.db-wal")).unwrap().len() > 0);
        let expected =
            ["x.db", "x.db-shm", "x.db-wal", "x.db.schema-10", "x.db.schema-9"].map(str::to_owned);
        assert_eq!(names(folder.path()), expected);
        let copied = folder.path().join("x.db.schema-9");
        assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o600);
        let copy = Connection::open(copied).unwrap();
        let count: i64 = copy.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        let version: i64 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!((count, version), (3, 7));
    }

    #[test]
    fn a_copy_that_cannot_be_made_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        let db = Connection::open(&file).unwrap();
        db.execute_batch("CREATE TABLE t (x)").unwrap();
        // In the place of the copy.
        fs::create_dir_all(folder.path().join("x.db.schema-1/full")).unwrap();
        let error = make(&db, &file, 1, |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("doorward migrate --no-copy"), "{error}");
        assert_eq!(names(folder.path()), ["x.db", "x.db.schema-1"]);
    }
}
