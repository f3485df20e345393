//! What a server knows about itself, for the operator.

use std::{collections::BTreeMap, net::SocketAddr};

use rustix::process::{Resource, getrlimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    clock::Timestamp,
    config,
    data_folder::{DataFolder, DoctorReport},
    doorward::TrailTrouble,
    store::{self, DatabaseReport, Sizes},
};

/// What the process that answers knows about itself: the running server or, if none runs, the command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) version: String,
    /// The number of the schema of the database, which an older version refuses. Version 0.1.0 does not tell it.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) schema: usize,
    pub(crate) started_at: Timestamp,
    /// The address that the server listens on.
    pub(crate) listening: Option<SocketAddr>,
    /// Its clock.
    pub(crate) clock: Timestamp,
    /// Why requests are refused.
    pub(crate) not_ready: Option<String>,
    /// The most files that it may open.
    pub(crate) open_files: Option<u64>,
    /// How much the database holds, as of some moments ago. None if it cannot be read.
    pub(crate) sizes: Option<Sizes>,
    /// When that was counted.
    #[serde(skip)]
    pub(crate) sizes_at: Option<Timestamp>,
    /// Free space of the disk that has the data folder, in bytes.
    pub(crate) free_bytes: Option<u64>,
    /// When the last backup was made by `doorward backup`.
    pub(crate) last_backup_at: Option<Timestamp>,
    /// What is wrong with what protects the audit trail.
    #[serde(default)]
    pub(crate) audit_troubles: Vec<TrailTrouble>,
    /// What `doorward doctor` has found last.
    pub(crate) doctor: Option<DoctorReport>,
    /// The settings in force, without secrets: names and values.
    /// Only the operator on the machine sees `clients`.
    pub(crate) settings: BTreeMap<String, String>,
}

/// What this process knows about itself.
pub(crate) async fn status(doorward: &Doorward) -> Status {
    let settings = doorward.settings();
    doorward.check_audit_secret().await;
    let (sizes, sizes_at) = doorward.sizes_at().await.unzip();
    let last_backup = settings.folder().and_then(|folder| DataFolder::last_backup(folder).ok());
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema: doorward.store().kind().schema(),
        started_at: doorward.opened_at(),
        listening: doorward.listen_address(),
        clock: doorward.now(),
        not_ready: doorward.store().check().await.err().map(|reason| reason.to_string()),
        open_files: getrlimit(Resource::Nofile).current,
        sizes,
        sizes_at,
        free_bytes: doorward.folder().and_then(|folder| folder.reserve().available()),
        last_backup_at: last_backup.flatten(),
        audit_troubles: doorward.trail_troubles(),
        doctor: settings.folder().and_then(DataFolder::doctor_report),
        settings: config::keys().map(|key| (key.name.to_owned(), key.value(settings))).collect(),
    }
}

/// What the database says about itself. SQLite checks its file for damage, which takes up to 5 seconds.
pub(crate) async fn database(doorward: &Doorward) -> Result<DatabaseReport, store::Error> {
    doorward.store().report().await
}
