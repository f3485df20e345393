//! The clock of this machine against times that were stored before.

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use super::finding::{Kind, Report};
use crate::{clock::Timestamp, data_folder::DataFolder};

/// Files on some disks have times a little ahead.
const TOLERANCE: Duration = Duration::from_secs(60);

/// A file from the future shows that the clock was set back.
pub(super) fn check_files(
    report: &mut Report,
    folder: &Path,
    database: Option<&Path>,
    now: Timestamp,
) {
    let files = DataFolder::own_files(folder, database);
    let Some(newest) = files.iter().filter_map(|path| written_at(path)).max() else { return };
    report.checked("clock, against the files in the data folder");
    let ahead = newest.duration_since(now);
    if ahead > TOLERANCE {
        report.add(
            Kind::ClockSetBack,
            format!(
                "a file in {} was written {} s in the future: the clock was ahead then, or is behind now",
                folder.display(),
                ahead.as_secs()
            ),
            "compare it with another clock and synchronise it (systemd-timesyncd, chrony). If it is right now, nothing else is to do: \
             sessions of the future stay valid and last longer, and whoever signed in then is asked to do so again where a guard wants a new \
             sign-in",
        );
    }
}

/// When a file was last written.
pub(super) fn written_at(path: &Path) -> Option<Timestamp> {
    fs::metadata(path).ok().map(|file| Timestamp::from_seconds(file.mtime()))
}
