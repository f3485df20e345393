//! The age of the last backup.

use std::{path::Path, time::Duration};

use super::finding::{Kind, Report};
use crate::{clock::Timestamp, data_folder::DataFolder};

/// Who backs up once a week has a day to notice that it failed.
const OLD: Duration = Duration::from_secs(8 * 24 * 60 * 60);

/// PostgreSQL has other ways to be backed up, so there only a backup that is no longer repeated is a mistake.
pub(super) fn check(report: &mut Report, folder: &Path, database: Option<&Path>, now: Timestamp) {
    let last = match DataFolder::last_backup(folder) {
        Ok(last) => last,
        // The modes of the files are another check.
        Err(error) => return report.checked(format!("the age of the last backup: {error}")),
    };
    match last {
        Some(last) if now.duration_since(last) > OLD => report.add(
            Kind::BackupOld,
            format!("the last backup is {} days old", now.duration_since(last).as_secs() / 86_400),
            "run `doorward backup FILE`, and find out why the schedule does not",
        ),
        Some(last) => report.checked(format!("the last backup, of {}", last.to_text())),
        None => match database {
            Some(file) if DataFolder::is_replicated(file) => {
                report.checked("no backup, but Litestream copies the database");
            }
            Some(file) if file.exists() => report.add(
                Kind::BackupMissing,
                "there is no backup of this database",
                "run `doorward backup FILE`, and schedule it (docs/backup.md)",
            ),
            Some(_) => {}
            None => report.checked("no backup by this program; PostgreSQL has its own"),
        },
    }
}
