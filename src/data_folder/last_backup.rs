//! When the last good backup was made.

use std::{fs, io, path::Path};

use super::DataFolder;
use crate::{clock::Timestamp, private_file};

pub(super) const LAST_BACKUP: &str = "last-backup";
const UNFINISHED: &str = "last-backup.unfinished";

impl DataFolder {
    /// When the last good backup was made, if one was. Works while another process uses the folder.
    ///
    /// # Errors
    /// If the file with the time cannot be read.
    pub fn last_backup(folder: &Path) -> io::Result<Option<Timestamp>> {
        let text = match fs::read_to_string(folder.join(LAST_BACKUP)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let millis = text.split_whitespace().next().and_then(|word| word.parse().ok());
        Ok(millis.map(Timestamp::from_millis))
    }

    /// Whether Litestream has copied this SQLite database: it has a folder of its own beside it.
    pub fn is_replicated(database: &Path) -> bool {
        let name = database.file_name().unwrap_or_default().to_string_lossy();
        database.with_file_name(format!(".{name}-litestream")).is_dir()
    }

    /// Records that a good backup was made. Works while another process uses the folder.
    ///
    /// # Errors
    /// If the file with the time cannot be written.
    pub fn record_backup(folder: &Path, at: Timestamp) -> io::Result<()> {
        let unfinished = folder.join(UNFINISHED);
        let mut options = private_file::options();
        let mut file = private_file::open_or_create(&unfinished, options.truncate(true))?;
        // The second word is for people.
        io::Write::write_all(&mut file, format!("{} {at}\n", at.millis()).as_bytes())?;
        fs::rename(&unfinished, folder.join(LAST_BACKUP))
    }
}

/// Whether a file of this name holds the time of the last backup.
pub(super) fn is_time_of_backup(name: &str) -> bool {
    [LAST_BACKUP, UNFINISHED].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_backup_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DataFolder::last_backup(folder.path()).unwrap(), None);
        for millis in [1_800_000_000_123, 1_800_000_000_124] {
            let at = Timestamp::from_millis(millis);
            DataFolder::record_backup(folder.path(), at).unwrap();
            assert_eq!(DataFolder::last_backup(folder.path()).unwrap(), Some(at));
        }
        let text = fs::read_to_string(folder.path().join(LAST_BACKUP)).unwrap();
        assert_eq!(text, "1800000000124 2027-01-15T08:00:00.124Z\n");
    }
}
