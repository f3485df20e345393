//! Signing keys in a file that the operator manages (`token.key_file`). Doorward reads the file and never changes it.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use zeroize::Zeroizing;

use super::{
    KeyId, SigningKey, UnusableKey,
    key_store::{KeyStore, KeyStoreError, StoredKeys},
    shared_secret::{SecretName, SharedSecret, SharedSecrets},
    signing_keys::{self, SigningKeys},
};
use crate::clock::Timestamp;

/// A key file whose first key signs. Keys that signed before the file was configured stay in the fallback store and
/// verify until they expire.
pub struct KeyFile {
    path: PathBuf,
    pem: Zeroizing<String>,
    fallback: Arc<dyn KeyStore>,
}

/// Why a key file cannot be used or changed.
#[derive(Debug, thiserror::Error)]
enum KeyFileError {
    #[error("{}: {error} (token.key_file)", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "{}: {UnusableKey} (token.key_file): `openssl pkcs8 -topk8 -nocrypt` converts most other formats",
        .0.display()
    )]
    Unusable(PathBuf),
    #[error("the keys come from {} (token.key_file): change that file and restart", .0.display())]
    ReadOnly(PathBuf),
}

impl From<KeyFileError> for KeyStoreError {
    fn from(error: KeyFileError) -> Self {
        Self::new(error)
    }
}

impl KeyFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read or holds anything but usable keys.
    pub fn open(path: &Path, fallback: Arc<dyn KeyStore>) -> Result<Self, signing_keys::Error> {
        let unreadable =
            |error| KeyStoreError::from(KeyFileError::Unreadable { path: path.to_owned(), error });
        let pem = Zeroizing::new(fs::read_to_string(path).map_err(unreadable)?);
        let file = Self { path: path.to_owned(), pem, fallback };
        file.keys().map_err(KeyStoreError::from)?;
        warn_if_open_to_all(path).map_err(unreadable)?;
        Ok(file)
    }

    /// Retires the signing key of the fallback store for the lifetime of a token, and removes its next key.
    ///
    /// # Errors
    /// If the fallback store cannot be changed.
    pub async fn take_over(
        &self,
        lifetime: Duration,
        now: Timestamp,
    ) -> Result<(), signing_keys::Error> {
        let keys = self.keys().map_err(KeyStoreError::from)?;
        let is_in_file = |key: &SigningKey| keys.iter().any(|in_file| in_file.id() == key.id());
        let stored = self.fallback.stored_keys().await?;
        if let Some(signing) = stored.signing.filter(|key| !is_in_file(key)) {
            let until = now + lifetime + SigningKeys::RETIREMENT_MARGIN;
            self.fallback.retire_signing_key(&signing, until).await?;
            tracing::info!(kid = %signing.id(), "the key file replaces this signing key, which only verifies from now on");
        }
        if let Some((next, _)) = stored.next {
            self.fallback.remove_key(next.id()).await?;
        }
        Ok(())
    }

    /// The keys in the file: at least one.
    fn keys(&self) -> Result<Vec<SigningKey>, KeyFileError> {
        SigningKey::all_from_pem(&self.pem)
            .map_err(|UnusableKey| KeyFileError::Unusable(self.path.clone()))
    }

    fn read_only<T>(&self) -> Result<T, KeyStoreError> {
        Err(KeyFileError::ReadOnly(self.path.clone()).into())
    }
}

fn warn_if_open_to_all(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o007 != 0 {
        tracing::warn!(path = %path.display(), "every user of this machine can read the key file: chmod it to 0600");
    }
    Ok(())
}

#[async_trait]
impl KeyStore for KeyFile {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError> {
        let mut keys = self.keys()?;
        let mut retired = self.fallback.stored_keys().await?.retired;
        retired.retain(|(key, _)| keys.iter().all(|in_file| in_file.id() != key.id()));
        let signing = keys.remove(0);
        Ok(StoredKeys { signing: Some(signing), next: None, verifying: keys, retired })
    }

    async fn add_first_key(&self, _: &SigningKey) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn add_next_key(&self, _: &SigningKey, _: Timestamp) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn set_next_time(&self, _: &KeyId, _: Timestamp) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn add_retired_key(&self, _: &SigningKey, _: Timestamp) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn promote_next_key(
        &self,
        _: &KeyId,
        _: &SigningKey,
        _: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn retire_signing_key(&self, _: &SigningKey, _: Timestamp) -> Result<(), KeyStoreError> {
        self.read_only()
    }

    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError> {
        if self.keys()?.iter().any(|key| key.id() == id) {
            return self.read_only();
        }
        self.fallback.remove_key(id).await
    }

    async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, KeyStoreError> {
        self.fallback.stored_secret(name).await
    }

    async fn add_secrets(&self, secrets: &SharedSecrets) -> Result<(), KeyStoreError> {
        self.fallback.add_secrets(secrets).await
    }

    async fn replace_secret(
        &self,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError> {
        self.fallback.replace_secret(name, secret).await
    }

    fn is_managed_by_operator(&self) -> bool {
        true
    }

    fn propagation_time(&self) -> Duration {
        self.fallback.propagation_time()
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }

    async fn changed(&self) {
        self.fallback.changed().await;
    }
}
