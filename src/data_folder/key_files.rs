//! The data folder as a key store: one file per key, and one per shared secret. The file name of a retired key contains the
//! time until which it verifies, and the file of the next key begins with the time from which it signs.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use zeroize::Zeroizing;

use super::{DataFolder, Error, UNFINISHED, io_error, replace};
use crate::{
    clock::Timestamp,
    private_file,
    token::{
        KeyId, SigningKey, UnusableKey,
        key_store::{KeyStore, KeyStoreError, StoredKeys},
        shared_secret::{SecretName, SharedSecret, SharedSecrets},
    },
};

pub(super) const SIGNING: &str = "signing-key.pem";
const NEXT: &str = "signing-key-next.pem";
const RETIRED: &str = "retired-";
const PEM: &str = ".pem";
/// What a line before the key begins with. Programs that read PEM skip such lines.
const SIGNS_FROM: &str = "Signs from ";
const COOKIE_SECRET: &str = "cookie-secret";
const FACTOR_SECRET: &str = "factor-secret";
const AUDIT_SECRET: &str = "audit-secret";

#[async_trait]
impl KeyStore for DataFolder {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError> {
        let signing = read(&self.signing_key_path())?;
        let next = self.next_key()?;
        let mut retired = self.retired_keys()?;
        // A crash during a promotion leaves a copy of the signing key.
        retired.retain(|(key, _)| signing.as_ref().is_none_or(|signing| signing.id() != key.id()));
        Ok(StoredKeys { signing, next, retired, ..StoredKeys::default() })
    }

    async fn add_first_key(&self, key: &SigningKey) -> Result<(), KeyStoreError> {
        let path = self.signing_key_path();
        self.write_key(&path, key)?;
        tracing::info!(path = %path.display(), "created a signing key: back this file up");
        Ok(())
    }

    async fn add_next_key(
        &self,
        key: &SigningKey,
        signs_at: Timestamp,
    ) -> Result<(), KeyStoreError> {
        if self.next_key()?.is_some() {
            return Ok(());
        }
        let path = self.next_key_path();
        let text = next_key_text(key, signs_at);
        Ok(self.write_atomically(&path, text.as_bytes())?)
    }

    async fn set_next_time(&self, next: &KeyId, signs_at: Timestamp) -> Result<(), KeyStoreError> {
        let Some((key, _)) = self.next_key()?.filter(|(key, _)| key.id() == next) else {
            return Ok(());
        };
        let text = next_key_text(&key, signs_at);
        let written = replace(&self.path, [NEXT, UNFINISHED], text.as_bytes());
        Ok(written.map_err(|error| io_error(&self.next_key_path(), error))?)
    }

    async fn add_retired_key(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        Ok(self.retire_key(key, until)?)
    }

    async fn promote_next_key(
        &self,
        _: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        if let Some(until) = until {
            self.retire_key(signing, until)?;
        }
        let path = self.next_key_path();
        fs::rename(&path, self.signing_key_path()).map_err(|error| io_error(&path, error))?;
        self.sync_or_log();
        Ok(())
    }

    async fn retire_signing_key(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        self.retire_key(signing, until)?;
        let path = self.signing_key_path();
        fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
        self.sync_or_log();
        Ok(())
    }

    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError> {
        self.remove_retired_key(id)?;
        let path = self.next_key_path();
        if read(&path)?.is_some_and(|next| next.id() == id) {
            fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
            self.sync_or_log();
        }
        Ok(())
    }

    async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, KeyStoreError> {
        let path = self.secret_path(name);
        let contents = match fs::read(&path) {
            Ok(contents) => Zeroizing::new(contents),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, error).into()),
        };
        private_file::restrict(&path, 0o600);
        let secret = SharedSecret::from_store(&contents);
        let damaged = || match name {
            SecretName::Cookies => Error::CookieSecretUnusable(path),
            SecretName::Factors => Error::FactorSecretUnusable(path),
            SecretName::Audit => Error::AuditSecretUnusable(path),
        };
        secret.map(Some).ok_or_else(|| damaged().into())
    }

    async fn add_secrets(&self, secrets: &SharedSecrets) -> Result<(), KeyStoreError> {
        let files = secrets.iter().map(|(name, secret)| {
            let contents: &[u8] = secret.as_bytes();
            (self.secret_path(*name), contents)
        });
        let new: Vec<_> = files.filter(|(path, _)| !path.exists()).collect();
        Ok(self.write_each_atomically(&new)?)
    }

    async fn replace_secret(
        &self,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError> {
        let path = self.secret_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error(&path, error).into())
            }
            _ => self.add_secrets(&SharedSecrets::from([(name, secret.clone())])).await,
        }
    }

    /// Only this process uses the folder.
    fn propagation_time(&self) -> Duration {
        Duration::ZERO
    }

    fn location(&self) -> String {
        self.signing_key_path().display().to_string()
    }
}

impl From<Error> for KeyStoreError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

impl DataFolder {
    pub fn signing_key_path(&self) -> PathBuf {
        self.path.join(SIGNING)
    }

    fn secret_path(&self, name: SecretName) -> PathBuf {
        self.path.join(match name {
            SecretName::Cookies => COOKIE_SECRET,
            SecretName::Factors => FACTOR_SECRET,
            SecretName::Audit => AUDIT_SECRET,
        })
    }

    fn next_key_path(&self) -> PathBuf {
        self.path.join(NEXT)
    }

    /// Reads the key that signs next, and from when.
    fn next_key(&self) -> Result<Option<(SigningKey, Option<Timestamp>)>, Error> {
        let path = self.next_key_path();
        let Some(key) = read(&path)? else { return Ok(None) };
        let text = Zeroizing::new(fs::read_to_string(&path).map_err(|e| io_error(&path, e))?);
        let time = text.lines().find_map(|line| Timestamp::parse(line.strip_prefix(SIGNS_FROM)?));
        Ok(Some((key, time)))
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

    /// Writes a copy of a key that is about to stop signing.
    fn retire_key(&self, key: &SigningKey, until: Timestamp) -> Result<(), Error> {
        // A crash during an earlier attempt leaves a copy with another time.
        self.remove_retired_key(key.id())?;
        let name = format!("{RETIRED}{}-{}{PEM}", until.seconds(), key.id());
        self.write_key(&self.path.join(name), key)
    }

    /// Deletes the file of a retired key, if it exists.
    fn remove_retired_key(&self, id: &KeyId) -> Result<(), Error> {
        for file in self.retired_files()?.into_iter().filter(|file| *id == *file.id) {
            fs::remove_file(&file.path).map_err(|error| io_error(&file.path, error))?;
            self.sync_or_log();
        }
        Ok(())
    }

    /// A failed flush is only logged: the files have changed, and the keys in use must match them.
    fn sync_or_log(&self) {
        if let Err(error) = self.sync() {
            tracing::error!(%error, "cannot flush a change to the keys: a power failure may undo it");
        }
    }

    fn retired_files(&self) -> Result<Vec<RetiredFile>, Error> {
        let in_folder = |error| io_error(&self.path, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(in_folder)? {
            files.extend(RetiredFile::from_path(entry.map_err(in_folder)?.path()));
        }
        files.sort_by_key(|file| file.until);
        Ok(files)
    }

    fn write_key(&self, path: &Path, key: &SigningKey) -> Result<(), Error> {
        self.write_atomically(path, key.to_pem().as_bytes())
    }
}

/// The file of a key that signs from this time on.
fn next_key_text(key: &SigningKey, signs_at: Timestamp) -> Zeroizing<String> {
    Zeroizing::new(format!("{SIGNS_FROM}{signs_at}\n{}", *key.to_pem()))
}

/// Whether a file of this name holds a key or a shared secret.
pub(super) fn is_key_file(name: &str) -> bool {
    [SIGNING, NEXT, COOKIE_SECRET, FACTOR_SECRET, AUDIT_SECRET].contains(&name)
        || RetiredFile::from_path(PathBuf::from(name)).is_some()
}

struct RetiredFile {
    path: PathBuf,
    id: String,
    until: Timestamp,
}

impl RetiredFile {
    /// `None` if the name is not that of a retired key.
    fn from_path(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix(RETIRED)?.strip_suffix(PEM)?;
        let (until, id) = name.split_once('-')?;
        let until = Timestamp::from_seconds(until.parse().ok()?);
        Some(Self { id: id.to_owned(), until, path })
    }
}

fn read(path: &Path) -> Result<Option<SigningKey>, Error> {
    match fs::read_to_string(path) {
        Ok(pem) => {
            private_file::restrict(path, 0o600);
            let key = SigningKey::from_pem(&pem);
            key.map(Some).map_err(|UnusableKey| Error::KeyUnusable(path.to_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt, sync::Arc};

    use super::*;
    use crate::token::{
        Algorithm, TokenTerms,
        key_store::{shared_secret, stored_secrets},
        signing_keys::{KeyStatus, SigningKeys},
    };

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    async fn first_key(folder: &DataFolder) -> SigningKey {
        let key = SigningKey::generate(Algorithm::Es256);
        folder.add_first_key(&key).await.unwrap();
        key
    }

    #[tokio::test]
    async fn the_signing_key_is_private_and_never_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        assert!(folder.stored_keys().await.unwrap().signing.is_none());
        let key = first_key(&folder).await;
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
        assert!(
            folder.add_first_key(&SigningKey::generate(Algorithm::Es256)).await.is_err(),
            "a key was replaced"
        );
        assert_eq!(folder.stored_keys().await.unwrap().signing.unwrap().to_pem(), key.to_pem());
    }

    #[tokio::test]
    async fn a_key_that_others_could_read_is_made_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        first_key(&folder).await;
        fs::set_permissions(folder.signing_key_path(), Permissions::from_mode(0o644)).unwrap();
        folder.stored_keys().await.unwrap();
        assert_eq!(mode(&folder.signing_key_path()), 0o600);
    }

    #[tokio::test]
    async fn a_damaged_key_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fs::write(folder.signing_key_path(), "not a key").unwrap();
        let Err(error) = folder.stored_keys().await else { panic!("was accepted") };
        let path = folder.signing_key_path().display().to_string();
        let message = error.to_string();
        assert!(message.starts_with(&path) && message.contains("backup"), "{message}");
    }

    #[tokio::test]
    async fn shared_secrets_are_private_and_stay_the_same() {
        for (name, file, lost) in [
            (SecretName::Cookies, COOKIE_SECRET, "everybody then signs in again"),
            (SecretName::Factors, FACTOR_SECRET, "authenticator app then needs a reset link"),
            (SecretName::Audit, AUDIT_SECRET, "audit trail then has another public key"),
        ] {
            let parent = tempfile::tempdir().unwrap();
            let folder = DataFolder::open(parent.path()).unwrap();
            assert!(folder.stored_secret(name).await.unwrap().is_none());
            let secret = shared_secret(&folder, name).await.unwrap();
            let path = parent.path().join(file);
            assert_eq!((mode(&path), is_key_file(file)), (0o600, true));
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            let other = SharedSecrets::from([(name, SharedSecret::random())]);
            folder.add_secrets(&other).await.unwrap();
            assert!(shared_secret(&folder, name).await.unwrap() == secret, "it was replaced");
            assert_eq!(mode(&path), 0o600);
            fs::write(&path, "too short").unwrap();
            let Err(error) = shared_secret(&folder, name).await else { panic!("was accepted") };
            let message = error.to_string();
            assert!(message.starts_with(&path.display().to_string()), "{message}");
            assert!(message.contains("not a secret of 32 bytes"), "{message}");
            assert!(message.contains(lost), "{message}");
        }
    }

    #[tokio::test]
    async fn secrets_that_cannot_all_be_stored_are_not_stored_and_none_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        let before = shared_secret(&folder, SecretName::Cookies).await.unwrap();
        let new =
            || SharedSecrets::from(SecretName::ALL.map(|name| (name, SharedSecret::random())));
        // A name that is taken, although nothing can be read there.
        let obstacle = parent.path().join(AUDIT_SECRET);
        std::os::unix::fs::symlink("nowhere", &obstacle).unwrap();
        assert!(folder.add_secrets(&new()).await.is_err());
        assert!(folder.stored_secret(SecretName::Factors).await.unwrap().is_none());
        fs::remove_file(&obstacle).unwrap();
        let second = new();
        folder.add_secrets(&second).await.unwrap();
        let stored = stored_secrets(&folder).await.unwrap();
        assert!(stored[&SecretName::Cookies] == before, "it was replaced");
        assert!(
            [SecretName::Factors, SecretName::Audit]
                .iter()
                .all(|name| stored[name] == second[name])
        );
    }

    #[tokio::test]
    async fn the_next_key_replaces_the_signing_key() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        let (first, next) = (first_key(&folder).await, SigningKey::generate(Algorithm::Es256));
        let now = Timestamp::from_seconds(0);
        folder.add_next_key(&next, now).await.unwrap();
        folder.add_next_key(&SigningKey::generate(Algorithm::Es256), now).await.unwrap();
        let (published, at) = folder.stored_keys().await.unwrap().next.unwrap();
        assert_eq!(published.id(), next.id(), "a key that may have been published was replaced");
        assert_eq!(at, Some(now));
        // As an older version writes it.
        let path = folder.next_key_path();
        fs::write(&path, next.to_pem().as_bytes()).unwrap();
        assert_eq!(folder.stored_keys().await.unwrap().next.unwrap().1, None);
        let later = Timestamp::from_millis(1_800_000_000_123);
        folder.set_next_time(next.id(), later).await.unwrap();
        folder.set_next_time(first.id(), now).await.unwrap();
        folder.add_next_key(&first, now).await.unwrap();
        let (published, at) = folder.stored_keys().await.unwrap().next.unwrap();
        assert_eq!((published.id(), at, mode(&path)), (next.id(), Some(later), 0o600));
        folder.promote_next_key(next.id(), &first, None).await.unwrap();
        let stored = folder.stored_keys().await.unwrap();
        assert_eq!(stored.signing.unwrap().id(), next.id());
        assert!(stored.next.is_none() && stored.retired.is_empty());
    }

    #[test]
    fn a_retired_key_is_private_and_its_file_name_contains_when_it_expires() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        let (one, other) =
            (SigningKey::generate(Algorithm::Es256), SigningKey::generate(Algorithm::Es256));
        let moment = Timestamp::from_seconds;
        folder.retire_key(&one, moment(2_000_000_000)).unwrap();
        folder.retire_key(&other, moment(1_900_000_000)).unwrap();
        folder.retire_key(&other, moment(1_900_000_001)).unwrap();
        let stored = || -> Vec<_> {
            let keys = folder.retired_keys().unwrap().into_iter();
            keys.map(|(key, until)| (key.id().clone(), until.seconds())).collect()
        };
        let (one_stored, other_stored) =
            ((one.id().clone(), 2_000_000_000), (other.id().clone(), 1_900_000_001));
        assert_eq!(stored(), [other_stored, one_stored.clone()], "the last time counts");
        folder.remove_retired_key(other.id()).unwrap();
        assert_eq!(stored(), [one_stored]);

        let file = folder.retired_files().unwrap().remove(0).path;
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, other.to_pem().as_bytes()).unwrap();
        assert!(
            matches!(folder.retired_keys(), Err(Error::KeyUnusable(_))),
            "the name of another key"
        );
    }

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    async fn open_keys(path: &Path) -> SigningKeys {
        let terms = TokenTerms {
            issuer: "us".into(),
            audience: "them".into(),
            lifetime: Duration::from_secs(60 * 60),
            publish_before_signing: Duration::ZERO,
            algorithm: Algorithm::Es256,
        };
        let folder = Arc::new(DataFolder::open(path).unwrap());
        let session_lifetime = Duration::from_secs(60 * 60 * 24);
        SigningKeys::open(folder, false, terms, session_lifetime, NOW).await.unwrap()
    }

    fn published(keys: &SigningKeys) -> usize {
        let set = serde_json::to_value(keys.mint().public_keys()).unwrap();
        set["keys"].as_array().unwrap().len()
    }

    #[tokio::test]
    async fn a_step_that_cannot_be_stored_does_not_take_effect() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open_keys(folder.path()).await;
        let before = keys.list().await;

        // Keys are first written under this name.
        let obstacle = folder.path().join("unfinished");
        fs::create_dir(&obstacle).unwrap();
        assert!(keys.rotate(NOW).await.is_err());
        assert!(keys.revoke(&before[0].id.to_string(), NOW).await.is_err());
        assert_eq!((keys.list().await, published(&keys)), (before.clone(), 1));
        fs::remove_dir(&obstacle).unwrap();

        let signing_key = folder.path().join("signing-key.pem");
        let set_aside = folder.path().join("set-aside.pem");
        fs::rename(&signing_key, &set_aside).unwrap();
        fs::create_dir(&signing_key).unwrap();
        for _ in 0..2 {
            assert!(keys.rotate(NOW).await.is_err());
            assert_eq!(
                (&keys.list().await[0], published(&keys)),
                (&before[0], 1),
                "the keys changed"
            );
        }
        fs::remove_dir(&signing_key).unwrap();
        fs::rename(&set_aside, &signing_key).unwrap();

        keys.rotate(NOW).await.unwrap();
        let after = keys.list().await;
        assert_eq!((after.len(), &after[1].id), (2, &before[0].id));
        drop(keys);
        assert_eq!(open_keys(folder.path()).await.list().await, after);
    }

    #[tokio::test]
    async fn all_keys_are_replaced_by_one_that_nobody_has_seen() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open_keys(folder.path()).await;
        keys.rotate(NOW).await.unwrap();
        let next = SigningKey::generate(Algorithm::Es256);
        fs::write(folder.path().join(NEXT), next.to_pem().as_bytes()).unwrap();
        keys.reload(NOW).await.unwrap();
        let before: Vec<_> = keys.list().await.into_iter().map(|key| key.id).collect();
        assert_eq!(before.len(), 3, "one that signs, the next one and a retired one");
        let mut removed = keys.replace_all(NOW).await.unwrap();
        removed.sort_by_key(ToString::to_string);
        let mut expected = before.clone();
        expected.sort_by_key(ToString::to_string);
        assert_eq!(removed, expected);
        let after = keys.list().await;
        assert_eq!((after.len(), published(&keys)), (1, 1));
        assert!(!before.contains(&after[0].id), "a key that the thief may have signs");
        drop(keys);
        assert_eq!(open_keys(folder.path()).await.list().await, after);
    }

    #[tokio::test]
    async fn a_retired_key_verifies_for_the_lifetime_of_a_token_and_refreshes_for_that_of_a_session()
     {
        let folder = tempfile::tempdir().unwrap();
        let keys = open_keys(folder.path()).await;
        keys.rotate(NOW).await.unwrap();
        let until = keys.list().await[1].until.unwrap();
        assert_eq!(until, NOW + Duration::from_secs(60 * 60) + Duration::from_secs(60));
        keys.apply_due_changes(Timestamp::from_millis(until.millis() - 1)).await.unwrap();
        assert_eq!(published(&keys), 2);
        keys.apply_due_changes(until).await.unwrap();
        assert_eq!(published(&keys), 1);
        let listed = keys.list().await;
        let last = until + Duration::from_secs(60 * 60 * 24);
        assert_eq!((listed[1].status, listed[1].until), (KeyStatus::Refreshing, Some(last)));
        keys.apply_due_changes(Timestamp::from_millis(last.millis() - 1)).await.unwrap();
        assert_eq!(keys.list().await, listed);
        assert!(!keys.has_expired_ones(Timestamp::from_millis(last.millis() - 1)).await);
        keys.remove_expired(last).await.unwrap();
        assert_eq!(keys.list().await.len(), 1);
        drop(keys);
        let stored = DataFolder::open(folder.path()).unwrap().stored_keys().await.unwrap();
        assert!(stored.retired.is_empty());
    }
}
