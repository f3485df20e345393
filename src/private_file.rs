//! Files that only their owner can read: made so, given to the owner of their folder, and made so again at every start.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    },
    path::Path,
};

use rustix::fs::OFlags;

const OF_OTHERS: u32 = 0o077;

/// How a private file is opened for writing. What it creates goes through [`give_to_folder_owner`].
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Opens a file for writing, and gives it to the owner of its folder if it had to be made.
pub(crate) fn open_or_create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        created => created.inspect(|file| give_to_folder_owner(file, path)),
    }
}

/// Makes an empty file unless there is one, which is not opened: to close any descriptor of a database file releases
/// all locks that this process has on it.
pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    match options().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(|file| give_to_folder_owner(&file, path)),
    }
}

/// Gives a file that root has just made to the owner of its folder, who has to be able to use it afterwards.
pub(crate) fn give_to_folder_owner(file: &File, path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let Ok(folder) = fs::metadata(folder.unwrap_or(Path::new("."))) else { return };
    if folder.uid() != 0
        && let Err(error) = fchown(file, Some(folder.uid()), Some(folder.gid()))
    {
        tracing::warn!(path = %path.display(), %error, "cannot give this file to the owner of its folder");
    }
}

/// Takes from others what they may do with a file or folder, and says so. Leaves alone what belongs neither to this
/// process nor to the owner of the folder that it is in, and whatever a symbolic link leads to.
pub(crate) fn restrict(path: &Path, mode: u32) {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::PATH | OFlags::NOFOLLOW).bits().cast_signed());
    let Ok(file) = options.open(path) else { return };
    let Ok(metadata) = file.metadata() else { return };
    if metadata.is_symlink() || metadata.permissions().mode() & OF_OTHERS == 0 {
        return;
    }
    let own = rustix::process::geteuid().as_raw();
    let of_folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    if metadata.uid() != own && of_folder.is_none_or(|folder| folder.uid() != metadata.uid()) {
        tracing::warn!(path = %path.display(), "others can use this, and it belongs to another user");
        return;
    }
    // A descriptor without access cannot change the mode itself; its name under /proc can.
    let same = format!("/proc/self/fd/{}", file.as_raw_fd());
    let outcome = fs::set_permissions(same, Permissions::from_mode(mode));
    tracing::warn!(path = %path.display(), tightened = outcome.is_ok(), "others could use this");
}

/// Whether others can add, replace or remove what is in a folder.
pub(crate) fn others_can_write(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o022 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_others_could_use_is_tightened() {
        let folder = tempfile::tempdir().unwrap();
        let (file, socket) = (folder.path().join("file"), folder.path().join("socket"));
        fs::write(&file, "").unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [&file, &socket] {
            fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
            restrict(path, 0o600);
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        restrict(&file, 0o600);
        assert_eq!(mode(&file), 0o400, "nobody else could use it");
        restrict(&folder.path().join("missing"), 0o600);
    }

    #[test]
    fn what_a_symbolic_link_leads_to_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        symlink(&file, &link).unwrap();
        restrict(&link, 0o600);
        assert_eq!(mode(&file), 0o644);
    }
}
