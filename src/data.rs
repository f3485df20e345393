//! The data folder: who may use it, and what lies in it beside the database.

mod keys;

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::FallocateFlags;

use crate::token::UnusableKey;

/// A folder that belongs to this process for as long as the value lives.
pub struct DataFolder {
    path: PathBuf,
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
    /// Space that is kept for the day the disk is full, so that the database can still be opened then.
    const RESERVE_BYTES: u64 = 8 << 20;

    /// Creates the folder if need be and claims it for this process.
    ///
    /// # Errors
    /// If another process has claimed it, or the file system refuses.
    pub fn claim(path: &Path) -> Result<Self, Error> {
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(|error| io_error(path, error))?;
        let lock_path = path.join("doorward.lock");
        let mut options = private();
        let mut lock = options
            .read(true)
            .create(true)
            .open(&lock_path)
            .map_err(|error| io_error(&lock_path, error))?;
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
        Ok(Self { path: path.to_owned(), _lock: lock })
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
        let unfinished = self.path.join("unfinished");
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = private().create_new(true).open(&unfinished)?;
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

    /// Sets space aside for [`Self::release_reserve`]: all of it, or as much as there is.
    pub fn keep_reserve(&self) {
        let path = self.reserve_path();
        let mut sizes = (0..8).map(|halvings| Self::RESERVE_BYTES >> halvings);
        let kept = |size: u64| -> io::Result<()> {
            let file = private().create(true).open(&path)?;
            if file.metadata()?.len() < size {
                rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size)?;
            }
            Ok(())
        };
        let kept_or_given_back = |size: u64| {
            let outcome = kept(size);
            if outcome.is_err() {
                let _ = fs::remove_file(&path);
            }
            outcome.is_ok()
        };
        if !sizes.any(kept_or_given_back) {
            tracing::warn!("no room for the reserve file: the disk is full");
        }
    }

    /// Whether next to nothing can be written to the disk that holds the folder.
    pub fn is_disk_full(&self) -> bool {
        const NEXT_TO_NOTHING: u64 = 1 << 20;
        let disk = rustix::fs::statvfs(&self.path);
        disk.is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < NEXT_TO_NOTHING)
    }

    /// Gives the reserved space back to the file system; false if there was none.
    pub fn release_reserve(&self) -> bool {
        fs::remove_file(self.reserve_path()).is_ok()
    }

    fn reserve_path(&self) -> PathBuf {
        self.path.join("doorward.reserve")
    }
}

/// The path of a socket, made short enough for one: the system allows 107 bytes.
pub struct SocketPath {
    path: PathBuf,
    /// Kept open while the path leads through it.
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

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// A key that others may read is hardly a secret; whoever made the file may not have known.
fn tighten(path: &Path) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.permissions().mode() & 0o077 != 0 {
        let outcome = fs::set_permissions(path, Permissions::from_mode(0o600));
        tracing::warn!(path = %path.display(), tightened = outcome.is_ok(), "others could read this file");
    }
}

fn io_error(path: &Path, error: io::Error) -> Error {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Error::Io { path, error }
}

#[cfg(test)]
mod tests {
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
    fn the_reserve_takes_space_until_it_is_released() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        assert!(!folder.release_reserve());
        folder.keep_reserve();
        folder.keep_reserve();
        assert_eq!(fs::metadata(folder.reserve_path()).unwrap().len(), DataFolder::RESERVE_BYTES);
        assert!(folder.release_reserve());
    }
}
