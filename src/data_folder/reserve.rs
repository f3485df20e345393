//! Space that is kept for the day the disk is full, so that the database can be opened and sessions can end.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::FallocateFlags;

use crate::private_file;

/// A file that takes space until the space is needed.
pub struct Reserve {
    path: PathBuf,
    /// What it held when it was spent; none while it is kept.
    spent: Mutex<Option<u64>>,
}

impl Reserve {
    const BYTES: u64 = 8 << 20;
    /// With less than this, next to nothing can be written.
    const NEXT_TO_NOTHING: u64 = 1 << 20;

    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("doorward.reserve"), spent: Mutex::new(None) }
    }

    /// Takes the space: all of it, or as much as there is. Does nothing while the reserve is spent.
    pub fn keep(&self) {
        if self.spent().is_some() {
            return;
        }
        let held = self.held();
        let mut sizes = (0..8).map(|halvings| Self::BYTES >> halvings).filter(|size| *size > held);
        if held < Self::BYTES && !sizes.any(|size| self.take(size).is_ok()) && held == 0 {
            tracing::warn!("no space for the reserve file: the disk is full");
        }
    }

    /// Gives the space back to the file system; false if there was none.
    pub fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Gives the space back for writes that must not wait, until [`Self::restore`] has taken it again; false if there
    /// was none.
    pub fn spend(&self) -> bool {
        let mut spent = self.spent();
        let held = self.held();
        if spent.is_some() || !self.release() {
            return false;
        }
        *spent = Some(held);
        true
    }

    /// Whether its space is in use at present.
    pub fn is_spent(&self) -> bool {
        self.spent().is_some()
    }

    /// Takes the space again if there is enough for it and for other writes; true if the reserve is not spent any more.
    pub fn restore(&self) -> bool {
        let mut spent = self.spent();
        if let Some(held) = *spent
            && self.available().is_some_and(|bytes| bytes >= held + Self::NEXT_TO_NOTHING)
            && self.take(held).is_ok()
        {
            *spent = None;
        }
        spent.is_none()
    }

    /// Whether next to nothing can be written to its disk.
    pub fn is_disk_full(&self) -> bool {
        self.available().is_some_and(|bytes| bytes < Self::NEXT_TO_NOTHING)
    }

    fn spent(&self) -> MutexGuard<'_, Option<u64>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    fn available(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.path.parent()?).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Makes the file this large, or leaves it as it was.
    fn take(&self, size: u64) -> io::Result<()> {
        let held = self.held();
        let file = private_file::open_or_create(&self.path, &mut private_file::options())?;
        let taken = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size);
        taken.map_err(|error| {
            self.give_back(&file, held);
            error.into()
        })
    }

    fn give_back(&self, file: &File, held: u64) {
        let _ = if held == 0 { fs::remove_file(&self.path) } else { file.set_len(held) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_takes_space_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::in_folder(folder.path());
        assert!(!reserve.release());
        reserve.keep();
        reserve.keep();
        assert_eq!(reserve.held(), Reserve::BYTES);
        assert!(reserve.release());
        assert_eq!(reserve.held(), 0);
    }

    #[test]
    fn a_spent_reserve_is_kept_again_only_by_being_restored() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::in_folder(folder.path());
        assert!(!reserve.spend(), "there is none");
        assert!(!reserve.is_spent());
        reserve.keep();
        assert!(reserve.spend());
        assert!(!reserve.spend(), "it is spent already");
        reserve.keep();
        assert!(reserve.is_spent());
        assert_eq!(reserve.held(), 0);
        assert!(reserve.restore());
        assert_eq!(reserve.held(), Reserve::BYTES);
        assert!(!reserve.is_spent());
    }
}
