//! The data folder: who may use it, and what lies in it beside the database.

mod key_files;
mod reserve;

use std::{
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::fs::DirBuilderExt},
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::reserve::Reserve;
use crate::{private_file, token::UnusableKey};

/// What a file is called until it is whole.
const UNFINISHED: &str = "unfinished";

/// A folder that belongs to this process for as long as the value lives.
pub struct DataFolder {
    path: PathBuf,
    reserve: Arc<Reserve>,
    _lock: File,
}

/// Why the data folder, or something in it, cannot be used. Says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has claimed it.
    #[error("{} is in use by another doorward ({holder}): stop that one first, or choose another database", .folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The other process, in words.
        holder: String,
    },
    /// The key file holds something else.
    #[error("{}: {UnusableKey}: put the right file back from your backup", .0.display())]
    KeyUnusable(PathBuf),
    /// The file system said no.
    #[error("{}: {error}", .path.display())]
    Io {
        /// What was being used.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl DataFolder {
    /// Creates the folder if need be and claims it for this process.
    ///
    /// # Errors
    /// If another process has claimed it, or the file system refuses.
    pub fn claim(path: &Path) -> Result<Self, Error> {
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
                let holder = holder.trim().to_owned();
                return Err(Error::InUse { folder: path.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(io_error(&lock_path, error)),
        }
        // On a full disk the name of the holder is lost; the lock itself holds all the same.
        let _ = lock.set_len(0);
        let _ = writeln!(lock, "process {}", std::process::id());
        let reserve = Arc::new(Reserve::in_folder(path));
        Ok(Self { path: path.to_owned(), reserve, _lock: lock })
    }

    /// Makes sure that nobody else can use the folder and what Doorward keeps in it: a file that was restored from a
    /// backup may be readable by everybody. A folder that holds other files as well keeps its mode.
    pub fn make_private(&self, database: Option<&Path>) {
        let database = database.and_then(Path::file_name);
        let mut is_ours_alone = true;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if is_ours(&entry.file_name(), database) {
                private_file::tighten(&entry.path(), 0o600);
            } else {
                is_ours_alone = false;
            }
        }
        if is_ours_alone {
            private_file::tighten(&self.path, 0o700);
        } else if private_file::others_can_write(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, "others can replace files in this folder, which holds other files too: keep the database in a folder of its own");
        }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a running server can be spoken to.
    ///
    /// # Errors
    /// If the folder has a long name and cannot be opened.
    pub fn socket(folder: &Path) -> io::Result<SocketPath> {
        SocketPath::new(folder.join("doorward.sock"))
    }

    /// Puts a new file in place so that after a crash it is either absent or whole.
    fn write_whole(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        // Always the same, so that whatever a crash leaves behind is gone with the next file.
        let unfinished = self.path.join(UNFINISHED);
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = private_file::options().create_new(true).open(&unfinished)?;
        private_file::adopt(&file, &unfinished);
        file.write_all(contents)?;
        file.sync_all()?;
        // Unlike a rename, a link never replaces a file that is there.
        fs::hard_link(&unfinished, path)?;
        // A file that may not stay is taken back, so that the next try finds its place free.
        let kept = fs::remove_file(&unfinished).and_then(|()| self.sync());
        kept.inspect_err(|_| drop(fs::remove_file(path)))
    }

    /// Makes sure that what was added, renamed or removed in the folder stays so.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Space that is kept for the day the disk is full.
    pub fn reserve(&self) -> &Arc<Reserve> {
        &self.reserve
    }
}

/// The path of a socket, made short enough for one: the system allows 107 bytes.
pub struct SocketPath {
    path: PathBuf,
    /// StoredKeys open while the path leads through it.
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

/// Whether Doorward makes files of this name; those of the database begin with its name.
fn is_ours(name: &OsStr, database: Option<&OsStr>) -> bool {
    let Some(name) = name.to_str() else { return false };
    let of_database = database.and_then(OsStr::to_str).and_then(|file| name.strip_prefix(file));
    of_database.is_some_and(|rest| ["", "-wal", "-shm", "-journal"].contains(&rest))
        || ["doorward.lock", "doorward.sock", "doorward.reserve", UNFINISHED].contains(&name)
        || key_files::is_key_file(name)
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
    fn a_claimed_folder_is_private_and_nobody_else_can_claim_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/data");
        let folder = DataFolder::claim(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let Err(Error::InUse { holder, .. }) = DataFolder::claim(&path) else {
            panic!("claimed twice");
        };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(folder);
        DataFolder::claim(&path).unwrap();
    }

    #[test]
    fn a_folder_of_our_own_is_made_private_and_a_shared_one_keeps_its_mode() {
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let folder = DataFolder::claim(&path).unwrap();
        let ours =
            ["users.db", "users.db-wal", "doorward.reserve", "signing-key.pem", "retired-1-x.pem"];
        for name in ours {
            fs::write(path.join(name), "").unwrap();
            open(&path.join(name), 0o644);
        }
        open(&path, 0o755);
        folder.make_private(Some(&path.join("users.db")));
        ours.iter().for_each(|name| assert_eq!(mode(&path.join(name)), 0o600, "{name}"));
        assert_eq!(mode(&path), 0o700);

        let theirs = path.join("notes.txt");
        fs::write(&theirs, "").unwrap();
        [&theirs, &path.join("users.db")].into_iter().for_each(|file| open(file, 0o644));
        open(&path, 0o755);
        folder.make_private(Some(&path.join("users.db")));
        assert_eq!((mode(&path), mode(&theirs)), (0o755, 0o644));
        assert_eq!(mode(&path.join("users.db")), 0o600);
    }
}
