//! What a server knows about itself, for `doorward doctor`.

use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::status::{self, Status},
    store::DatabaseReport,
};

/// What the process that executes commands knows about itself: the running server or, if none runs, the command.
#[derive(Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    pub version: String,
    /// The address that the server listens on.
    pub listening: Option<String>,
    /// The settings in force, without secrets, each with its value.
    pub settings: Vec<(String, String)>,
    /// Its clock, in milliseconds since 1970.
    pub clock: i64,
    /// The most files that it may open.
    pub open_files: Option<u64>,
    /// Why requests are refused.
    pub not_ready: Option<String>,
    /// What the database says, or why it says nothing.
    pub database: Result<DatabaseReport, String>,
}

pub(super) async fn diagnose(doorward: &Doorward) -> Diagnosis {
    let Status { version, listening, settings, clock, open_files, not_ready, .. } =
        status::status(doorward).await;
    Diagnosis {
        version: version.to_owned(),
        listening: listening.map(|address| address.to_string()),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        clock: clock.millis(),
        open_files,
        not_ready,
        database: status::database(doorward).await.map_err(|error| error.to_string()),
    }
}
