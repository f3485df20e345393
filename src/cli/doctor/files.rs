//! Who can read and write the files of the service.

use std::{
    fs::{self, Metadata},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::finding::{Kind, Report};
use crate::{
    Settings,
    config::{DatabaseUrl, Origin, Origins, keys},
    data_folder::DataFolder,
    private_file::{OTHERS, WRITABLE_BY_EVERYBODY, WRITABLE_BY_OTHERS},
};

/// Files for a service are often readable by its group, which is deliberate.
const READABLE_BY_EVERYBODY: u32 = 0o004;

/// Checks the data folder and the files in it. Opening the database repairs some of them, so this comes first.
pub(super) fn check_data(report: &mut Report, folder: &Path, database: Option<&Path>) {
    let Ok(metadata) = fs::metadata(folder) else { return };
    report.checked(format!("access to the files in {}", folder.display()));
    if mode(&metadata) & WRITABLE_BY_OTHERS != 0 {
        report.add(
            Kind::FolderWritable,
            format!(
                "other users can replace files in {} (mode {:o})",
                folder.display(),
                mode(&metadata)
            ),
            format!("run: chmod 700 {}", folder.display()),
        );
    }
    for path in DataFolder::own_files(folder, database) {
        let Ok(file) = fs::symlink_metadata(&path) else { continue };
        if mode(&file) & OTHERS != 0 {
            report.add(
                Kind::FileReadable,
                format!("other users have access to {} (mode {:o})", path.display(), mode(&file)),
                format!(
                    "run: chmod 600 {}; if it is a key, rotate it: doorward keys rotate",
                    path.display()
                ),
            );
        }
        if file.uid() != metadata.uid() {
            let (owner, wanted) = (file.uid(), metadata.uid());
            report.add(
                Kind::FileOwner,
                format!("{} belongs to user {owner}, its folder to user {wanted}", path.display()),
                format!("run: chown {wanted}:{} {}", metadata.gid(), path.display()),
            );
        }
    }
}

/// Checks the files that the settings name, and the settings file itself.
pub(super) fn check_secrets(report: &mut Report, settings: &Settings, origins: &Origins) {
    let mut secrets: Vec<(&str, PathBuf)> = Vec::new();
    let mut named = |setting, path: Option<&Path>| {
        secrets.extend(path.map(|path| (setting, path.to_owned())));
    };
    named("mail.password_file", settings.mail.password_file.as_deref());
    named("database.password_file", settings.postgres.password_file.as_deref());
    named("token.key_file", settings.key_file.as_deref());
    named("tls.key", settings.tls.pair().map(|(_, key)| key));
    let url_in_file = keys().find(|key| key.name == "database_url").map(|key| origins.of(key));
    if let (DatabaseUrl::Postgres(url), Some(Origin::File { path, .. })) =
        (&settings.database, url_in_file)
        && url.has_password()
    {
        secrets.push(("database_url (with a password)", path));
    }
    for (setting, path) in secrets {
        report.checked(format!("access to {} ({setting})", path.display()));
        match fs::metadata(&path) {
            Ok(metadata) if mode(&metadata) & READABLE_BY_EVERYBODY != 0 => report.add(
                Kind::SecretReadable,
                format!(
                    "{setting}: every user of this machine can read {} (mode {:o})",
                    path.display(),
                    mode(&metadata)
                ),
                format!("run: chmod 600 {}, and change the secret", path.display()),
            ),
            Ok(_) => {}
            Err(error) => report.add(
                Kind::SecretMissing,
                format!("{setting}: {}: {error}", path.display()),
                "create the file, or name another one in the setting",
            ),
        }
    }
    if let Some(file) = &origins.file
        && let Ok(metadata) = fs::metadata(file)
    {
        report.checked(format!("access to {}", file.display()));
        if mode(&metadata) & WRITABLE_BY_EVERYBODY != 0 {
            report.add(
                Kind::SettingsWritable,
                format!(
                    "every user of this machine can change {} (mode {:o})",
                    file.display(),
                    mode(&metadata)
                ),
                format!("run: chmod o-w {}", file.display()),
            );
        }
    }
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}
