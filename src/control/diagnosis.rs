//! What a server knows about itself, for `doorward doctor`.

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use crate::{Doorward, config::keys, store::DatabaseReport};

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
    let settings = doorward.settings();
    let store = doorward.store();
    Diagnosis {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        listening: doorward.listen_address().map(|address| address.to_string()),
        settings: keys().map(|key| (key.name.to_owned(), key.value(settings))).collect(),
        clock: doorward.now().millis(),
        open_files: getrlimit(Resource::Nofile).current,
        not_ready: store.check().await.err().map(|reason| reason.to_string()),
        database: store.report().await.map_err(|error| error.to_string()),
    }
}
