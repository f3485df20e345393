//! A key store in memory, for a service whose keys end with its process.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;

use super::{
    KeyId, SigningKey,
    key_store::{KeyStore, KeyStoreError, StoredKeys},
    shared_secret::{SecretName, SharedSecret, SharedSecrets},
};
use crate::clock::Timestamp;

/// Signing keys and shared secrets in memory.
#[derive(Default)]
pub struct MemoryKeyStore {
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    keys: StoredKeys,
    secrets: SharedSecrets,
}

impl MemoryKeyStore {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl KeyStore for MemoryKeyStore {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError> {
        let contents = self.contents();
        let StoredKeys { signing, next, verifying, retired } = &contents.keys;
        let with_time = |(key, until): &(SigningKey, Timestamp)| (copy(key), *until);
        Ok(StoredKeys {
            signing: signing.as_ref().map(copy),
            next: next.as_ref().map(|(key, signs_at)| (copy(key), *signs_at)),
            verifying: verifying.iter().map(copy).collect(),
            retired: retired.iter().map(with_time).collect(),
        })
    }

    async fn add_first_key(&self, key: &SigningKey) -> Result<(), KeyStoreError> {
        self.contents().keys.signing.get_or_insert_with(|| copy(key));
        Ok(())
    }

    async fn add_next_key(
        &self,
        key: &SigningKey,
        signs_at: Timestamp,
    ) -> Result<(), KeyStoreError> {
        self.contents().keys.next.get_or_insert_with(|| (copy(key), Some(signs_at)));
        Ok(())
    }

    async fn set_next_time(&self, next: &KeyId, signs_at: Timestamp) -> Result<(), KeyStoreError> {
        if let Some((key, time)) = &mut self.contents().keys.next
            && key.id() == next
        {
            *time = Some(signs_at);
        }
        Ok(())
    }

    async fn add_retired_key(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        let retired = &mut self.contents().keys.retired;
        if !retired.iter().any(|(stored, _)| stored.id() == key.id()) {
            retired.push((copy(key), until));
        }
        Ok(())
    }

    async fn promote_next_key(
        &self,
        next: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        let keys = &mut self.contents().keys;
        let has_both = keys.next.as_ref().is_some_and(|(key, _)| key.id() == next)
            && keys.signing.as_ref().is_some_and(|key| key.id() == signing.id());
        if has_both && let Some((promoted, _)) = keys.next.take() {
            let old = keys.signing.replace(promoted);
            keys.retired.extend(old.zip(until));
        }
        Ok(())
    }

    async fn retire_signing_key(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        let keys = &mut self.contents().keys;
        if let Some(key) = keys.signing.take_if(|key| key.id() == signing.id()) {
            keys.retired.push((key, until));
        }
        Ok(())
    }

    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError> {
        let keys = &mut self.contents().keys;
        drop(keys.next.take_if(|(key, _)| key.id() == id));
        keys.retired.retain(|(key, _)| key.id() != id);
        Ok(())
    }

    async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, KeyStoreError> {
        Ok(self.contents().secrets.get(&name).cloned())
    }

    async fn add_secrets(&self, secrets: &SharedSecrets) -> Result<(), KeyStoreError> {
        let stored = &mut self.contents().secrets;
        for (name, secret) in secrets {
            stored.entry(*name).or_insert_with(|| secret.clone());
        }
        Ok(())
    }

    async fn replace_secret(
        &self,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError> {
        self.contents().secrets.insert(name, secret.clone());
        Ok(())
    }

    fn propagation_time(&self) -> Duration {
        Duration::ZERO
    }

    fn location(&self) -> String {
        "the signing key in memory".into()
    }
}

fn copy(key: &SigningKey) -> SigningKey {
    SigningKey::from_pem(&key.to_pem()).expect("a key can be read from its own PEM")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Algorithm;

    #[tokio::test]
    async fn a_key_is_published_promoted_retired_and_removed() {
        let store = MemoryKeyStore::default();
        let [first, second, other] = [(); 3].map(|()| SigningKey::generate(Algorithm::EdDsa));
        let (later, end) = (Timestamp::from_seconds(1), Timestamp::from_seconds(2));
        store.add_first_key(&first).await.unwrap();
        store.add_first_key(&other).await.unwrap();
        store.add_next_key(&second, later).await.unwrap();
        store.add_next_key(&other, end).await.unwrap();
        store.promote_next_key(other.id(), &first, Some(end)).await.unwrap();
        let keys = store.stored_keys().await.unwrap();
        assert_eq!(keys.signing.unwrap().id(), first.id());
        assert!(keys.next.is_some_and(|(key, at)| key.id() == second.id() && at == Some(later)));
        store.promote_next_key(second.id(), &first, Some(end)).await.unwrap();
        store.add_retired_key(&first, later).await.unwrap();
        let keys = store.stored_keys().await.unwrap();
        assert_eq!(keys.signing.unwrap().id(), second.id());
        let retired: Vec<_> = keys.retired.iter().map(|(key, at)| (key.id(), *at)).collect();
        assert_eq!((retired, keys.next.is_none()), (vec![(first.id(), end)], true));
        store.remove_key(first.id()).await.unwrap();
        store.retire_signing_key(&first, end).await.unwrap();
        assert!(store.stored_keys().await.unwrap().retired.is_empty());
        store.retire_signing_key(&second, end).await.unwrap();
        assert!(store.stored_keys().await.unwrap().signing.is_none());
    }
}
