//! Keys that the operator brings in a file. It decides which key signs, and is only ever read.

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
    signing_keys::{Error, KeyStore, SigningKeys, StoredKeys},
};
use crate::clock::Timestamp;

/// A file with keys, the first of which signs, in front of the key store with the keys from before there was a file.
pub struct KeyFile {
    path: PathBuf,
    pem: Zeroizing<String>,
    before: Arc<dyn KeyStore>,
}

impl KeyFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(path: &Path, before: Arc<dyn KeyStore>) -> Result<Self, Error> {
        let in_file = |error| Error::File { path: path.to_owned(), error };
        let pem = Zeroizing::new(fs::read_to_string(path).map_err(in_file)?);
        let file = Self { path: path.to_owned(), pem, before };
        file.keys()?;
        warn_if_open_to_all(path).map_err(in_file)?;
        Ok(file)
    }

    /// Has the key that signed before only verify, until its last token is gone, after the lifetime of a token.
    ///
    /// # Errors
    /// If the key store refuses.
    pub async fn take_over(&self, lifetime: Duration, now: Timestamp) -> Result<(), Error> {
        let keys = self.keys()?;
        let has = |key: &SigningKey| keys.iter().any(|own| own.id() == key.id());
        let kept = self.before.kept().await?;
        if let Some(signing) = kept.signing.filter(|key| !has(key)) {
            self.before.retire(&signing, now + lifetime + SigningKeys::SLACK).await?;
            tracing::info!(kid = %signing.id(), "the key from before only verifies");
        }
        if let Some((next, _)) = kept.next {
            self.before.discard(next.id()).await?;
        }
        Ok(())
    }

    /// At least one.
    fn keys(&self) -> Result<Vec<SigningKey>, Error> {
        SigningKey::all_from_pem(&self.pem)
            .map_err(|UnusableKey| Error::FileUnusable(self.path.clone()))
    }

    fn decides(&self) -> Error {
        Error::FileDecides(self.path.clone())
    }
}

fn warn_if_open_to_all(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o007 != 0 {
        tracing::warn!(path = %path.display(), "anybody on this machine can read the key file: chmod it to 0600");
    }
    Ok(())
}

#[async_trait]
impl KeyStore for KeyFile {
    async fn kept(&self) -> Result<StoredKeys, Error> {
        let mut keys = self.keys()?;
        let mut retired = self.before.kept().await?.retired;
        retired.retain(|(key, _)| keys.iter().all(|own| own.id() != key.id()));
        let signing = keys.remove(0);
        Ok(StoredKeys { signing: Some(signing), next: None, verifying: keys, retired })
    }

    async fn keep_first(&self, _: &SigningKey) -> Result<(), Error> {
        Err(self.decides())
    }

    async fn keep_next(&self, _: &SigningKey, _: Timestamp) -> Result<(), Error> {
        Err(self.decides())
    }

    async fn keep_retired(&self, _: &SigningKey, _: Timestamp) -> Result<(), Error> {
        Err(self.decides())
    }

    async fn promote(&self, _: &KeyId, _: &SigningKey, _: Option<Timestamp>) -> Result<(), Error> {
        Err(self.decides())
    }

    async fn retire(&self, _: &SigningKey, _: Timestamp) -> Result<(), Error> {
        Err(self.decides())
    }

    async fn discard(&self, id: &KeyId) -> Result<(), Error> {
        if self.keys()?.iter().any(|key| key.id() == id) {
            return Err(self.decides());
        }
        self.before.discard(id).await
    }

    fn reaches_all_within(&self) -> Duration {
        self.before.reaches_all_within()
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    async fn changed(&self) {
        self.before.changed().await;
    }
}
