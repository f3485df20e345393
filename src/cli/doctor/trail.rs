//! What protects the audit trail: its witness, its file of checkpoints and its secret.

use std::{io, path::Path};

use rustix::fs::{Access, access};

use super::finding::{Kind, Report};
use crate::{
    Settings,
    account::status::Status,
    doorward::{TrailPart, TrailTrouble},
};

/// Judges what the running server has noticed. If none runs, only the file can be checked.
pub(super) fn check(report: &mut Report, settings: &Settings, running: Option<&Status>) {
    match running {
        Some(running) => {
            report.checked("the witness, the checkpoints and the secret of the audit trail");
            running.audit_troubles.iter().for_each(|trouble| add(report, trouble));
        }
        None => {
            if let Some(file) = &settings.audit.checkpoint_file {
                check_file(report, file);
            }
        }
    }
}

fn add(report: &mut Report, TrailTrouble { part, since, cause }: &TrailTrouble) {
    match part {
        TrailPart::WitnessRefuses => report.add(
            Kind::WitnessRefuses,
            format!("since {since}, the witness refuses to cosign the audit trail: {cause}"),
            "let audit.witness_for there be what `doorward audit key` prints here, and check audit.witness_key; if the database was \
             rolled back, `doorward audit verify --checkpoint FILE` says how far",
        ),
        TrailPart::WitnessUnreachable => report.add(
            Kind::WitnessUnreachable,
            format!("since {since}, the witness cannot be reached: {cause}"),
            "check audit.witness, the network and the other server: until then, nobody notices a database that was rolled back",
        ),
        TrailPart::CheckpointFile => add_file(report, &format!("since {since}, {cause}")),
        TrailPart::Secret => report.add(
            Kind::AuditSecret,
            format!("since {since}, the secret of the audit trail is lost: {cause}"),
            "restore audit-secret from a backup: no server starts without it, unless once with --new-audit-secret",
        ),
    }
}

fn add_file(report: &mut Report, problem: &str) {
    report.add(
        Kind::CheckpointFile,
        format!("checkpoints of the audit trail cannot be written: {problem}"),
        "let the user of the server append to audit.checkpoint_file, and create its folder; checkpoints are also in the log",
    );
}

/// Whether checkpoints can be appended. The file is not opened, because doctor changes nothing.
fn check_file(report: &mut Report, file: &Path) {
    report.checked(format!("access to {} (audit.checkpoint_file)", file.display()));
    let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let problem = if file.is_dir() {
        Err(io::Error::from(io::ErrorKind::IsADirectory))
    } else {
        let path = if file.exists() { file } else { folder };
        access(path, Access::WRITE_OK).map_err(io::Error::from)
    };
    if let Err(error) = problem {
        add_file(report, &format!("{}: {error}", file.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_to_which_nothing_can_be_appended_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let found = |path: &str| {
            let mut report = Report::default();
            check_file(&mut report, &folder.path().join(path));
            report.names().concat()
        };
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(found("file"), "");
        assert_eq!(found("new"), "");
        assert_eq!(found("missing/new"), "checkpoint-file");
        assert_eq!(found(""), "checkpoint-file");
    }
}
