//! The key files: one signs, one may be next, and retired ones carry in their names until when they verify.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;

use super::{DataFolder, Error, io_error};
use crate::{
    clock::Timestamp,
    private_file,
    token::{
        KeyId, SigningKey, UnusableKey,
        signing_keys::{self, KeyStore, StoredKeys},
    },
};

const SIGNING: &str = "signing-key.pem";
const NEXT: &str = "signing-key-next.pem";
const RETIRED: &str = "retired-";
const PEM: &str = ".pem";

#[async_trait]
impl KeyStore for DataFolder {
    async fn kept(&self) -> Result<StoredKeys, signing_keys::Error> {
        let signing = read(&self.signing_key_path())?;
        let next = read(&self.next_key_path())?.map(|key| (key, None));
        let mut retired = self.retired_keys()?;
        // A copy of the key that signs is left over from a step that was cut short.
        retired.retain(|(key, _)| signing.as_ref().is_none_or(|signing| signing.id() != key.id()));
        Ok(StoredKeys { signing, next, retired, ..StoredKeys::default() })
    }

    async fn keep_first(&self, key: &SigningKey) -> Result<(), signing_keys::Error> {
        let path = self.signing_key_path();
        self.write_key(&path, key)?;
        tracing::info!(path = %path.display(), "made a signing key: back this file up");
        Ok(())
    }

    /// Its time is not on record: nobody can see a key while the one process that uses the folder is not running.
    async fn keep_next(&self, key: &SigningKey, _: Timestamp) -> Result<(), signing_keys::Error> {
        let path = self.next_key_path();
        if !path.exists() {
            self.write_key(&path, key)?;
        }
        Ok(())
    }

    async fn keep_retired(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), signing_keys::Error> {
        Ok(self.retire_key(key, until)?)
    }

    async fn promote(
        &self,
        _: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), signing_keys::Error> {
        if let Some(until) = until {
            self.retire_key(signing, until)?;
        }
        let path = self.next_key_path();
        fs::rename(&path, self.signing_key_path()).map_err(|error| io_error(&path, error))?;
        self.sync_after_step();
        Ok(())
    }

    async fn retire(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), signing_keys::Error> {
        self.retire_key(signing, until)?;
        let path = self.signing_key_path();
        fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
        self.sync_after_step();
        Ok(())
    }

    async fn discard(&self, id: &KeyId) -> Result<(), signing_keys::Error> {
        self.remove_retired_key(id)?;
        let path = self.next_key_path();
        if read(&path)?.is_some_and(|next| next.id() == id) {
            fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
            self.sync_after_step();
        }
        Ok(())
    }

    /// Nobody else uses a data folder.
    fn reaches_all_within(&self) -> Duration {
        Duration::ZERO
    }

    fn place(&self) -> String {
        self.signing_key_path().display().to_string()
    }
}

impl DataFolder {
    /// Where the key for signing tokens is kept.
    pub fn signing_key_path(&self) -> PathBuf {
        self.path.join(SIGNING)
    }

    fn next_key_path(&self) -> PathBuf {
        self.path.join(NEXT)
    }

    /// Reads the retired keys and until when each of them verifies.
    fn retired_keys(&self) -> Result<Vec<(SigningKey, Timestamp)>, Error> {
        let mut keys = Vec::new();
        for RetiredFile { path, id, until } in self.retired_files()? {
            match read(&path)? {
                Some(key) if *key.id() == *id => keys.push((key, until)),
                _ => return Err(Error::KeyUnusable(path)),
            }
        }
        Ok(keys)
    }

    /// Keeps a copy of a key that is about to stop signing.
    fn retire_key(&self, key: &SigningKey, until: Timestamp) -> Result<(), Error> {
        // Left over if retiring it was cut short before another key signed.
        self.remove_retired_key(key.id())?;
        let name = format!("{RETIRED}{}-{}{PEM}", until.seconds(), key.id());
        self.write_key(&self.path.join(name), key)
    }

    /// Removes a retired key, if it is there.
    fn remove_retired_key(&self, id: &KeyId) -> Result<(), Error> {
        for file in self.retired_files()?.into_iter().filter(|file| *id == *file.id) {
            fs::remove_file(&file.path).map_err(|error| io_error(&file.path, error))?;
            self.sync_after_step();
        }
        Ok(())
    }

    /// Whatever the flush says, the files are what they are now, and the keys in use have to follow them.
    fn sync_after_step(&self) {
        if let Err(error) = self.sync() {
            tracing::error!(%error, "a change to the keys is not flushed: it may not outlast a power cut");
        }
    }

    fn retired_files(&self) -> Result<Vec<RetiredFile>, Error> {
        let in_folder = |error| io_error(&self.path, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(in_folder)? {
            files.extend(RetiredFile::at(entry.map_err(in_folder)?.path()));
        }
        files.sort_by_key(|file| file.until);
        Ok(files)
    }

    fn write_key(&self, path: &Path, key: &SigningKey) -> Result<(), Error> {
        self.write_whole(path, key.to_pem().as_bytes()).map_err(|error| io_error(path, error))
    }
}

/// Whether a file of this name holds a key.
pub(super) fn is_key_file(name: &str) -> bool {
    [SIGNING, NEXT].contains(&name) || RetiredFile::at(PathBuf::from(name)).is_some()
}

struct RetiredFile {
    path: PathBuf,
    id: String,
    until: Timestamp,
}

impl RetiredFile {
    /// None for a file of another kind.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix(RETIRED)?.strip_suffix(PEM)?;
        let (until, id) = name.split_once('-')?;
        let until = Timestamp::from_seconds(until.parse().ok()?);
        Some(Self { id: id.to_owned(), until, path })
    }
}

fn read(path: &Path) -> Result<Option<SigningKey>, Error> {
    match fs::read_to_string(path) {
        Ok(pem) => {
            private_file::tighten(path, 0o600);
            let key = SigningKey::from_pem(&pem);
            key.map(Some).map_err(|UnusableKey| Error::KeyUnusable(path.to_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::token::Algorithm;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    async fn first_key(folder: &DataFolder) -> SigningKey {
        let key = SigningKey::generate(Algorithm::Es256);
        folder.keep_first(&key).await.unwrap();
        key
    }

    #[tokio::test]
    async fn the_signing_key_is_private_and_kept_only_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        assert!(folder.kept().await.unwrap().signing.is_none());
        let key = first_key(&folder).await;
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
        assert!(
            folder.keep_first(&SigningKey::generate(Algorithm::Es256)).await.is_err(),
            "a key was replaced"
        );
        assert_eq!(folder.kept().await.unwrap().signing.unwrap().to_pem(), key.to_pem());
    }

    #[tokio::test]
    async fn a_key_that_others_could_read_is_made_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        first_key(&folder).await;
        fs::set_permissions(folder.signing_key_path(), Permissions::from_mode(0o644)).unwrap();
        folder.kept().await.unwrap();
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
    }

    #[tokio::test]
    async fn a_damaged_key_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        fs::write(folder.signing_key_path(), "not a key").unwrap();
        let kept = folder.kept().await;
        assert!(matches!(kept, Err(signing_keys::Error::Data(Error::KeyUnusable(_)))));
    }

    #[tokio::test]
    async fn the_next_key_takes_the_place_of_the_signing_key() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        let (first, next) = (first_key(&folder).await, SigningKey::generate(Algorithm::Es256));
        let now = Timestamp::from_seconds(0);
        folder.keep_next(&next, now).await.unwrap();
        folder.keep_next(&SigningKey::generate(Algorithm::Es256), now).await.unwrap();
        let (published, _) = folder.kept().await.unwrap().next.unwrap();
        assert_eq!(published.id(), next.id(), "a key that may be published was replaced");
        folder.promote(next.id(), &first, None).await.unwrap();
        let kept = folder.kept().await.unwrap();
        assert_eq!(kept.signing.unwrap().id(), next.id());
        assert!(kept.next.is_none() && kept.retired.is_empty());
    }

    #[test]
    fn retired_keys_are_private_and_know_until_when_they_verify() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        let (one, other) =
            (SigningKey::generate(Algorithm::Es256), SigningKey::generate(Algorithm::Es256));
        let moment = Timestamp::from_seconds;
        folder.retire_key(&one, moment(2_000_000_000)).unwrap();
        folder.retire_key(&other, moment(1_900_000_000)).unwrap();
        folder.retire_key(&other, moment(1_900_000_001)).unwrap();
        let kept = || -> Vec<_> {
            let keys = folder.retired_keys().unwrap().into_iter();
            keys.map(|(key, until)| (key.id().clone(), until.seconds())).collect()
        };
        let (one_kept, other_kept) =
            ((one.id().clone(), 2_000_000_000), (other.id().clone(), 1_900_000_001));
        assert_eq!(kept(), [other_kept, one_kept.clone()], "the last word on each counts");
        folder.remove_retired_key(other.id()).unwrap();
        assert_eq!(kept(), [one_kept]);

        let file = folder.retired_files().unwrap().remove(0).path;
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, other.to_pem().as_bytes()).unwrap();
        assert!(matches!(folder.retired_keys(), Err(Error::KeyUnusable(_))), "another key's name");
    }
}
