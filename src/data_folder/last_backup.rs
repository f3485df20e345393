//! When the last good backup was made.

use std::{fs, io, path::Path};

use super::{DataFolder, replace};
use crate::clock::Timestamp;

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
        // The second word is for people.
        let text = format!("{} {at}\n", at.millis());
        replace(folder, [LAST_BACKUP, UNFINISHED], text.as_bytes())
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
