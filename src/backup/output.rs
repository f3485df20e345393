//! The file that a backup is written to. It has its name only when it is complete and on disk.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process,
};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

/// Where a backup is written to.
pub enum Output {
    File(UnfinishedFile),
    Stdout(io::Stdout),
}

impl Output {
    /// Completes it. A file gets its name.
    ///
    /// # Errors
    /// If it cannot be written completely. Then there is no file with that name, or the one from before.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::File(file) => file.finish(),
            Self::Stdout(_) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// A file that is removed unless it is finished.
pub struct UnfinishedFile {
    file: File,
    path: PathBuf,
    final_path: PathBuf,
    replaces: bool,
}

impl UnfinishedFile {
    /// Creates a file beside `path`, which only its owner can access. Removes what killed commands have left behind.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(path: &Path, replaces: bool) -> io::Result<Self> {
        let prefix = unfinished_prefix(path)?;
        remove_leftovers(folder_of(path), &prefix);
        let mut name = prefix;
        name.push(process::id().to_string());
        let unfinished = path.with_file_name(name);
        // Locked for as long as this process runs, so that no other one takes it for a leftover.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let created = Self { file, path: unfinished, final_path: path.to_owned(), replaces };
        created.file.try_lock().map_err(io::Error::from)?;
        Ok(created)
    }

    fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.replaces {
            fs::rename(&self.path, &self.final_path)?;
        } else {
            rename_new(&self.path, &self.final_path)?;
        }
        File::open(folder_of(&self.final_path))?.sync_all()
    }
}

impl Drop for UnfinishedFile {
    /// After a rename there is nothing to remove.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Renames a file and never replaces one.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot do it at once.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        renamed => Ok(renamed?),
    }
}

fn unfinished_prefix(path: &Path) -> io::Result<OsString> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".unfinished-");
    Ok(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Removes unfinished files that no process has locked.
fn remove_leftovers(folder: &Path, prefix: &OsString) {
    let prefix = prefix.as_encoded_bytes();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(prefix) {
            continue;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        if let Ok(file) = options.open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn output(path: &Path, replaces: bool) -> Output {
        Output::File(UnfinishedFile::create(path, replaces).unwrap())
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        let mut unfinished = output(&path, false);
        unfinished.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(unfinished);
        assert!(names(folder.path()).is_empty());
        let mut finished = output(&path, false);
        finished.write_all(b"whole").unwrap();
        finished.finish().unwrap();
        assert_eq!(names(folder.path()), ["backup"]);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_is_replaced_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        fs::write(&path, "old").unwrap();
        let error = output(&path, false).finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output(&path, true).finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(names(folder.path()), ["backup"]);
    }

    #[test]
    fn leftovers_are_removed_unless_another_process_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        fs::write(folder.path().join("backup.unfinished-1"), "left").unwrap();
        let in_use = File::create(folder.path().join("backup.unfinished-2")).unwrap();
        in_use.lock().unwrap();
        fs::write(folder.path().join("backup2.unfinished-1"), "another").unwrap();
        output(&path, false).finish().unwrap();
        assert_eq!(names(folder.path()), ["backup", "backup.unfinished-2", "backup2.unfinished-1"]);
    }
}
