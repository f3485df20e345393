//! `doorward restore FILE`: replaces the contents of the database with a backup. The backup is read once, so that it can
//! come from a pipe. Nothing is replaced before its end has been verified.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    backup::{in_words, open_backup},
    block_on, counted,
    progress::ProgressLine,
};
use crate::{
    Settings,
    backup::{self, Description, Reader, SigningKeySource, fill_folder, restore_into},
    clock::{Clock, Timestamp},
    config::{DatabaseUrl, folder_of},
    control::this_operator,
    data_folder::DataFolder,
    event::{Event, EventKind},
    store::{
        OldSchema, PostgresUrl, RestoreError, Store,
        archive::{INVITATIONS, ONE_TIME_SECRETS, SESSIONS},
        begin_postgres_restoration,
    },
    token::{KeyId, key_store::KeyStore},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward restore /var/backups/doorward/monday
  age --decrypt -i backup-identity.txt monday.age | doorward restore - --replace")]
pub(super) struct Restore {
    /// The backup, or - for standard input
    file: PathBuf,
    /// Replace the users, sessions and keys that the database has. A SQLite file is kept beside
    #[arg(long)]
    replace: bool,
    /// Make a new signing key if the backup has none. Everybody has to sign in again
    #[arg(long)]
    new_signing_key: bool,
}

/// The backup that is restored.
type Backup = Reader<Box<dyn BufRead>>;

impl Restore {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let backup = open_backup(&self.file).with_context(|| self.file.display().to_string())?;
        let now = Clock::system().now();
        let signs_at = now + settings.token.publish_before_signing;
        let kind = EventKind::BackupRestored { made_at: backup.created_at() };
        let event = Event::by_administrator(&this_operator(), None, now, kind);
        let restored = block_on(async {
            match &settings.database {
                DatabaseUrl::Sqlite(database) => {
                    self.replace_file(database, &settings, backup, event, signs_at).await
                }
                DatabaseUrl::Postgres(url) => {
                    self.replace_rows(url, &settings, backup, event, signs_at).await
                }
                DatabaseUrl::Memory(_) => bail!("a database in memory ends with its process"),
            }
        });
        let Restored { description, replaced_keys, folder } =
            restored.map_err(|error| match is_about_the_backup(&error) {
                true => error.context(self.file.display().to_string()),
                false => error.context(settings.database.to_string()),
            })?;
        print_line!("restored {}: {}", settings.database, in_words(&description));
        if let Some(folder) = folder {
            print_line!(
                "what was there before is in {}: delete it when everything works",
                folder.display()
            );
        }
        print_revived(&description, &replaced_keys);
        Ok(())
    }

    async fn replace_file(
        &self,
        database: &Path,
        settings: &Settings,
        backup: Backup,
        event: Event,
        signs_at: Timestamp,
    ) -> anyhow::Result<Restored> {
        let now = event.at;
        // Fails while a server runs.
        let folder = DataFolder::open(folder_of(database))?;
        // Keys that cannot be read are replaced like others.
        let replaced_keys = folder.stored_keys().await.map(|keys| keys.ids()).unwrap_or_default();
        if !self.replace && database.try_exists()? {
            let has_users = async {
                let reserve = Some(folder.reserve().clone());
                Store::open_sqlite_as(database, reserve, OldSchema::Keep)?.has_users().await
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
        let filled = {
            let mut progress = ProgressLine::new();
            let mut report = |done| progress.set("restoring records", done, done);
            let signing_key = self.signing_key(settings);
            fill_folder(backup, &staging, name, signing_key, signs_at, Some(event), &mut report)
                .await
        };
        let replaced = filled.and_then(|description| {
            Ok(Restored { description, replaced_keys, folder: folder.replace(name, now)? })
        });
        Ok(replaced.inspect_err(|_| folder.discard_replacement())?)
    }

    /// Where the signing key comes from if the backup has none.
    fn signing_key(&self, settings: &Settings) -> SigningKeySource {
        match self.new_signing_key {
            true => SigningKeySource::New(settings.token.algorithm),
            false if settings.key_file.is_some() => SigningKeySource::File,
            false => SigningKeySource::Backup,
        }
    }

    async fn replace_rows(
        &self,
        url: &PostgresUrl,
        settings: &Settings,
        backup: Backup,
        event: Event,
        signs_at: Timestamp,
    ) -> anyhow::Result<Restored> {
        let restoration =
            begin_postgres_restoration(url, settings.postgres.clone(), self.replace).await?;
        let replaced_keys = restoration.replaced_keys().to_vec();
        let mut progress = ProgressLine::new();
        let mut report = |done| progress.set("restoring records", done, done);
        let signing_key = self.signing_key(settings);
        let description =
            restore_into(backup, restoration, signing_key, signs_at, Some(event), &mut report)
                .await?;
        Ok(Restored { description, replaced_keys, folder: None })
    }
}

/// Whether the backup has caused an error, and not the database.
fn is_about_the_backup(error: &anyhow::Error) -> bool {
    use backup::Error::{Folder, Keys, Store};
    error.downcast_ref().is_some_and(|error| !matches!(error, Store(_) | Keys(_) | Folder(_)))
}

/// What a restore has done.
struct Restored {
    /// What was in the backup.
    description: Description,
    /// The signing keys that were in use.
    replaced_keys: Vec<KeyId>,
    /// Where the files are that were there before.
    folder: Option<PathBuf>,
}

/// Says what is valid again although it may have been revoked or used since the backup.
fn print_revived(description: &Description, replaced_keys: &[KeyId]) {
    let rows = |table| usize::try_from(description.counts.of(table)).unwrap_or(usize::MAX);
    let kinds = [
        (rows(&SESSIONS), "session", "sessions"),
        (rows(&ONE_TIME_SECRETS), "link or code", "links and codes"),
        (rows(&INVITATIONS), "invitation", "invitations"),
        (description.keys.len(), "signing key", "signing keys"),
    ];
    let revived = kinds
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(*count, one, many));
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
