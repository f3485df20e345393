//! Disk space that is reserved for a full disk, so that the database can still be opened and sessions can still be ended.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::FallocateFlags;

use crate::private_file;

/// A file that occupies space until the space is needed.
pub struct Reserve {
    path: PathBuf,
    /// The size of the file when it was spent, until it is restored.
    spent: Mutex<Option<u64>>,
}

impl Reserve {
    /// The size of a full reserve.
    pub(crate) const BYTES: u64 = 8 << 20;
    /// A disk with less space than this counts as full.
    const FULL_BELOW: u64 = 1 << 20;

    /// How much a folder, which another process may have locked, has in reserve.
    #[cfg(feature = "cli")]
    pub(crate) fn held_in(folder: &Path) -> u64 {
        Self::in_folder(folder).held()
    }

    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("doorward.reserve"), spent: Mutex::new(None) }
    }

    /// Allocates the reserve, or as much of it as there is space for. Does nothing while the reserve is spent.
    pub fn allocate(&self) {
        if self.spent().is_some() {
            return;
        }
        let held = self.held();
        let mut sizes = (0..8).map(|halvings| Self::BYTES >> halvings).filter(|size| *size > held);
        if held < Self::BYTES && !sizes.any(|size| self.resize(size).is_ok()) && held == 0 {
            match self.is_disk_read_only() {
                true => tracing::warn!("cannot write the reserve file: the disk is read-only"),
                false => tracing::warn!("no space for the reserve file: the disk is full"),
            }
        }
    }

    /// Returns the space to the file system. False if there was none.
    pub fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Returns the space to the file system for urgent writes, until [`Self::restore`] succeeds. False if there was none.
    pub fn spend(&self) -> bool {
        let mut spent = self.spent();
        let held = self.held();
        if spent.is_some() || !self.release() {
            return false;
        }
        *spent = Some(held);
        true
    }

    pub fn is_spent(&self) -> bool {
        self.spent().is_some()
    }

    /// Allocates a spent reserve again if there is enough space for it and for other writes. True if the reserve is not
    /// spent afterwards.
    pub fn restore(&self) -> bool {
        let mut spent = self.spent();
        if let Some(held) = *spent
            && self.available().is_some_and(|bytes| bytes >= held + Self::FULL_BELOW)
            && self.resize(held).is_ok()
        {
            *spent = None;
        }
        spent.is_none()
    }

    /// Whether the disk is full, or nearly.
    pub fn is_disk_full(&self) -> bool {
        self.available().is_some_and(|bytes| bytes < Self::FULL_BELOW)
    }

    /// Whether nothing can be written, however much space there is.
    pub fn is_disk_read_only(&self) -> bool {
        self.path.parent().is_some_and(is_read_only)
    }

    fn spent(&self) -> MutexGuard<'_, Option<u64>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// The free space of the disk, in bytes.
    pub fn available(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.path.parent()?).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Grows the file to this size, or leaves it as it was.
    fn resize(&self, size: u64) -> io::Result<()> {
        let held = self.held();
        let file = private_file::open_or_create(&self.path, &mut private_file::options())?;
        let taken = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size);
        taken.map_err(|error| {
            self.shrink(&file, held);
            error.into()
        })
    }

    fn shrink(&self, file: &File, held: u64) {
        let _ = if held == 0 { fs::remove_file(&self.path) } else { file.set_len(held) };
    }
}

/// Whether a folder is on a disk that is mounted read-only.
pub(crate) fn is_read_only(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) == Err(rustix::io::Errno::ROFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_occupies_space_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::in_folder(folder.path());
        assert!(!reserve.release());
        reserve.allocate();
        reserve.allocate();
        assert_eq!(reserve.held(), Reserve::BYTES);
        assert!(reserve.release());
        assert_eq!(reserve.held(), 0);
    }

    #[test]
    fn only_restore_allocates_a_spent_reserve_again() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::in_folder(folder.path());
        assert!(!reserve.spend(), "there is none");
        assert!(!reserve.is_spent());
        reserve.allocate();
        assert!(reserve.spend());
        assert!(!reserve.spend(), "it is spent already");
        reserve.allocate();
        assert!(reserve.is_spent());
        assert_eq!(reserve.held(), 0);
        assert!(reserve.restore());
        assert_eq!(reserve.held(), Reserve::BYTES);
        assert!(!reserve.is_spent());
    }
}
