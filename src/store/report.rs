//! What a database says about itself, for `doorward doctor`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a database says about itself. A part that it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseReport {
    /// Its name and version.
    pub version: String,
    /// What is damaged in a SQLite file.
    pub damage: Vec<String>,
    /// Whether the check for damage was stopped because it took too long.
    pub is_check_unfinished: bool,
    /// The size of the write-ahead log of SQLite, in bytes.
    pub log_bytes: Option<u64>,
    /// The clock of a database server, in milliseconds since 1970.
    pub clock: Option<i64>,
    /// How many connections a database server has.
    pub connections: Option<u64>,
    /// The most connections that a database server accepts.
    pub max_connections: Option<u64>,
    /// Whether the role may do everything on the database server.
    #[serde(default)]
    pub is_superuser: Option<bool>,
    /// How many standbys are connected.
    pub standbys: Option<u64>,
    /// `synchronous_standby_names`: commits wait for these standbys.
    pub synchronous_standbys: Option<String>,
}
