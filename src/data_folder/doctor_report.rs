//! What `doorward doctor` has found last.

use std::{fs, io, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DataFolder, replace};
use crate::clock::Timestamp;

const REPORT: &str = "doctor-report";
const UNFINISHED: &str = "doctor-report.unfinished";

/// What `doorward doctor` has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// When it ran.
    pub at: Timestamp,
    /// Each with what to do about it.
    pub findings: Vec<String>,
}

impl DataFolder {
    /// The last report, if there is one that can be read. Works while another process uses the folder.
    pub fn doctor_report(folder: &Path) -> Option<DoctorReport> {
        serde_json::from_slice(&fs::read(folder.join(REPORT)).ok()?).ok()
    }

    /// Replaces the report. Works while another process uses the folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record_doctor_report(folder: &Path, report: &DoctorReport) -> io::Result<()> {
        replace(folder, [REPORT, UNFINISHED], &serde_json::to_vec(report)?)
    }
}

/// Whether a file of this name holds the report.
pub(super) fn is_report(name: &str) -> bool {
    [REPORT, UNFINISHED].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DataFolder::doctor_report(folder.path()), None);
        for finding in ["one", "two"] {
            let at = Timestamp::from_seconds(1_800_000_000);
            let report = DoctorReport { at, findings: vec![finding.into()] };
            DataFolder::record_doctor_report(folder.path(), &report).unwrap();
            assert_eq!(DataFolder::doctor_report(folder.path()), Some(report));
        }
    }
}
