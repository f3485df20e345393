//! Restores a backup: into an empty folder, which later replaces a data folder, or in a transaction.

use std::{io::BufRead, path::Path};

use super::{Description, Error, Reader};
use crate::{
    audit::AuditKey,
    clock::Timestamp,
    data_folder::DataFolder,
    event::Event,
    store::{
        self, Store,
        archive::{KeySnapshot, Record, Restoration},
    },
    token::{
        Algorithm, SigningKey,
        key_store::{KeyStore, StoredKeys},
        shared_secret::{SecretName, SharedSecret},
    },
};

/// Where the signing key of a restored installation comes from if the backup has none.
#[derive(Clone, Copy)]
pub enum SigningKeySource {
    /// From nowhere: such a backup is not restored.
    Backup,
    /// From the operator's file.
    File,
    /// It is made. All users have to log in again.
    New(Algorithm),
}

impl SigningKeySource {
    fn complete(self, description: &mut Description, keys: &mut StoredKeys) -> Result<(), Error> {
        match self {
            _ if !description.keys_in_file && !description.lacks_signing_key => Ok(()),
            Self::File => Ok(()),
            Self::Backup if description.keys_in_file => Err(Error::KeysInFile),
            Self::Backup => Err(Error::LacksSigningKey),
            Self::New(algorithm) => {
                keys.signing = Some(SigningKey::generate(algorithm));
                description.keys = keys.ids();
                Ok(())
            }
        }
    }
}

/// Creates a SQLite file with this name, and the key files, in an empty folder. `signs_at` is when the next key starts to
/// sign, unless its time is known. The event is added to the audit trail.
///
/// # Errors
/// If the backup is not good, or the files cannot be written.
pub async fn fill_folder(
    mut backup: Reader<impl BufRead>,
    folder: &Path,
    database: &Path,
    signing_key: SigningKeySource,
    signs_at: Timestamp,
    event: Option<Event>,
    report: &mut dyn FnMut(u64),
) -> Result<Description, Error> {
    let folder = DataFolder::open(folder)?;
    let store = Store::open_sqlite(&folder.path().join(database), None)?;
    while let Some(page) = backup.next_page()? {
        store.import(page).await?;
        report(backup.records());
    }
    let (mut description, mut snapshot) = backup.finish()?;
    let key = audit_key(&mut snapshot);
    let KeySnapshot { mut keys, secrets } = snapshot;
    signing_key.complete(&mut description, &mut keys)?;
    if store.snapshot().await?.counts().await? != description.counts {
        let cause = "a record occurs twice".to_owned();
        return Err(Error::Damaged { line: description.counts.total(), cause });
    }
    store.import(recorded(event, &key)?).await?;
    let StoredKeys { signing, next, retired, verifying: _ } = keys;
    if let Some(key) = signing {
        folder.add_first_key(&key).await?;
    }
    if let Some((key, at)) = next {
        folder.add_next_key(&key, at.unwrap_or(signs_at)).await?;
    }
    for (key, until) in retired {
        folder.add_retired_key(&key, until).await?;
    }
    folder.add_secrets(&secrets).await?;
    Ok(description)
}

/// What marks the events of a restored installation. A backup of an older version has no secret for it: then it gets one.
fn audit_key(KeySnapshot { secrets, .. }: &mut KeySnapshot) -> AuditKey {
    AuditKey::new(secrets.entry(SecretName::Audit).or_insert_with(SharedSecret::random))
}

/// The row of an event.
fn recorded(event: Option<Event>, key: &AuditKey) -> Result<Vec<Record>, store::Error> {
    event.iter().map(|event| Record::of_event(event, key)).collect()
}

/// Adds everything, and the event, in a transaction and commits it.
///
/// # Errors
/// If the backup is not good, or the database fails. Then no row has changed.
pub async fn restore_into(
    mut backup: Reader<impl BufRead>,
    mut restoration: Box<dyn Restoration>,
    signing_key: SigningKeySource,
    signs_at: Timestamp,
    event: Option<Event>,
    report: &mut dyn FnMut(u64),
) -> Result<Description, Error> {
    while let Some(page) = backup.next_page()? {
        restoration.add(&page).await?;
        report(backup.records());
    }
    let (mut description, mut keys) = backup.finish()?;
    signing_key.complete(&mut description, &mut keys.keys)?;
    let key = audit_key(&mut keys);
    restoration.add_keys(&keys, signs_at).await?;
    restoration.add(&recorded(event, &key)?).await?;
    restoration.commit().await?;
    Ok(description)
}
