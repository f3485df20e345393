//! A file without a name in the data folder, for an answer that is made as a whole before it is sent.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{DataFolder, Reserve};
use crate::private_file;

/// The name of the file before it loses it.
const NAME: &str = "unfinished-backup";

/// A file that has no name, so that a crash leaves nothing behind, and that stops growing before the disk is full.
pub struct Spool<'a> {
    file: File,
    reserve: &'a Reserve,
    /// The bytes since the free space was last checked.
    unchecked: u64,
}

impl<'a> Spool<'a> {
    /// Disk space that the file leaves to the database.
    pub const SPARE_BYTES: u64 = 64 << 20;

    /// Creates the file.
    ///
    /// # Errors
    /// If the data folder cannot be written.
    pub fn new(folder: &'a DataFolder) -> io::Result<Self> {
        let (file, reserve) = (unnamed_file(folder.path())?, folder.reserve());
        Ok(Self { file, reserve, unchecked: 0 })
    }

    /// What was written, to be read from its beginning.
    pub fn into_file(self) -> File {
        self.file
    }
}

fn unnamed_file(folder: &Path) -> io::Result<File> {
    // One at a time, because they have the same name until they lose it.
    static CREATION: Mutex<()> = Mutex::new(());
    let _one_at_a_time = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = private_file::options().read(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const CHECK_AFTER: u64 = 8 << 20;
        self.unchecked += bytes.len() as u64;
        if self.unchecked >= CHECK_AFTER {
            self.unchecked = 0;
            if self.reserve.available().is_some_and(|available| available < Self::SPARE_BYTES) {
                let cause = "the disk of the data folder is nearly full: free some space";
                return Err(io::Error::new(io::ErrorKind::StorageFull, cause));
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
