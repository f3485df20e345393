//! A backup of a running server with SQLite.

use std::{fs, io::Write};

use crate::{
    Doorward, backup,
    config::DatabaseUrl,
    data_folder::{DataFolder, Spool},
    event::{Administrator, EventKind},
    store::archive::{KeySnapshot, USERS},
    token::key_store::stored_secrets,
};

/// Writes a backup. It is recorded first, so that the backup has the event as well. Returns the number of users, or why there is none.
pub(crate) async fn write(
    doorward: &Doorward,
    by: &Administrator,
    output: &mut (dyn Write + Send),
) -> Result<u64, String> {
    let (DatabaseUrl::Sqlite(database), Some(folder)) =
        (&doorward.settings().database, doorward.folder())
    else {
        return Err("run this command with the settings of the server: it uses PostgreSQL".into());
    };
    let needed = fs::metadata(database).map_or(0, |metadata| metadata.len()) + Spool::SPARE_BYTES;
    if let Some(available) = folder.reserve().available().filter(|available| *available < needed) {
        return Err(format!(
            "{} has {} MiB of free space, and a backup needs {} MiB while it is made: free some space",
            folder.path().display(),
            available >> 20,
            needed >> 20
        ));
    }
    doorward.record(doorward.event_by_administrator(by, None, EventKind::BackupMade)).await;
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
