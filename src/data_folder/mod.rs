//! The data folder: its lock, its permissions, and the files in it other than the database.

mod doctor_report;
mod key_files;
mod last_backup;
mod replacement;
mod reserve;
mod spool;

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

#[cfg(feature = "cli")]
pub(crate) use self::reserve::is_read_only;
pub use self::{doctor_report::DoctorReport, reserve::Reserve, spool::Spool};
use crate::{clock::Timestamp, private_file, token::UnusableKey};

/// The name of a file until it is written completely.
const UNFINISHED: &str = "unfinished";

/// The name of a copy of a database from before its schema was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaCopy {
    /// The schema of the copy.
    pub schema: usize,
    /// Whether the copy is not complete.
    pub is_unfinished: bool,
}

impl SchemaCopy {
    /// What follows the name of the database. The number of the schema follows.
    const SCHEMA: &str = ".schema-";
    /// What follows the number until the copy is complete.
    const UNFINISHED: &str = ".unfinished";

    /// The path of this copy of a database.
    pub(crate) fn path(self, database: &Path) -> PathBuf {
        let mut path = OsString::from(database);
        path.push(format!("{}{}", Self::SCHEMA, self.schema));
        if self.is_unfinished {
            path.push(Self::UNFINISHED);
        }
        path.into()
    }

    /// The copy of this database that has this name; `None` if the file is another one, such as a copy that the operator has made.
    pub(crate) fn named(name: &OsStr, database: &OsStr) -> Option<Self> {
        let number = name.to_str()?.strip_prefix(database.to_str()?)?.strip_prefix(Self::SCHEMA)?;
        let (number, is_unfinished) = match number.strip_suffix(Self::UNFINISHED) {
            Some(number) => (number, true),
            None => (number, false),
        };
        let schema: usize = number.parse().ok()?;
        (schema.to_string() == number).then_some(Self { schema, is_unfinished })
    }
}

/// A data folder, locked for this process until it is dropped.
pub struct DataFolder {
    path: PathBuf,
    reserve: Arc<Reserve>,
    _lock: File,
}

/// Why the data folder or a file in it cannot be used. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has locked it.
    #[error("{} is in use by another doorward ({holder}): stop it first, or choose another database", .folder.display())]
    InUse {
        folder: PathBuf,
        /// A description of the other process.
        holder: String,
    },
    /// A key file holds no usable key.
    #[error("{}: {UnusableKey}: restore the file from your backup", .0.display())]
    KeyUnusable(PathBuf),
    /// The file with the secret of cookies is damaged.
    #[error(
        "{}: not a secret of 32 bytes: restore the file from your backup, or delete it: everybody then signs in again",
        .0.display()
    )]
    CookieSecretUnusable(PathBuf),
    /// The file with the secret that encrypts second factors is damaged.
    #[error(
        "{}: not a secret of 32 bytes: restore the file from your backup, or delete it: everybody with an authenticator app then \
         needs a reset link (doorward user factor reset)",
        .0.display()
    )]
    FactorSecretUnusable(PathBuf),
    /// The file with the secret of the audit trail is damaged.
    #[error(
        "{}: not a secret of 32 bytes: restore the file from your backup, or delete it and start once with --new-audit-secret: the \
         audit trail then has another public key, and events of before are verified with --key",
        .0.display()
    )]
    AuditSecretUnusable(PathBuf),
    /// The file system refused an operation.
    #[error("{}: {error}{}", .path.display(), advice(.error))]
    Io { path: PathBuf, error: io::Error },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": run doorward as a user who may write there, or choose another folder"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ": the disk is read-only, not full: look for its errors (dmesg), and mount it writable"
        }
        _ => "",
    }
}

impl Error {
    /// Whether the disk is read-only.
    #[cfg(feature = "cli")]
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }
}

impl DataFolder {
    /// Locks the folder for this process, and creates it if it does not exist.
    ///
    /// # Errors
    /// If another process has locked it, or the file system refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(|error| io_error(path, error))?;
        let lock_path = path.join("doorward.lock");
        let mut options = private_file::options();
        let lock = private_file::open_or_create(&lock_path, options.read(true));
        let mut lock = lock.map_err(|error| io_error(&lock_path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "a process that could not write its id".to_owned(),
                    holder => holder.to_owned(),
                };
                return Err(Error::InUse { folder: path.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(io_error(&lock_path, error)),
        }
        // On a full disk the file stays empty. The lock is held regardless.
        let _ = lock.set_len(0);
        let _ = writeln!(lock, "process {}", std::process::id());
        replacement::complete(path)?;
        let reserve = Arc::new(Reserve::in_folder(path));
        Ok(Self { path: path.to_owned(), reserve, _lock: lock })
    }

    /// Removes the permissions of other users on the folder and on Doorward's files in it: a file that was restored from
    /// a backup may be readable by everybody. A folder that also holds other files keeps its mode.
    pub fn restrict_permissions(&self, database: Option<&Path>) {
        let database = database.and_then(Path::file_name);
        let mut holds_only_ours = true;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if is_ours(&name, database) {
                private_file::restrict(&entry.path(), 0o600);
            } else if name.to_str().is_some_and(replacement::is_of_replacement) {
                private_file::restrict(&entry.path(), 0o700);
            } else {
                holds_only_ours = false;
            }
        }
        if holds_only_ours {
            private_file::restrict(&self.path, 0o700);
        } else if private_file::others_can_write(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, "other users can replace files in this folder, which also holds files of other programs: keep the database in a separate folder");
        }
    }

    /// The files of Doorward in a folder, which another process may have locked.
    #[cfg(feature = "cli")]
    pub(crate) fn own_files(folder: &Path, database: Option<&Path>) -> Vec<PathBuf> {
        let database = database.and_then(Path::file_name);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| is_ours(&entry.file_name(), database));
        ours.map(|entry| entry.path()).collect()
    }

    /// The signing key in a folder, which another process may have locked.
    pub(crate) fn signing_key_in(folder: &Path) -> PathBuf {
        folder.join(key_files::SIGNING)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the control socket of a running server.
    ///
    /// # Errors
    /// If the path is too long for a socket and the folder cannot be opened.
    pub fn socket(folder: &Path) -> io::Result<SocketPath> {
        SocketPath::new(folder.join("doorward.sock"))
    }

    /// Writes a new file that is either absent or complete after a crash. Never replaces a file.
    fn write_atomically(&self, path: &Path, contents: &[u8]) -> Result<(), Error> {
        self.write_each_atomically(&[(path.to_owned(), contents)])
    }

    /// Writes new files, each of which is either absent or complete after a crash, and flushes their names at once.
    fn write_each_atomically(&self, files: &[(PathBuf, &[u8])]) -> Result<(), Error> {
        let mut written = Vec::with_capacity(files.len());
        let durable = files.iter().try_for_each(|(path, contents)| {
            let unfinished = self.write_unfinished(contents);
            // Unlike a rename, a link never replaces an existing file.
            let linked = unfinished.and_then(|unfinished| {
                fs::hard_link(&unfinished, path)?;
                written.push(path);
                fs::remove_file(&unfinished)
            });
            linked.map_err(|error| io_error(path, error))
        });
        let durable =
            durable.and_then(|()| self.sync().map_err(|error| io_error(&self.path, error)));
        // Files that may not be durable are removed, so that another attempt can succeed.
        durable.inspect_err(|_| written.iter().for_each(|path| drop(fs::remove_file(path))))
    }

    /// Writes and flushes a file that does not have its name yet.
    fn write_unfinished(&self, contents: &[u8]) -> io::Result<PathBuf> {
        // Always the same name, so that the next write removes what a crash left behind.
        let unfinished = self.path.join(UNFINISHED);
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = private_file::options().create_new(true).open(&unfinished)?;
        private_file::give_to_folder_owner(&file, &unfinished);
        file.write_all(contents)?;
        file.sync_all()?;
        Ok(unfinished)
    }

    /// Flushes the names in the folder to disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Removes copies from before a change of the schema that are older than 30 days: people who have left since are still in them.
    /// Copies with other names are the operator's.
    pub fn remove_old_copies(&self, database: &Path, now: Timestamp) {
        const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
        let Some(database) = database.file_name() else { return };
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let is_copy = SchemaCopy::named(&entry.file_name(), database).is_some();
            let written = entry.metadata().map(|file| Timestamp::from_seconds(file.mtime()));
            if is_copy && written.is_ok_and(|written| now.duration_since(written) > KEPT) {
                match fs::remove_file(entry.path()) {
                    Ok(()) => {
                        tracing::info!(file = %entry.path().display(), "removed an old copy of the database")
                    }
                    Err(error) => {
                        tracing::warn!(file = %entry.path().display(), %error, "cannot remove an old copy of the database");
                    }
                }
            }
        }
    }

    /// The disk space that is reserved for a full disk.
    pub fn reserve(&self) -> &Arc<Reserve> {
        &self.reserve
    }
}

/// The path of a socket. It has at most 107 bytes, the limit of the system.
pub struct SocketPath {
    path: PathBuf,
    /// Kept open because the path leads through its descriptor.
    _folder: Option<File>,
}

impl SocketPath {
    const MAX_BYTES: usize = 107;

    fn new(path: PathBuf) -> io::Result<Self> {
        if path.as_os_str().len() <= Self::MAX_BYTES {
            return Ok(Self { path, _folder: None });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }
}

impl AsRef<Path> for SocketPath {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// Whether Doorward creates files with this name. Database files start with the name of the database.
fn is_ours(name: &OsStr, database: Option<&OsStr>) -> bool {
    if database.is_some_and(|database| SchemaCopy::named(name, database).is_some()) {
        return true;
    }
    let Some(name) = name.to_str() else { return false };
    let of_database = database.and_then(OsStr::to_str).and_then(|file| name.strip_prefix(file));
    of_database.is_some_and(|rest| ["", "-wal", "-shm", "-journal"].contains(&rest))
        || ["doorward.lock", "doorward.sock", "doorward.reserve", UNFINISHED].contains(&name)
        || key_files::is_key_file(name)
        || last_backup::is_time_of_backup(name)
        || doctor_report::is_report(name)
}

/// Replaces the contents of a file as a whole, which has the second name until it is complete.
fn replace(folder: &Path, [name, unfinished]: [&str; 2], contents: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(unfinished);
    let mut options = private_file::options();
    let mut file = private_file::open_or_create(&unfinished, options.truncate(true))?;
    file.write_all(contents)?;
    file.sync_all()?;
    fs::rename(&unfinished, folder.join(name))
}

fn io_error(path: &Path, error: io::Error) -> Error {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Error::Io { path, error }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn an_open_folder_is_private_and_cannot_be_opened_twice() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/data");
        let folder = DataFolder::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let Err(Error::InUse { holder, .. }) = DataFolder::open(&path) else {
            panic!("opened twice");
        };
        assert_eq!(holder, format!("process {}", std::process::id()));
        fs::write(path.join("doorward.lock"), "").unwrap();
        let error = DataFolder::open(&path).err().unwrap().to_string();
        assert!(error.contains("(a process that could not write its id)"), "{error}");
        drop(folder);
        DataFolder::open(&path).unwrap();
    }

    #[test]
    fn copies_of_the_database_are_removed_after_30_days() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        let file = |name: &str| parent.path().join(name);
        let copies = ["x.db.schema-1", "x.db.schema-12", "x.db.schema-2.unfinished"];
        // The database, a copy of another one, and what an operator keeps.
        let others = ["x.db", "y.db.schema-1", "x.db.schema-1.keep", "x.db.schema-01"];
        for name in copies.iter().chain(&others) {
            fs::write(file(name), "").unwrap();
        }
        let written = fs::metadata(file("x.db.schema-1")).unwrap().mtime();
        let after = |days: i64| Timestamp::from_seconds(written + days * 24 * 60 * 60);
        folder.remove_old_copies(&file("x.db"), after(30));
        copies.iter().for_each(|name| assert!(file(name).exists(), "{name}"));
        folder.remove_old_copies(&file("x.db"), after(31));
        copies.iter().for_each(|name| assert!(!file(name).exists(), "{name}"));
        others.iter().for_each(|name| assert!(file(name).exists(), "{name}"));
    }

    #[test]
    fn the_name_of_a_copy_is_read_as_it_is_written() {
        for copy in [1, 12].into_iter().flat_map(|schema| {
            [true, false].map(|is_unfinished| SchemaCopy { schema, is_unfinished })
        }) {
            let path = copy.path(Path::new("/data/x.db"));
            let read = SchemaCopy::named(path.file_name().unwrap(), OsStr::new("x.db"));
            assert_eq!(read, Some(copy));
        }
        for rest in ["", ".schema-", ".schema-+1", ".schema-1.keep", ".schema-1.unfinished.gz"] {
            let name = format!("x.db{rest}");
            assert_eq!(SchemaCopy::named(OsStr::new(&name), OsStr::new("x.db")), None, "{name}");
        }
    }

    #[test]
    fn a_folder_with_only_our_files_is_made_private_and_a_shared_one_keeps_its_mode() {
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let folder = DataFolder::open(&path).unwrap();
        let ours =
            ["users.db", "users.db-wal", "doorward.reserve", "signing-key.pem", "retired-1-x.pem"];
        for name in ours {
            fs::write(path.join(name), "").unwrap();
            open(&path.join(name), 0o644);
        }
        open(&path, 0o755);
        folder.restrict_permissions(Some(&path.join("users.db")));
        ours.iter().for_each(|name| assert_eq!(mode(&path.join(name)), 0o600, "{name}"));
        assert_eq!(mode(&path), 0o700);

        let theirs = path.join("notes.txt");
        fs::write(&theirs, "").unwrap();
        [&theirs, &path.join("users.db")].into_iter().for_each(|file| open(file, 0o644));
        open(&path, 0o755);
        folder.restrict_permissions(Some(&path.join("users.db")));
        assert_eq!((mode(&path), mode(&theirs)), (0o755, 0o644));
        assert_eq!(mode(&path.join("users.db")), 0o600);
    }
}
