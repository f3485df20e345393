//! `/api/admin/status`: what the server that answers knows about itself, and what its database says.

use std::collections::BTreeMap;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::status,
    data_folder::DoctorReport,
    doorward::{TrailPart, TrailTrouble},
    event::Actor,
    http::{
        Error,
        admin::{Admin, OperatorOnly, StatusRead},
        answer::NoStore,
    },
    store::{self, DatabaseReport},
};

/// What a server knows about itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: String,
    /// The number of the schema of its database. Version 0.1.0 does not tell it.
    #[serde(default)]
    pub schema: usize,
    pub started_at: String,
    /// The address that it listens on.
    pub listening: Option<String>,
    /// Its clock.
    pub clock: String,
    /// Why requests are refused.
    pub not_ready: Option<String>,
    /// The most files that it may open.
    pub open_files: Option<u64>,
    /// How much the database holds, as of some moments ago.
    pub sizes: Option<Sizes>,
    /// Free space of the disk that has the data folder, in bytes.
    pub free_bytes: Option<u64>,
    /// When `doorward backup` has made the last backup.
    pub last_backup_at: Option<String>,
    /// What is wrong with what protects the audit trail.
    #[serde(default)]
    pub audit_troubles: Vec<AuditTrouble>,
    /// What `doorward doctor` has found last.
    pub doctor: Option<DoctorReport>,
    /// The settings in force, without secrets.
    pub settings: BTreeMap<String, String>,
}

/// Something that protects the audit trail and fails.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditTrouble {
    pub part: TrailPart,
    /// When this server noticed it.
    pub since: String,
    pub cause: String,
}

impl From<TrailTrouble> for AuditTrouble {
    fn from(TrailTrouble { part, since, cause }: TrailTrouble) -> Self {
        Self { part, since: since.to_string(), cause }
    }
}

/// How much a database holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sizes {
    pub users: u64,
    pub sessions: u64,
    pub mail_waiting: u64,
    pub mail_given_up: u64,
    /// Imported password hashes that have not been replaced.
    pub imported_hashes: u64,
}

impl From<store::Sizes> for Sizes {
    fn from(sizes: store::Sizes) -> Self {
        let store::Sizes { users, sessions, mail_waiting, mail_given_up, imported_hashes } = sizes;
        Self { users, sessions, mail_waiting, mail_given_up, imported_hashes }
    }
}

impl From<status::Status> for Status {
    fn from(status: status::Status) -> Self {
        let status::Status {
            version,
            schema,
            opened_at,
            listening,
            settings,
            clock,
            open_files,
            not_ready,
            sizes,
            free_bytes,
            last_backup,
            audit_troubles,
            doctor,
            sizes_at: _,
        } = status;
        Self {
            version: version.to_owned(),
            schema,
            started_at: opened_at.to_string(),
            listening: listening.map(|address| address.to_string()),
            clock: clock.to_string(),
            not_ready,
            open_files,
            sizes: sizes.map(Sizes::from),
            free_bytes,
            last_backup_at: last_backup.map(|at| at.to_string()),
            audit_troubles: audit_troubles.into_iter().map(AuditTrouble::from).collect(),
            doctor,
            settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    admin: Admin<StatusRead>,
) -> NoStore<Status> {
    let mut status = Status::from(status::status(&doorward).await);
    // It has the hashes of secrets that people may have made up.
    if !matches!(admin.actor, Actor::Operator(_)) {
        status.settings.remove("clients");
    }
    NoStore(StatusCode::OK, status)
}

/// Checks the database, which is too much work for a client on a network.
pub(in crate::http) async fn check_database(
    State(doorward): State<Doorward>,
    _: OperatorOnly,
) -> Result<NoStore<DatabaseReport>, Error> {
    let report = status::database(&doorward).await;
    // The operator sees the cause.
    let report = report
        .map_err(|error| Error::NotDone(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    Ok(NoStore(StatusCode::OK, report))
}
