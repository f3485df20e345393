//! Replaces the database and the keys of a folder with restored ones. A crash leaves the old state or the new one: after
//! the one rename that decides, the next process that opens the folder completes the replacement.
//!
//! The restored files wait in a subfolder. It is renamed when they are complete (the decision), and again when the old files
//! have been moved to another subfolder, which stays.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::{DataFolder, Error, io_error, key_files};
use crate::{clock::Timestamp, private_file};

/// Restored files that may be incomplete.
const UNFINISHED: &str = "restore-unfinished";
/// Complete restored files, which wait until the old ones have been moved. The time follows.
const READY: &str = "restore-ready-";
/// Restored files that were not moved to their place yet. The time follows.
const PLACING: &str = "restore-placing-";
/// The old files. The time follows.
const REPLACED: &str = "replaced-";
/// The files of a database besides the main one.
const DATABASE_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

impl DataFolder {
    /// Creates an empty subfolder for restored files.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn prepare_replacement(&self) -> Result<PathBuf, Error> {
        let path = self.path.join(UNFINISHED);
        let created = match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => create_folder(&path),
        };
        created.map_err(|error| io_error(&path, error))?;
        Ok(path)
    }

    /// Removes the subfolder for restored files.
    pub fn discard_replacement(&self) {
        let _ = fs::remove_dir_all(self.path.join(UNFINISHED));
    }

    /// Replaces the database with this file name and all keys with the restored files. Returns the folder that the old files
    /// were moved to, if there were any.
    ///
    /// # Errors
    /// If the file system refuses. If the decision has been made, the next process that opens the folder completes it.
    pub fn replace(&self, database: &Path, at: Timestamp) -> Result<Option<PathBuf>, Error> {
        let unfinished = self.path.join(UNFINISHED);
        let mut seconds = at.seconds();
        // The folder of an earlier replacement is kept as it is.
        while self.path.join(format!("{REPLACED}{seconds}")).exists() {
            seconds += 1;
        }
        let decide = || -> io::Result<()> {
            for name in names(&unfinished)? {
                if name == database.as_os_str() {
                    continue;
                }
                let path = unfinished.join(&name);
                // The last close could not write it into the database.
                let is_log = DATABASE_SUFFIXES.iter().any(|suffix| {
                    let rest = name
                        .as_encoded_bytes()
                        .strip_prefix(database.as_os_str().as_encoded_bytes());
                    *suffix != "-shm" && rest == Some(suffix.as_bytes())
                });
                if is_log && fs::metadata(&path)?.len() > 0 {
                    return Err(io::Error::other("the restored database could not be completed"));
                }
                match name.to_str() {
                    Some(name) if key_files::is_key_file(name) => {}
                    // The lock, which every folder has.
                    _ => fs::remove_file(path)?,
                }
            }
            sync(&unfinished)?;
            fs::rename(&unfinished, self.path.join(format!("{READY}{seconds}")))?;
            sync(&self.path)
        };
        decide().map_err(|error| io_error(&unfinished, error))?;
        complete(&self.path)?;
        let replaced = self.path.join(format!("{REPLACED}{seconds}"));
        Ok(replaced.exists().then_some(replaced))
    }
}

impl DataFolder {
    /// Whether a replacement was interrupted after the decision. Then the database may be missing until the folder is opened.
    pub fn is_being_replaced(folder: &Path) -> bool {
        let names = names(folder).unwrap_or_default();
        let mut names = names.iter().filter_map(|name| name.to_str());
        names.any(|name| name.starts_with(READY) || name.starts_with(PLACING))
    }
}

/// Completes a replacement that was interrupted after the decision.
pub(super) fn complete(folder: &Path) -> Result<(), Error> {
    let rename = &mut |from: &Path, to: &Path| fs::rename(from, to);
    complete_with(folder, rename).map_err(|error| io_error(folder, error))
}

/// Whether a subfolder of this name belongs to a replacement.
pub(super) fn is_of_replacement(name: &str) -> bool {
    name == UNFINISHED
        || [READY, PLACING, REPLACED]
            .into_iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|time| time.parse::<i64>().is_ok()))
}

type Rename<'a> = &'a mut dyn FnMut(&Path, &Path) -> io::Result<()>;

fn complete_with(folder: &Path, rename: Rename<'_>) -> io::Result<()> {
    let subfolder = |prefix: &str| -> io::Result<Option<(PathBuf, String)>> {
        let time = |name: OsString| Some(name.to_str()?.strip_prefix(prefix)?.to_owned());
        let found = names(folder)?.into_iter().find_map(time);
        Ok(found.map(|time| (folder.join(format!("{prefix}{time}")), time)))
    };
    if let Some((ready, time)) = subfolder(READY)? {
        move_old_files(folder, &ready, &folder.join(format!("{REPLACED}{time}")), rename)?;
        rename(&ready, &folder.join(format!("{PLACING}{time}")))?;
        sync(folder)?;
    }
    if let Some((placing, _)) = subfolder(PLACING)? {
        for name in names(&placing)? {
            rename(&placing.join(&name), &folder.join(&name))?;
        }
        sync(folder)?;
        fs::remove_dir(&placing)?;
        sync(folder)?;
    }
    Ok(())
}

/// Moves all keys and the database away. Nothing restored is in the folder yet.
fn move_old_files(
    folder: &Path,
    ready: &Path,
    replaced: &Path,
    rename: Rename<'_>,
) -> io::Result<()> {
    let is_key = |name: &OsString| name.to_str().is_some_and(key_files::is_key_file);
    let databases: Vec<_> = names(ready)?.into_iter().filter(|name| !is_key(name)).collect();
    let is_of_database = |name: &OsString| {
        databases.iter().any(|database| {
            let rest = name.as_encoded_bytes().strip_prefix(database.as_encoded_bytes());
            rest.is_some_and(|rest| {
                rest.is_empty() || DATABASE_SUFFIXES.iter().any(|suffix| suffix.as_bytes() == rest)
            })
        })
    };
    let old = names(folder)?.into_iter().filter(|name| is_key(name) || is_of_database(name));
    for name in old {
        if !replaced.exists() {
            create_folder(replaced)?;
        }
        rename(&folder.join(&name), &replaced.join(&name))?;
    }
    if replaced.exists() {
        sync(replaced)?;
    }
    sync(folder)
}

/// Creates a folder for the owner of the folder that it is in. The files in it belong to the owner of theirs.
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    private_file::give_to_folder_owner(&File::open(path)?, path);
    Ok(())
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const OLD: [&str; 6] = [
        "cookie-secret",
        "factor-secret",
        "retired-1-x.pem",
        "signing-key.pem",
        "users.db",
        "users.db-wal",
    ];
    const NEW: [&str; 5] =
        ["cookie-secret", "factor-secret", "signing-key-next.pem", "signing-key.pem", "users.db"];

    fn fill(folder: &Path, files: &[&str], contents: &str) {
        files.iter().for_each(|name| fs::write(folder.join(name), contents).unwrap());
    }

    fn assert_replaced(folder: &Path) {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        let ours = [&NEW[..], &["doorward.lock", "notes", "replaced-1800000000"]].concat();
        let mut expected = ours.clone();
        expected.sort_unstable();
        assert_eq!(names(folder).unwrap(), expected);
        NEW.iter().for_each(|name| assert_eq!(read(folder.join(name)), "new", "{name}"));
        let replaced = folder.join("replaced-1800000000");
        assert_eq!(names(&replaced).unwrap(), OLD);
        OLD.iter().for_each(|name| assert_eq!(read(replaced.join(name)), "old", "{name}"));
        assert_eq!(read(folder.join("notes")), "theirs");
    }

    #[test]
    fn the_old_files_are_moved_away_and_the_restored_ones_take_their_place() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(parent.path(), &OLD, "old");
        fill(parent.path(), &["notes"], "theirs");
        fill(&folder.prepare_replacement().unwrap(), &["left"], "from a crash");
        let staging = folder.prepare_replacement().unwrap();
        drop(DataFolder::open(&staging).unwrap());
        fill(&staging, &NEW, "new");
        let replaced = folder.replace(Path::new("users.db"), AT).unwrap().unwrap();
        assert_eq!(replaced, parent.path().join("replaced-1800000000"));
        assert_replaced(parent.path());
    }

    #[test]
    fn a_second_replacement_at_the_same_time_keeps_the_files_of_the_first() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(parent.path(), &OLD, "old");
        for contents in ["new", "newer"] {
            fill(&folder.prepare_replacement().unwrap(), &NEW, contents);
            folder.replace(Path::new("users.db"), AT).unwrap().unwrap();
        }
        for (kept, contents) in [("replaced-1800000000", "old"), ("replaced-1800000001", "new")] {
            let database = parent.path().join(kept).join("users.db");
            assert_eq!(fs::read_to_string(database).unwrap(), contents, "{kept}");
        }
        assert_eq!(fs::read_to_string(parent.path().join("users.db")).unwrap(), "newer");
    }

    #[test]
    fn nothing_is_moved_away_from_an_empty_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(&folder.prepare_replacement().unwrap(), &NEW, "new");
        assert_eq!(folder.replace(Path::new("users.db"), AT).unwrap(), None);
        assert!(NEW.iter().all(|name| parent.path().join(name).exists()));
    }

    #[test]
    fn what_root_restores_belongs_to_the_owner_of_the_folder() {
        use std::os::unix::fs::{MetadataExt, chown};
        const OWNER: u32 = 65534;
        let parent = tempfile::tempdir().unwrap();
        if chown(parent.path(), Some(OWNER), Some(OWNER)).is_err() {
            return eprintln!("skipped: only root can restore for another user");
        }
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(parent.path(), &OLD, "old");
        let staging = folder.prepare_replacement().unwrap();
        assert_eq!(fs::metadata(&staging).unwrap().uid(), OWNER);
        fill(&staging, &NEW, "new");
        let replaced = folder.replace(Path::new("users.db"), AT).unwrap().unwrap();
        assert_eq!(fs::metadata(replaced).unwrap().uid(), OWNER);
    }

    #[test]
    fn a_restored_database_with_a_log_that_it_lacks_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(parent.path(), &OLD, "old");
        let staging = folder.prepare_replacement().unwrap();
        fill(&staging, &NEW, "new");
        fill(&staging, &["users.db-wal"], "pages");
        assert!(folder.replace(Path::new("users.db"), AT).is_err());
        assert_eq!(fs::read_to_string(parent.path().join("users.db")).unwrap(), "old");
    }

    #[test]
    fn a_crash_before_the_decision_leaves_the_old_state() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fill(parent.path(), &OLD, "old");
        fill(&folder.prepare_replacement().unwrap(), &NEW, "new");
        drop(folder);
        drop(DataFolder::open(parent.path()).unwrap());
        for name in OLD {
            assert_eq!(fs::read_to_string(parent.path().join(name)).unwrap(), "old");
        }
    }

    #[test]
    fn a_crash_at_any_step_after_the_decision_leads_to_the_new_state() {
        let steps = OLD.len() + 1 + NEW.len();
        for crash in 0..=steps {
            let parent = tempfile::tempdir().unwrap();
            fill(parent.path(), &OLD, "old");
            fill(parent.path(), &["notes"], "theirs");
            let ready = parent.path().join("restore-ready-1800000000");
            fs::create_dir(&ready).unwrap();
            fill(&ready, &NEW, "new");
            let mut done = 0;
            let mut rename = |from: &Path, to: &Path| {
                done += 1;
                if done > crash { Err(io::Error::other("crash")) } else { fs::rename(from, to) }
            };
            let crashed = complete_with(parent.path(), &mut rename).is_err();
            assert_eq!(crashed, crash < steps, "after {crash} steps");
            let is_found = parent.path().join("users.db").exists();
            assert!(
                is_found || DataFolder::is_being_replaced(parent.path()),
                "after {crash} steps"
            );
            // As every start does.
            drop(DataFolder::open(parent.path()).unwrap());
            assert_replaced(parent.path());
            assert!(!DataFolder::is_being_replaced(parent.path()));
        }
    }
}
