//! The disk of the data folder: space, inodes, the reserve, and whether it is on another machine.

use std::path::Path;

use rustix::fs::{statfs, statvfs};

use super::finding::{Kind, Report};
use crate::data_folder::{Reserve, is_read_only};

const MIB: u64 = 1 << 20;
/// With less, the next burst of writes fills the disk.
const FULL_BELOW: u64 = 16 * MIB;
const LOW_BELOW: u64 = 256 * MIB;
const FEW_INODES: u64 = 1000;
pub(super) const READ_ONLY: &str = "look for errors of the disk (dmesg), and mount it writable (mount -o remount,rw): free space does not help";

/// `is_sqlite`: the folder holds the database, and the reserve of a running server.
pub(super) fn check(report: &mut Report, folder: &Path, is_sqlite: bool) {
    let Ok(disk) = statvfs(folder) else { return };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    report.checked(format!("disk: {} MiB free at {}", free / MIB, folder.display()));
    space(report, folder, free);
    if is_read_only(folder) {
        report.add(
            Kind::DiskReadOnly,
            format!("the disk of {} is read-only: nothing can be written", folder.display()),
            READ_ONLY,
        );
    }
    // Some file systems have no limit of inodes, and report none.
    if disk.f_files > 0 && disk.f_favail < FEW_INODES {
        report.add(
            Kind::InodesLow,
            format!("the file system of {} has {} inodes left", folder.display(), disk.f_favail),
            "delete small files there, or move the database to another file system",
        );
    }
    if !is_sqlite {
        return;
    }
    if let Ok(system) = statfs(folder)
        && let Some(name) = network_file_system(i128::from(system.f_type))
    {
        report.add(
            Kind::NetworkFileSystem,
            format!("the SQLite database in {} is on a network file system ({name})", folder.display()),
            "its locks are not reliable there, and it gets damaged: move the folder to a local disk, or use PostgreSQL",
        );
    }
}

fn space(report: &mut Report, folder: &Path, free: u64) {
    let problem = format!("the disk of {} has {} MiB left", folder.display(), free / MIB);
    let advice = "free space, or move the data folder to a larger disk";
    match free {
        ..FULL_BELOW => report.add(Kind::DiskFull, problem, advice),
        FULL_BELOW..LOW_BELOW => report.add(Kind::DiskLow, problem, advice),
        LOW_BELOW.. => {}
    }
}

/// Checks the space that a running server has reserved.
pub(super) fn check_reserve(report: &mut Report, folder: &Path) {
    let (held, wanted) = (Reserve::held_in(folder), Reserve::BYTES);
    report.checked(format!("reserve for a full disk: {} of {} MiB", held / MIB, wanted / MIB));
    if held < wanted {
        report.add(
            Kind::ReserveSpent,
            format!(
                "of the reserve for a full disk, {} of {} KiB are there",
                held >> 10,
                wanted >> 10
            ),
            "free space on the disk of the data folder: the server then fills the reserve again",
        );
    }
}

/// The name of a file system whose files are on another machine, by its number in `statfs`.
fn network_file_system(number: i128) -> Option<&'static str> {
    match number {
        0x6969 => Some("NFS"),
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f => Some("AFS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_none_an_error() {
        for (free, found) in [(15, "disk-full"), (16, "disk-low"), (255, "disk-low"), (256, "")] {
            let mut report = Report::default();
            space(&mut report, Path::new("data"), free * MIB);
            assert_eq!(report.names().concat(), found, "{free}");
        }
    }

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        // ext4, tmpfs, overlayfs
        for local in [0xef53, 0x0102_1994, 0x794c_7630] {
            assert_eq!(network_file_system(local), None);
        }
    }
}
