//! Moves an installation from one database to another: its keys, and the rows of all tables. Sessions and links in mails stay valid. An interrupted move can be resumed. No server
//! starts on the new database before the move has finished.

use std::{fmt, sync::Arc};

use serde_json::json;

use super::{
    line::RecordLine,
    writer::{append, hexadecimal},
};
use crate::{
    clock::Timestamp,
    sha256::Sha256,
    store::{
        self,
        archive::{Installation, RecordCounts, SESSIONS, USERS},
    },
    token::{
        SigningKey,
        key_store::{KeyStore, KeyStoreError, StoredKeys, stored_secrets},
    },
};

/// The progress of a move.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub step: &'static str,
    /// The number of rows of this step.
    pub total: u64,
    /// The number of rows done.
    pub done: u64,
}

/// The contents of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    pub counts: RecordCounts,
    /// SHA-256 of every row and key.
    pub checksum: String,
}

/// Why an installation could not be moved, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The new database is in use.
    #[error("the new database already has users: choose an empty one; nothing was changed")]
    NotEmpty,
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    /// There is nothing to move.
    #[error("the old database has no signing key: no server has ever been started with it")]
    NothingThere,
    /// The two databases differ after the move.
    #[error(
        "the two databases differ ({old} in the old one, {new} in the new one): stop every server that uses either \
         of them and run this again; the old one was not changed"
    )]
    Differs { old: Inventory, new: Inventory },
}

impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (users, sessions) = (self.counts.of(&USERS), self.counts.of(&SESSIONS));
        let users = if users == 1 { "1 user".into() } else { format!("{users} users") };
        let sessions =
            if sessions == 1 { "1 session".into() } else { format!("{sessions} sessions") };
        write!(f, "{users}, {sessions}, checksum {}", &self.checksum[..16])
    }
}

/// Copies everything that `new` does not have yet, and compares the two. `signs_at` is when the next signing key starts to
/// sign, unless the old key store records a time.
///
/// # Errors
/// If a database fails, `new` is in use, or the two differ after the move.
pub async fn migrate(
    old: &Installation,
    new: &Installation,
    signs_at: Timestamp,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<Inventory, Error> {
    let keys = old.key_store.stored_keys().await?;
    if keys.signing.is_none() && !old.store.has_users().await? {
        return Err(Error::NothingThere);
    }
    if !new.store.is_move_unfinished().await? {
        // A server may have used the database: an import could restore sessions that have ended there.
        if new.store.has_users().await? {
            return Err(Error::NotEmpty);
        }
        new.store.set_move_unfinished(true).await?;
    }
    // Without a signing key, the keys are in the operator's file.
    if let Some(signing) = &keys.signing {
        import_signing_key(&new.key_store, signing, signs_at).await?;
    }
    import_other_keys(&new.key_store, &keys, signs_at).await?;
    for (name, secret) in stored_secrets(&*old.key_store).await? {
        // A server without users created any other secret, so it has made no cookie and encrypted nothing.
        new.key_store.replace_secret(name, &secret).await?;
    }
    copy(old, new, report).await?;
    let old_inventory = inventory(old, "checking the old database", report).await?;
    let new_inventory = inventory(new, "checking the new database", report).await?;
    if old_inventory != new_inventory {
        return Err(Error::Differs { old: old_inventory, new: new_inventory });
    }
    new.store.set_move_unfinished(false).await?;
    Ok(old_inventory)
}

async fn import_signing_key(
    key_store: &Arc<dyn KeyStore>,
    signing: &SigningKey,
    signs_at: Timestamp,
) -> Result<(), KeyStoreError> {
    let existing = key_store.stored_keys().await?;
    match &existing.signing {
        None => key_store.add_first_key(signing).await?,
        Some(key) if key.id() == signing.id() => {}
        // A server without users created this key, so it has signed no token.
        Some(key) => {
            if let Some((next, _)) = &existing.next {
                key_store.remove_key(next.id()).await?;
            }
            key_store.add_next_key(signing, signs_at).await?;
            key_store.promote_next_key(signing.id(), key, None).await?;
        }
    }
    Ok(())
}

async fn import_other_keys(
    key_store: &Arc<dyn KeyStore>,
    keys: &StoredKeys,
    signs_at: Timestamp,
) -> Result<(), KeyStoreError> {
    if let Some((next, stored_time)) = &keys.next {
        key_store.add_next_key(next, stored_time.unwrap_or(signs_at)).await?;
    }
    for (key, until) in &keys.retired {
        key_store.add_retired_key(key, *until).await?;
    }
    Ok(())
}

async fn copy(
    old: &Installation,
    new: &Installation,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), Error> {
    let snapshot = old.store.snapshot().await?;
    let total = snapshot.counts().await?.total();
    let mut progress = Progress { step: "copying", total, done: 0 };
    let mut pages = snapshot.pages();
    while let Some(records) = pages.next().await? {
        progress.done += records.len() as u64;
        new.store.import(records).await.map_err(|error| match error {
            store::Error::EmailTaken => Error::NotEmpty,
            error => error.into(),
        })?;
        report(progress);
    }
    Ok(())
}

/// Reads a whole installation, in an order that does not depend on the database.
async fn inventory(
    installation: &Installation,
    step: &'static str,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<Inventory, Error> {
    let snapshot = installation.store.snapshot().await?;
    let total = snapshot.counts().await?.total();
    let mut progress = Progress { step, total, done: 0 };
    let (mut counts, mut checksum) = (RecordCounts::default(), Sha256::new());
    let mut buffer = Vec::new();
    let mut pages = snapshot.pages();
    while let Some(records) = pages.next().await? {
        for record in &records {
            counts.add(record);
            buffer.clear();
            append(&mut buffer, &RecordLine(record));
            checksum.update(&buffer);
        }
        progress.done = counts.total();
        report(progress);
    }
    // Keys that only verify are in the operator's file, which is not moved.
    let StoredKeys { signing, next, retired, verifying: _ } =
        installation.key_store.stored_keys().await?;
    let mut keys: Vec<_> = signing.iter().map(|key| (key.id().to_string(), 0)).collect();
    keys.extend(next.iter().map(|(key, _)| (key.id().to_string(), 1)));
    // The data folder stores whole seconds.
    keys.extend(retired.iter().map(|(key, until)| (key.id().to_string(), until.seconds())));
    keys.sort_unstable();
    checksum.update(json!(keys).to_string());
    Ok(Inventory { counts, checksum: hexadecimal(checksum) })
}
