//! The key files: one signs, one may be next, and retired ones carry in their names until when they verify.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{DataFolder, Error, io_error, tighten};
use crate::{
    clock::Timestamp,
    token::{KeyId, SigningKey, UnusableKey},
};

const RETIRED: &str = "retired-";
const PEM: &str = ".pem";

impl DataFolder {
    /// Where the key for signing tokens is kept.
    pub fn signing_key_path(&self) -> PathBuf {
        self.path.join("signing-key.pem")
    }

    fn next_key_path(&self) -> PathBuf {
        self.path.join("signing-key-next.pem")
    }

    /// Reads the signing key, or makes one when nobody can hold a token yet.
    ///
    /// # Errors
    /// If the key is missing although `tokens_exist`, or cannot be used.
    pub fn signing_key(&self, tokens_exist: bool) -> Result<SigningKey, Error> {
        let path = self.signing_key_path();
        match read(&path)? {
            Some(key) => Ok(key),
            None if tokens_exist => Err(Error::KeyMissing(path)),
            None => self.new_signing_key(),
        }
    }

    /// Makes a new signing key, safe on disk before it is returned.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written.
    pub fn new_signing_key(&self) -> Result<SigningKey, Error> {
        let path = self.signing_key_path();
        let key = self.new_key(&path)?;
        tracing::info!(path = %path.display(), "made a signing key: back this file up");
        Ok(key)
    }

    /// Reads the key that is to sign next, if there is one.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn next_key(&self) -> Result<Option<SigningKey>, Error> {
        read(&self.next_key_path())
    }

    /// Makes the key that is to sign next, safe on disk before it is returned.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written.
    pub fn new_next_key(&self) -> Result<SigningKey, Error> {
        self.new_key(&self.next_key_path())
    }

    /// Puts the next key in the place of the signing key, in one step.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn promote_next_key(&self) -> Result<(), Error> {
        let path = self.next_key_path();
        fs::rename(&path, self.signing_key_path()).map_err(|error| io_error(&path, error))?;
        self.sync_after_step();
        Ok(())
    }

    /// Removes the next key.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove_next_key(&self) -> Result<(), Error> {
        let path = self.next_key_path();
        fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
        self.sync_after_step();
        Ok(())
    }

    /// Reads the retired keys and until when each of them verifies.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn retired_keys(&self) -> Result<Vec<(SigningKey, Timestamp)>, Error> {
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
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn retire_key(&self, key: &SigningKey, until: Timestamp) -> Result<(), Error> {
        // Left over if retiring it was cut short before another key signed.
        self.remove_retired_key(key.id())?;
        let name = format!("{RETIRED}{}-{}{PEM}", until.seconds(), key.id());
        self.write_key(&self.path.join(name), key)
    }

    /// Removes a retired key, if it is there.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove_retired_key(&self, id: &KeyId) -> Result<(), Error> {
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

    fn new_key(&self, path: &Path) -> Result<SigningKey, Error> {
        let key = SigningKey::generate();
        self.write_key(path, &key)?;
        Ok(key)
    }

    fn write_key(&self, path: &Path, key: &SigningKey) -> Result<(), Error> {
        self.write_whole(path, key.to_pem().as_bytes()).map_err(|error| io_error(path, error))
    }
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
            tighten(path);
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

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_signing_key_is_private_and_made_only_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        let made = folder.signing_key(false).unwrap();
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
        assert_eq!(folder.signing_key(true).unwrap().to_pem(), made.to_pem());
        assert!(folder.new_signing_key().is_err(), "an existing key was replaced");
    }

    #[test]
    fn a_key_that_others_could_read_is_made_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        folder.signing_key(false).unwrap();
        fs::set_permissions(folder.signing_key_path(), Permissions::from_mode(0o644)).unwrap();
        folder.signing_key(true).unwrap();
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
    }

    #[test]
    fn a_missing_or_damaged_key_is_refused_when_tokens_exist() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        assert!(matches!(folder.signing_key(true), Err(Error::KeyMissing(_))));
        fs::write(folder.signing_key_path(), "not a key").unwrap();
        assert!(matches!(folder.signing_key(true), Err(Error::KeyUnusable(_))));
        assert!(matches!(folder.signing_key(false), Err(Error::KeyUnusable(_))));
    }

    #[test]
    fn the_next_key_takes_the_place_of_the_signing_key() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        folder.signing_key(false).unwrap();
        assert!(folder.next_key().unwrap().is_none());
        let next = folder.new_next_key().unwrap();
        assert!(folder.new_next_key().is_err(), "a key that may be published was replaced");
        folder.promote_next_key().unwrap();
        assert_eq!(folder.signing_key(true).unwrap().id(), next.id());
        assert!(folder.next_key().unwrap().is_none());
    }

    #[test]
    fn retired_keys_are_private_and_know_until_when_they_verify() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::claim(parent.path()).unwrap();
        let (one, other) = (SigningKey::generate(), SigningKey::generate());
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
