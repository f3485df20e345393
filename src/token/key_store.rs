//! Where signing keys and shared secrets are stored: in the data folder of one process, or in the database that
//! several instances share.

use std::{error, time::Duration};

use async_trait::async_trait;

use super::{
    KeyId, SigningKey,
    shared_secret::{SecretName, SharedSecret, SharedSecrets},
};
use crate::clock::Timestamp;

/// Stores signing keys. Each change is durable when its method returns.
#[async_trait]
pub trait KeyStore: Send + Sync {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError>;

    /// Stores the first signing key. Never replaces one.
    async fn add_first_key(&self, key: &SigningKey) -> Result<(), KeyStoreError>;

    /// Stores the next signing key, unless there is one.
    async fn add_next_key(
        &self,
        key: &SigningKey,
        signs_at: Timestamp,
    ) -> Result<(), KeyStoreError>;

    /// Sets from when the next key signs, unless another key is the next one.
    async fn set_next_time(&self, next: &KeyId, signs_at: Timestamp) -> Result<(), KeyStoreError>;

    /// Stores a key that verifies until the given time, unless it is already stored.
    async fn add_retired_key(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError>;

    /// Makes the next key the signing key. The old signing key is retired until the given time, or deleted if there is
    /// none. Does nothing if either key has been replaced in the meantime.
    async fn promote_next_key(
        &self,
        next: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError>;

    /// Retires the signing key until the given time and leaves no key to sign.
    async fn retire_signing_key(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError>;

    /// Deletes a next or retired key, if it is stored.
    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError>;

    /// The secret with this name, if one is stored.
    async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, KeyStoreError>;

    /// Stores secrets, each unless there is one with its name.
    async fn add_secrets(&self, secrets: &SharedSecrets) -> Result<(), KeyStoreError>;

    /// Stores a secret in the place of any other with this name. A crash may leave none: the caller has to repeat it.
    async fn replace_secret(
        &self,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError>;

    /// Whether the operator manages the keys that sign and verify, so that only retired ones can be removed.
    fn is_managed_by_operator(&self) -> bool {
        false
    }

    /// The longest time until every instance uses a change.
    fn propagation_time(&self) -> Duration;

    /// Where the signing key should be, for error messages.
    fn location(&self) -> String;

    /// Waits until another instance may have changed the keys. Never returns if there can be no other instance.
    async fn changed(&self) {
        std::future::pending().await
    }
}

/// The secret with this name. Creates it on first use.
///
/// # Errors
/// If the key store cannot be read or written.
pub async fn shared_secret(
    store: &dyn KeyStore,
    name: SecretName,
) -> Result<SharedSecret, KeyStoreError> {
    add_missing_secrets(store, &[name]).await?;
    // Another instance may have added one first.
    let stored = store.stored_secret(name).await?;
    stored.ok_or_else(|| KeyStoreError("a new secret cannot be read".into()))
}

/// Creates those of these secrets that are missing.
///
/// # Errors
/// If the key store cannot be read or written.
pub async fn add_missing_secrets(
    store: &dyn KeyStore,
    names: &[SecretName],
) -> Result<(), KeyStoreError> {
    let mut missing = SharedSecrets::new();
    for name in names {
        if store.stored_secret(*name).await?.is_none() {
            missing.insert(*name, SharedSecret::random());
        }
    }
    if missing.is_empty() { Ok(()) } else { store.add_secrets(&missing).await }
}

/// All stored secrets.
///
/// # Errors
/// If the key store cannot be read.
pub async fn stored_secrets(store: &dyn KeyStore) -> Result<SharedSecrets, KeyStoreError> {
    let mut secrets = SharedSecrets::new();
    for name in SecretName::ALL {
        secrets.extend(store.stored_secret(name).await?.map(|secret| (name, secret)));
    }
    Ok(secrets)
}

/// The contents of a key store.
#[derive(Default)]
pub struct StoredKeys {
    pub signing: Option<SigningKey>,
    /// The key that signs next, and from when, if the store records that.
    pub next: Option<(SigningKey, Option<Timestamp>)>,
    /// Keys that verify and never sign.
    pub verifying: Vec<SigningKey>,
    /// Keys that no longer sign, and until when they verify.
    pub retired: Vec<(SigningKey, Timestamp)>,
}

impl StoredKeys {
    pub fn ids(&self) -> Vec<KeyId> {
        let Self { signing, next, verifying, retired } = self;
        let next = next.iter().map(|(key, _)| key);
        let retired = retired.iter().map(|(key, _)| key);
        let all = signing.iter().chain(next).chain(verifying).chain(retired);
        all.map(|key| key.id().clone()).collect()
    }
}

/// A key store could not be read or changed. Displays its cause.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct KeyStoreError(Box<dyn error::Error + Send + Sync>);

impl KeyStoreError {
    pub fn new(cause: impl error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(cause))
    }
}
