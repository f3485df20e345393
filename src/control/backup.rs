//! What a running server with SQLite writes into a backup.

use std::{fs, io::Write};

use super::spool::SPARE_BYTES;
use crate::{
    Doorward, backup,
    config::DatabaseUrl,
    data_folder::{self, DataFolder},
    store::archive::{KeySnapshot, USERS},
    token::key_store::stored_secrets,
};

/// Writes a backup. Returns the number of users.
pub(super) async fn write(
    doorward: &Doorward,
    folder: &DataFolder,
    output: &mut (dyn Write + Send),
) -> Result<u64, String> {
    let DatabaseUrl::Sqlite(database) = &doorward.settings().database else {
        return Err("run this command with the settings of the server: it uses PostgreSQL".into());
    };
    let needed = fs::metadata(database).map_or(0, |metadata| metadata.len()) + SPARE_BYTES;
    if let Some(available) = folder.reserve().available().filter(|available| *available < needed) {
        return Err(format!(
            "{} has {} MiB of free space, and a backup needs {} MiB while it is made: free some space",
            folder.path().display(),
            available >> 20,
            needed >> 20
        ));
    }
    let now = doorward.now();
    let snapshot = doorward.store().snapshot().await.map_err(|error| error.to_string())?;
    // After the snapshot: the keys of all tokens in it are still there, unless they were revoked.
    let keys = keys(doorward, folder).await?;
    let keys_in_file = doorward.settings().key_file.is_some();
    let written = backup::write(&snapshot, &keys, keys_in_file, now, output, &mut |_, _| {}).await;
    written.map(|description| description.counts.of(&USERS)).map_err(|error| error.to_string())
}

async fn keys(doorward: &Doorward, folder: &DataFolder) -> Result<KeySnapshot, String> {
    let in_store = |error: crate::token::key_store::KeyStoreError| error.to_string();
    let keys = doorward.keys().read_unchanged(folder).await.map_err(in_store)?;
    let secrets = stored_secrets(folder).await.map_err(in_store)?;
    Ok(KeySnapshot { keys, secrets })
}

/// Whether the error means that another process uses the data folder.
pub fn is_in_use(error: &crate::OpenError) -> bool {
    matches!(error, crate::OpenError::Data(data_folder::Error::InUse { .. }))
}
