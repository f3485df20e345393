//! The lifecycle of signing keys: published, signing, retired, only for refreshes, removed. Every step is stored before it
//! takes effect.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{
    Algorithm, KeyId, KeySet, SigningKey, TokenMint, TokenTerms,
    key_store::{KeyStore, KeyStoreError, StoredKeys},
    shared_secret::{SecretName, SharedSecret},
};
use crate::clock::Timestamp;

/// Why the keys could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] KeyStoreError),
    /// The signing key is missing although users may hold tokens that it signed.
    #[error(
        "{0} is missing, but users have registered: restore it from your backup, or start once with \
         --new-signing-key to create a new one, which signs everybody out"
    )]
    Missing(String),
    /// Other instances changed the keys at every attempt.
    #[error("other instances keep changing the keys: try again")]
    Contended,
}

/// The keys in a key store, and the mint that uses them.
pub struct SigningKeys {
    key_store: Arc<dyn KeyStore>,
    mint: Arc<TokenMint>,
    /// How long a session may outlive its token: an expired token can be refreshed while its session lives.
    session_lifetime: Duration,
    ring: Mutex<KeyRing>,
}

/// The keys in use.
struct KeyRing {
    signing: Arc<SigningKey>,
    /// The key that signs next, and from when.
    next: Option<(Arc<SigningKey>, Timestamp)>,
    /// Keys that verify and never sign.
    verifying: Vec<Arc<SigningKey>>,
    /// Keys that no longer sign, and until when they verify.
    retired: Vec<(Arc<SigningKey>, Timestamp)>,
    /// Keys whose last token has expired, and until when it can be refreshed.
    refreshing: Vec<(Arc<SigningKey>, Timestamp)>,
}

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum KeyStatus {
    /// Published, and signs later.
    Next,
    /// Signs and verifies.
    Signing,
    /// Only verifies, for as long as it is in the key file.
    Verifying,
    /// Only verifies, until the last token that it signed has expired.
    Retired,
    /// Not published any more. Only refreshes its expired tokens, until the last session of one has ended.
    Refreshing,
}

/// A key and what it is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    pub id: KeyId,
    pub algorithm: Algorithm,
    pub status: KeyStatus,
    /// When the status changes without further action.
    pub until: Option<Timestamp>,
}

impl SigningKeys {
    /// Added to the lifetime of a token: a request may have loaded a key just before the key was retired.
    pub(super) const RETIREMENT_MARGIN: Duration = Duration::from_secs(60);

    /// Reads the keys of a key store. Creates the first key unless tokens may exist.
    ///
    /// # Errors
    /// If a key is missing or unusable, or the key store fails.
    pub async fn open(
        key_store: Arc<dyn KeyStore>,
        tokens_exist: bool,
        terms: TokenTerms,
        session_lifetime: Duration,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut stored = key_store.stored_keys().await?;
        if stored.signing.is_none() && !tokens_exist {
            key_store.add_first_key(&new_key(terms.algorithm).await).await?;
            // Another instance may have added its key first.
            stored = key_store.stored_keys().await?;
        }
        if let Some((next, None)) = &stored.next {
            // The time decides, so it is stored: another start does not postpone it.
            let signs_at = now + terms.publish_before_signing;
            key_store.set_next_time(next.id(), signs_at).await?;
            stored = key_store.stored_keys().await?;
        }
        let mut ring = KeyRing::new(stored, session_lifetime, now)
            .ok_or_else(|| Error::Missing(key_store.location()))?;
        if key_store.propagation_time().is_zero()
            && let Some((_, signs_at)) = &mut ring.next
        {
            // Verifiers could not fetch it while the only server did not run. They may have the keys of before for this long.
            *signs_at = (*signs_at).max(now + terms.key_set_max_age());
        }
        let mint = Arc::new(TokenMint::new(ring.key_set(), terms));
        Ok(Self { key_store, mint, session_lifetime, ring: Mutex::new(ring) })
    }

    /// The mint that signs and verifies tokens with these keys.
    pub fn mint(&self) -> &Arc<TokenMint> {
        &self.mint
    }

    /// All keys, in the order in which they are published. Those that only refresh come last.
    pub async fn list(&self) -> Vec<KeyInfo> {
        self.ring.lock().await.list()
    }

    /// Publishes a next key unless there is one, and promotes it if it is due.
    ///
    /// # Errors
    /// If the key store fails.
    pub async fn rotate(&self, now: Timestamp) -> Result<(), Error> {
        let mut ring = self.ring.lock().await;
        self.publish_next_key(&mut ring, now).await?;
        self.promote_next_key_if_due(&mut ring, now).await
    }

    /// Promotes the next key if it is due, and leaves retired keys whose last token has expired to refreshes.
    ///
    /// # Errors
    /// If the key store fails.
    pub async fn apply_due_changes(&self, now: Timestamp) -> Result<(), Error> {
        let mut ring = self.ring.lock().await;
        let promoted = self.promote_next_key_if_due(&mut ring, now).await;
        let is_due = |(_, until): &&(Arc<SigningKey>, Timestamp)| *until <= now;
        if ring.retired.iter().any(|key| is_due(&key)) {
            self.reload_ring(&mut ring, now).await?;
        }
        promoted
    }

    /// Whether there are keys whose last token can no longer be refreshed.
    pub async fn has_expired_ones(&self, now: Timestamp) -> bool {
        self.ring.lock().await.refreshing.iter().any(|(_, until)| *until <= now)
    }

    /// Removes keys whose last token can no longer be refreshed.
    ///
    /// # Errors
    /// If the key store fails.
    pub async fn remove_expired(&self, now: Timestamp) -> Result<(), Error> {
        let mut ring = self.ring.lock().await;
        let is_due = |(_, until): &&(Arc<SigningKey>, Timestamp)| *until <= now;
        let expired: Vec<_> =
            ring.refreshing.iter().filter(is_due).map(|(key, _)| Arc::clone(key)).collect();
        for key in expired {
            self.key_store.remove_key(key.id()).await?;
            tracing::info!(kid = %key.id(), "retired key removed");
            self.reload_ring(&mut ring, now).await?;
        }
        Ok(())
    }

    /// Removes a key: from the next request on, its tokens are refused. The next key replaces a signing key. Returns
    /// false if there is no such key.
    ///
    /// # Errors
    /// If the key store fails, or other instances keep changing the key.
    pub async fn revoke(&self, kid: &str, now: Timestamp) -> Result<bool, Error> {
        const ATTEMPTS: usize = 5;
        let mut ring = self.ring.lock().await;
        for attempt in 0..ATTEMPTS {
            // Another instance may have changed the key's status.
            self.reload_ring(&mut ring, now).await?;
            let Some(KeyInfo { id, status, .. }) =
                ring.list().into_iter().find(|key| key.id == *kid)
            else {
                return Ok(attempt > 0);
            };
            // First, so that no copy reappears if a later step fails.
            self.key_store.remove_key(&id).await?;
            if status == KeyStatus::Signing {
                let next = self.publish_next_key(&mut ring, now).await?;
                self.key_store.promote_next_key(next.id(), &ring.signing, None).await?;
            }
            self.reload_ring(&mut ring, now).await?;
            if ring.list().iter().all(|key| key.id != *kid) {
                tracing::warn!(%kid, "key revoked: its tokens are refused");
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// Removes every key and signs with a new one: from the next request on, all tokens are refused. Keys in the operator's
    /// file stay. Returns the keys that were removed.
    ///
    /// # Errors
    /// If the key store fails, or other instances keep changing the keys.
    pub async fn replace_all(&self, now: Timestamp) -> Result<Vec<KeyId>, Error> {
        const ATTEMPTS: usize = 5;
        let mut ring = self.ring.lock().await;
        self.reload_ring(&mut ring, now).await?;
        let is_managed = self.key_store.is_managed_by_operator();
        let is_removed = |key: &KeyInfo| {
            !is_managed || matches!(key.status, KeyStatus::Retired | KeyStatus::Refreshing)
        };
        let old: Vec<_> = ring.list().into_iter().filter(is_removed).map(|key| key.id).collect();
        for _ in 0..ATTEMPTS {
            for id in old.iter().filter(|id| *id != ring.signing.id()) {
                self.key_store.remove_key(id).await?;
            }
            if old.contains(ring.signing.id()) {
                self.reload_ring(&mut ring, now).await?;
                let next = self.publish_next_key(&mut ring, now).await?;
                self.key_store.promote_next_key(next.id(), &ring.signing, None).await?;
            }
            self.reload_ring(&mut ring, now).await?;
            if ring.list().iter().all(|key| !old.contains(&key.id)) {
                old.iter()
                    .for_each(|kid| tracing::warn!(%kid, "key revoked: its tokens are refused"));
                return Ok(old);
            }
        }
        Err(Error::Contended)
    }

    /// Stores another secret of cookies.
    ///
    /// # Errors
    /// If the key store fails.
    pub async fn replace_cookie_secret(&self, secret: &SharedSecret) -> Result<(), Error> {
        Ok(self.key_store.replace_secret(SecretName::Cookies, secret).await?)
    }

    /// The stored secret with this name, which another instance may have replaced.
    ///
    /// # Errors
    /// If the key store fails.
    pub async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, Error> {
        Ok(self.key_store.stored_secret(name).await?)
    }

    /// The contents of a key store that only this process changes, read while no key changes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn read_unchanged(
        &self,
        key_store: &dyn KeyStore,
    ) -> Result<StoredKeys, KeyStoreError> {
        let _ring = self.ring.lock().await;
        key_store.stored_keys().await
    }

    /// Waits until another instance may have changed the keys.
    pub async fn changed(&self) {
        self.key_store.changed().await;
    }

    /// Reads the keys again after another instance has changed them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn reload(&self, now: Timestamp) -> Result<(), Error> {
        self.reload_ring(&mut *self.ring.lock().await, now).await
    }

    async fn publish_next_key(
        &self,
        ring: &mut KeyRing,
        now: Timestamp,
    ) -> Result<Arc<SigningKey>, Error> {
        if ring.next.is_none() {
            let next = new_key(self.mint.terms().algorithm).await;
            self.key_store.add_next_key(&next, self.signs_at(now)).await?;
            self.reload_ring(ring, now).await?;
        }
        let (next, _) = ring.next.as_ref().ok_or_else(|| self.missing())?;
        tracing::info!(kid = %next.id(), "next signing key published");
        Ok(Arc::clone(next))
    }

    async fn promote_next_key_if_due(
        &self,
        ring: &mut KeyRing,
        now: Timestamp,
    ) -> Result<(), Error> {
        /// The clocks of instances differ.
        const SKEW: Duration = Duration::from_secs(60);
        let latest = self.signs_at(now);
        let Some((next, signs_at)) = &mut ring.next else { return Ok(()) };
        if *signs_at > latest + SKEW {
            tracing::warn!(
                kid = %next.id(), stored = %signs_at, corrected = %latest,
                "the next key was to sign too late: the clock was ahead when it was made, or publish_before_signing was longer"
            );
            self.key_store.set_next_time(next.id(), latest).await?;
            *signs_at = latest;
        }
        if *signs_at > now {
            return Ok(());
        }
        let until = now + self.mint.terms().lifetime + Self::RETIREMENT_MARGIN;
        self.key_store.promote_next_key(next.id(), &ring.signing, Some(until)).await?;
        tracing::info!(kid = %next.id(), "signing with the next key");
        self.reload_ring(ring, now).await
    }

    /// Reads the key store and replaces the keys of the ring and the mint.
    async fn reload_ring(&self, ring: &mut KeyRing, now: Timestamp) -> Result<(), Error> {
        let stored = self.key_store.stored_keys().await?;
        let mut new =
            KeyRing::new(stored, self.session_lifetime, now).ok_or_else(|| self.missing())?;
        // This process may have another time than the stored one.
        if let (Some((next, at)), Some((known, known_at))) = (&mut new.next, &ring.next)
            && next.id() == known.id()
        {
            *at = *known_at;
        }
        *ring = new;
        self.mint.replace_keys(ring.key_set());
        Ok(())
    }

    fn missing(&self) -> Error {
        Error::Missing(self.key_store.location())
    }

    /// When a key that is published now may sign.
    fn signs_at(&self, now: Timestamp) -> Timestamp {
        now + self.mint.terms().publish_before_signing.max(self.key_store.propagation_time())
    }
}

/// Generates a key off the async threads, because an RSA key takes long.
async fn new_key(algorithm: Algorithm) -> SigningKey {
    let generated = tokio::task::spawn_blocking(move || SigningKey::generate(algorithm)).await;
    generated.expect("generating a key does not panic")
}

impl KeyRing {
    /// `None` without a signing key. A next key whose time is not stored signs at once.
    fn new(stored: StoredKeys, session_lifetime: Duration, now: Timestamp) -> Option<Self> {
        let next = stored.next.map(|(key, at)| (Arc::new(key), at.unwrap_or(now)));
        let verifying = stored.verifying.into_iter().map(Arc::new).collect();
        let retired = stored.retired.into_iter().map(|(key, until)| (Arc::new(key), until));
        let (retired, expired): (Vec<_>, Vec<_>) = retired.partition(|(_, until)| now < *until);
        let refreshing =
            expired.into_iter().map(|(key, until)| (key, until + session_lifetime)).collect();
        Some(Self { signing: Arc::new(stored.signing?), next, verifying, retired, refreshing })
    }

    fn key_set(&self) -> KeySet {
        let key = |(key, _): &(Arc<SigningKey>, _)| Arc::clone(key);
        let others = self.next.iter().map(key).chain(self.verifying.iter().cloned());
        KeySet::new(Arc::clone(&self.signing), others.chain(self.retired.iter().map(key)))
            .with_refreshing(self.refreshing.iter().map(key))
    }

    fn list(&self) -> Vec<KeyInfo> {
        let info = |key: &SigningKey, status, until| KeyInfo {
            id: key.id().clone(),
            algorithm: key.algorithm(),
            status,
            until,
        };
        let mut list = vec![info(&self.signing, KeyStatus::Signing, None)];
        list.extend(self.next.iter().map(|(key, at)| info(key, KeyStatus::Next, Some(*at))));
        list.extend(self.verifying.iter().map(|key| info(key, KeyStatus::Verifying, None)));
        list.extend(self.retired.iter().map(|(key, at)| info(key, KeyStatus::Retired, Some(*at))));
        let refreshing = self.refreshing.iter();
        list.extend(refreshing.map(|(key, at)| info(key, KeyStatus::Refreshing, Some(*at))));
        list
    }
}
