//! Files that only their owner can access. They belong to the owner of their folder, and every start restricts them again.

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

/// The permissions of the group and of all other users.
pub(crate) const OTHERS: u32 = 0o077;
/// The permissions of the group and of all other users to write.
pub(crate) const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The permission of all users to write.
pub(crate) const WRITABLE_BY_EVERYBODY: u32 = 0o002;

/// Options that open a private file for writing. A file that they create must be passed to [`give_to_folder_owner`]. They
/// follow no symbolic link, because root may write into a folder of another user.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Opens a file for writing, and creates it for the owner of its folder if it is missing.
pub(crate) fn open_or_create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        created => created.inspect(|file| give_to_folder_owner(file, path)),
    }
}

/// Creates an empty file if it is missing. An existing file is not opened, because closing any descriptor of a database
/// file releases all locks of this process on it.
pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    match options().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(|file| give_to_folder_owner(&file, path)),
    }
}

/// Gives a file that root has created to the owner of its folder, who must be able to use it later.
pub(crate) fn give_to_folder_owner(file: &File, path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let Ok(folder) = fs::metadata(folder.unwrap_or(Path::new("."))) else { return };
    if folder.uid() != 0
        && let Err(error) = fchown(file, Some(folder.uid()), Some(folder.gid()))
    {
        tracing::warn!(path = %path.display(), %error, "cannot change the owner of this file to the owner of its folder");
    }
}

/// Removes the permissions of other users on a file or folder and logs it. It does not change files that belong neither to
/// the user of this process nor to the owner of their folder, nor the target of a symbolic link.
pub(crate) fn restrict(path: &Path, mode: u32) {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::PATH | OFlags::NOFOLLOW).bits().cast_signed());
    let Ok(file) = options.open(path) else { return };
    let Ok(metadata) = file.metadata() else { return };
    if metadata.is_symlink() || metadata.permissions().mode() & OTHERS == 0 {
        return;
    }
    let own_uid = rustix::process::geteuid().as_raw();
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    if metadata.uid() != own_uid && folder.is_none_or(|folder| folder.uid() != metadata.uid()) {
        tracing::warn!(path = %path.display(), "other users have access to this, which belongs to another user: change its permissions");
        return;
    }
    // A descriptor that was opened with O_PATH cannot change the mode, but its name under /proc can.
    let proc_path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let outcome = fs::set_permissions(proc_path, Permissions::from_mode(mode));
    tracing::warn!(path = %path.display(), restricted = outcome.is_ok(), "other users had access to this");
}

/// Whether other users can add, replace or remove files in a folder.
pub(crate) fn others_can_write(folder: &Path) -> bool {
    fs::metadata(folder)
        .is_ok_and(|metadata| metadata.permissions().mode() & WRITABLE_BY_OTHERS != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn permissions_of_others_are_removed() {
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
        assert_eq!(mode(&file), 0o400, "others had no permission");
        restrict(&folder.path().join("missing"), 0o600);
    }

    #[test]
    fn the_target_of_a_symbolic_link_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        symlink(&file, &link).unwrap();
        restrict(&link, 0o600);
        assert_eq!(mode(&file), 0o644);
    }
}
