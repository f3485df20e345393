//! `doorward restore FILE`: replaces the contents of the database with a backup.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::{
    backup::{in_words, open_backup, verify},
    block_on, counted,
    progress::ProgressLine,
};
use crate::{
    Settings,
    backup::{Counts, Description, fill_folder, restore_into},
    clock::{Clock, Timestamp},
    config::{DatabaseUrl, folder_of},
    data_folder::DataFolder,
    store::{PostgresUrl, RestoreError, SqliteStore, UserStore, begin_postgres_restoration},
    token::{KeyId, key_store::KeyStore},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward restore /var/backups/doorward/monday
  doorward restore monday.age --identity backup-identity.txt --replace")]
pub(super) struct Restore {
    /// The backup
    file: PathBuf,
    /// Replace the users, sessions and keys that the database has. A SQLite file is kept beside
    #[arg(long)]
    replace: bool,
    /// Decrypt with the identity in this file of age-keygen
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl Restore {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        if self.file == Path::new("-") {
            bail!("a backup is read twice to restore it: name a file");
        }
        // Everything is verified before anything is touched.
        let description = verify(&self.file, self.identity.as_deref())?;
        let now = Clock::system().now();
        let signs_at = now + settings.token.publish_before_signing;
        let Replaced { keys, folder } = block_on(async {
            match &settings.database {
                DatabaseUrl::Sqlite(database) => {
                    self.replace_file(database, &description, now, signs_at).await
                }
                DatabaseUrl::Postgres(url) => {
                    self.replace_rows(url, &settings, &description, signs_at).await
                }
                DatabaseUrl::Memory(_) => bail!("a database in memory ends with its process"),
            }
        })
        .with_context(|| settings.database.to_string())?;
        print_line!("restored {}: {}", settings.database, in_words(&description));
        if let Some(folder) = folder {
            print_line!(
                "what was there before is in {}: delete it when everything works",
                folder.display()
            );
        }
        print_revived(&description, &keys);
        Ok(())
    }

    async fn replace_file(
        &self,
        database: &Path,
        description: &Description,
        now: Timestamp,
        signs_at: Timestamp,
    ) -> anyhow::Result<Replaced> {
        // Fails while a server runs.
        let folder = DataFolder::open(folder_of(database))?;
        // Keys that cannot be read are replaced like others.
        let keys = folder.stored_keys().await.map(|keys| keys.ids()).unwrap_or_default();
        if !self.replace && database.try_exists()? {
            let has_users = async {
                SqliteStore::open(database, Some(folder.reserve().clone()))?.has_users().await
            };
            let has_users = has_users.await.with_context(
                || "cannot tell whether the database has users: add --replace to move it aside",
            )?;
            if has_users {
                return Err(RestoreError::NotEmpty.into());
            }
        }
        let Some(name) = database.file_name().map(Path::new) else { bail!("not a file") };
        let staging = folder.prepare_replacement()?;
        let filled = async {
            let backup = open_backup(&self.file, self.identity.as_deref())?;
            let mut progress = ProgressLine::new();
            let total = description.counts.records();
            let mut report = |done| progress.set("restoring", done, total);
            anyhow::Ok(fill_folder(backup, &staging, name, signs_at, &mut report).await?)
        };
        let outcome = match filled.await {
            Ok(restored) if restored == *description => {
                Ok(Replaced { keys, folder: folder.replace(name, now)? })
            }
            Ok(_) => Err(changed()),
            Err(error) => Err(error),
        };
        outcome.inspect_err(|_| folder.discard_replacement())
    }

    async fn replace_rows(
        &self,
        url: &PostgresUrl,
        settings: &Settings,
        description: &Description,
        signs_at: Timestamp,
    ) -> anyhow::Result<Replaced> {
        let restoration =
            begin_postgres_restoration(url, settings.postgres.clone(), self.replace).await?;
        let backup = open_backup(&self.file, self.identity.as_deref())?;
        let mut progress = ProgressLine::new();
        let total = description.counts.records();
        let mut report = |done| progress.set("restoring", done, total);
        let keys = restoration.replaced_keys().to_vec();
        restore_into(backup, restoration, signs_at, &mut report).await?;
        Ok(Replaced { keys, folder: None })
    }
}

/// What a restore has replaced.
struct Replaced {
    /// The signing keys that were in use.
    keys: Vec<KeyId>,
    /// Where the files are that were there before.
    folder: Option<PathBuf>,
}

/// Says what is valid again although it may have been revoked or used since the backup.
fn print_revived(description: &Description, replaced_keys: &[KeyId]) {
    let Counts { sessions, one_times, invitations, .. } = description.counts;
    let kinds = [
        (sessions, "session", "sessions"),
        (one_times, "link or code", "links and codes"),
        (invitations, "invitation", "invitations"),
        (description.counts.keys, "signing key", "signing keys"),
    ];
    let revived = kinds.iter().filter(|(count, ..)| *count > 0).map(|(count, one, many)| {
        counted(usize::try_from(*count).unwrap_or(usize::MAX), one, many)
    });
    print_line!(
        "what was revoked or used since then is valid again: {}, passwords; `doorward emergency` voids all of it",
        revived.collect::<Vec<_>>().join(", ")
    );
    if !replaced_keys.is_empty() {
        for key in description.keys.iter().filter(|key| !replaced_keys.contains(key)) {
            print_line!(
                "signing key {key} was not in use any more: if it was revoked, run `doorward keys revoke {key}`"
            );
        }
    }
}

fn changed() -> anyhow::Error {
    anyhow::anyhow!("the backup changed while it was read: nothing was restored")
}
