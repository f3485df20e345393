//! The lives of keys: made and published, signing, retired until their last token is gone. Every step is safe on the
//! key store before it counts.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{Algorithm, KeyId, KeySet, SigningKey, TokenMint, TokenTerms, UnusableKey};
use crate::{clock::Timestamp, data_folder, store};

/// Where keys are kept: the data folder of one process, or the database that several share.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// All keys that are kept.
    async fn kept(&self) -> Result<StoredKeys, Error>;

    /// Keeps the first key of all, unless there is one.
    async fn keep_first(&self, key: &SigningKey) -> Result<(), Error>;

    /// Keeps the key that is to sign next, unless there is one.
    async fn keep_next(&self, key: &SigningKey, signs_at: Timestamp) -> Result<(), Error>;

    /// Keeps a key that no longer signs, unless it is there.
    async fn keep_retired(&self, key: &SigningKey, until: Timestamp) -> Result<(), Error>;

    /// Puts the next key in the place of the signing one, which stays until then or, without a time, not at all.
    /// Does nothing if others are in these places.
    async fn promote(
        &self,
        next: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), Error>;

    /// Retires the signing key until then without another one in its place.
    async fn retire(&self, signing: &SigningKey, until: Timestamp) -> Result<(), Error>;

    /// Removes a next or a retired key, if it is there.
    async fn discard(&self, id: &KeyId) -> Result<(), Error>;

    /// How long a change takes at most to reach whoever else uses the key store.
    fn reaches_all_within(&self) -> Duration;

    /// Where the signing key is to be found, for whoever misses it.
    fn place(&self) -> String;

    /// Waits until somebody may have changed what lies there; for ever where nobody else does.
    async fn changed(&self) {
        std::future::pending().await
    }
}

/// What a key store holds.
#[derive(Default)]
pub struct StoredKeys {
    /// The key that signs.
    pub signing: Option<SigningKey>,
    /// The key that is to sign, and from when on if that is on record.
    pub next: Option<(SigningKey, Option<Timestamp>)>,
    /// Keys that only verify, for as long as they are there.
    pub verifying: Vec<SigningKey>,
    /// Keys that no longer sign, and until when they verify.
    pub retired: Vec<(SigningKey, Timestamp)>,
}

/// Why a step could not be taken, or the keys could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data folder says so.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// The database says so.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The key is gone although somebody may hold a token that it signed.
    #[error(
        "{0} is missing, although users have registered: put it back from your backup, or start once with \
         --new-signing-key to make a new one, which signs everybody out"
    )]
    Missing(String),
    /// Others move the key faster than it can be taken away.
    #[error("other instances keep changing the keys: try again")]
    InUse,
    /// The operator's file cannot be read.
    #[error("{}: {error} (token.key_file)", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The operator's file holds something else.
    #[error(
        "{}: {UnusableKey} (token.key_file): `openssl pkcs8 -topk8 -nocrypt` makes one of most others", .0.display()
    )]
    FileUnusable(PathBuf),
    /// The operator's file is not ours to change.
    #[error("the keys are those in {} (token.key_file): change that file and restart", .0.display())]
    FileDecides(PathBuf),
}

/// The keys of a store, and the mint that uses them.
pub struct SigningKeys {
    key_store: Arc<dyn KeyStore>,
    mint: Arc<TokenMint>,
    ring: Mutex<Ring>,
}

struct Ring {
    signing: Arc<SigningKey>,
    /// The key that is to sign, and from when on.
    next: Option<(Arc<SigningKey>, Timestamp)>,
    /// Keys that only verify, for as long as they are there.
    verifying: Vec<Arc<SigningKey>>,
    /// Keys that no longer sign, and until when they verify.
    retired: Vec<(Arc<SigningKey>, Timestamp)>,
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Published, to sign later.
    Next,
    /// Signs and verifies.
    Signing,
    /// Only verifies, for as long as it is there.
    Verifying,
    /// Only verifies, until its last token is gone.
    Retired,
}

/// A key and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which key.
    pub id: KeyId,
    /// What it is made for.
    pub algorithm: Algorithm,
    /// What it is for.
    pub stage: Stage,
    /// When that ends by itself.
    pub until: Option<Timestamp>,
}

impl SigningKeys {
    /// A token may be signed with a key that has been loaded just before it was retired.
    pub(super) const SLACK: Duration = Duration::from_secs(60);

    /// Reads the keys of a key store, and makes the first one when nobody can hold a token yet.
    ///
    /// # Errors
    /// If one of them is missing or cannot be used.
    pub async fn open(
        key_store: Arc<dyn KeyStore>,
        tokens_exist: bool,
        terms: TokenTerms,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut kept = key_store.kept().await?;
        if kept.signing.is_none() && !tokens_exist {
            key_store.keep_first(&new_key(terms.algorithm).await).await?;
            // Another process may have been faster.
            kept = key_store.kept().await?;
        }
        // Nobody could see the next key while no server ran, so that its time begins anew.
        let signs_at = now + terms.publish_before_signing;
        let ring = Ring::of(kept, |_| signs_at).ok_or_else(|| Error::Missing(key_store.place()))?;
        let mint = Arc::new(TokenMint::new(ring.key_set(), terms));
        Ok(Self { key_store, mint, ring: Mutex::new(ring) })
    }

    /// What signs and recognises tokens with these keys.
    pub fn mint(&self) -> &Arc<TokenMint> {
        &self.mint
    }

    /// All keys, in the order in which they are published.
    pub async fn list(&self) -> Vec<Standing> {
        self.ring.lock().await.list()
    }

    /// Publishes the next key, unless there is one, and has it sign if its time has come.
    ///
    /// # Errors
    /// If the key store refuses.
    pub async fn rotate(&self, now: Timestamp) -> Result<(), Error> {
        let mut ring = self.ring.lock().await;
        self.publish_next(&mut ring, now).await?;
        self.sign_with_next(&mut ring, now).await
    }

    /// Has the next key sign once its time has come, and removes retired keys whose last token is gone.
    ///
    /// # Errors
    /// If the key store refuses.
    pub async fn tend(&self, now: Timestamp) -> Result<(), Error> {
        let mut ring = self.ring.lock().await;
        let signed = self.sign_with_next(&mut ring, now).await;
        let is_over = |(_, until): &&(Arc<SigningKey>, Timestamp)| *until <= now;
        let over: Vec<_> =
            ring.retired.iter().filter(is_over).map(|(key, _)| Arc::clone(key)).collect();
        for key in over {
            self.key_store.discard(key.id()).await?;
            tracing::info!(kid = %key.id(), "retired key removed");
            self.follow_key_store(&mut ring, now).await?;
        }
        signed
    }

    /// Takes a key out of use: from the next request on, its tokens are refused. Another one signs in its place.
    /// False if there is no such key.
    ///
    /// # Errors
    /// If the key store refuses, or somebody else keeps putting the key to another use.
    pub async fn revoke(&self, kid: &str, now: Timestamp) -> Result<bool, Error> {
        const TRIES: usize = 5;
        let mut ring = self.ring.lock().await;
        for attempt in 0..TRIES {
            // Another process may have moved the key meanwhile.
            self.follow_key_store(&mut ring, now).await?;
            let Some(Standing { id, stage, .. }) =
                ring.list().into_iter().find(|key| key.id == *kid)
            else {
                return Ok(attempt > 0);
            };
            // First of all, so that no copy can come back after a step that was cut short.
            self.key_store.discard(&id).await?;
            if stage == Stage::Signing {
                let next = self.publish_next(&mut ring, now).await?;
                self.key_store.promote(next.id(), &ring.signing, None).await?;
            }
            self.follow_key_store(&mut ring, now).await?;
            if ring.list().iter().all(|key| key.id != *kid) {
                tracing::warn!(%kid, "key revoked: its tokens are refused");
                return Ok(true);
            }
        }
        Err(Error::InUse)
    }

    /// Waits until somebody else may have left other keys on the key store.
    pub async fn changed(&self) {
        self.key_store.changed().await;
    }

    /// Uses the keys as somebody else has left them on the key store.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn follow(&self, now: Timestamp) -> Result<(), Error> {
        self.follow_key_store(&mut *self.ring.lock().await, now).await
    }

    async fn publish_next(
        &self,
        ring: &mut Ring,
        now: Timestamp,
    ) -> Result<Arc<SigningKey>, Error> {
        if ring.next.is_none() {
            let next = new_key(self.mint.terms().algorithm).await;
            self.key_store.keep_next(&next, self.signs_at(now)).await?;
            self.follow_key_store(ring, now).await?;
        }
        let (next, _) = ring.next.as_ref().ok_or_else(|| self.missing())?;
        tracing::info!(kid = %next.id(), "next signing key published");
        Ok(Arc::clone(next))
    }

    async fn sign_with_next(&self, ring: &mut Ring, now: Timestamp) -> Result<(), Error> {
        let Some((next, _)) = ring.next.as_ref().filter(|(_, signs_at)| *signs_at <= now) else {
            return Ok(());
        };
        let until = now + self.mint.terms().lifetime + Self::SLACK;
        self.key_store.promote(next.id(), &ring.signing, Some(until)).await?;
        tracing::info!(kid = %next.id(), "signing with the next key");
        self.follow_key_store(ring, now).await
    }

    /// Reads the key store and has the mint use what lies there, all at once.
    async fn follow_key_store(&self, ring: &mut Ring, now: Timestamp) -> Result<(), Error> {
        let kept = self.key_store.kept().await?;
        let signs_at = |id: &KeyId| match &ring.next {
            Some((next, at)) if next.id() == id => *at,
            _ => self.signs_at(now),
        };
        *ring = Ring::of(kept, signs_at).ok_or_else(|| self.missing())?;
        self.mint.replace_keys(ring.key_set());
        Ok(())
    }

    fn missing(&self) -> Error {
        Error::Missing(self.key_store.place())
    }

    /// When a key that is published now may sign.
    fn signs_at(&self, now: Timestamp) -> Timestamp {
        now + self.mint.terms().publish_before_signing.max(self.key_store.reaches_all_within())
    }
}

/// An RSA key takes a while to find, and must not keep a thread from its requests.
async fn new_key(algorithm: Algorithm) -> SigningKey {
    let made = tokio::task::spawn_blocking(move || SigningKey::generate(algorithm)).await;
    made.expect("making a key does not panic")
}

impl Ring {
    /// None without a key that signs. A next key whose time is not on record signs when `signs_at` says.
    fn of(kept: StoredKeys, signs_at: impl Fn(&KeyId) -> Timestamp) -> Option<Self> {
        let next = kept.next.map(|(key, at)| {
            let at = at.unwrap_or_else(|| signs_at(key.id()));
            (Arc::new(key), at)
        });
        let verifying = kept.verifying.into_iter().map(Arc::new).collect();
        let retired = kept.retired.into_iter().map(|(key, until)| (Arc::new(key), until)).collect();
        Some(Self { signing: Arc::new(kept.signing?), next, verifying, retired })
    }

    fn key_set(&self) -> KeySet {
        let key = |(key, _): &(Arc<SigningKey>, _)| Arc::clone(key);
        let others = self.next.iter().map(key).chain(self.verifying.iter().cloned());
        KeySet::new(Arc::clone(&self.signing), others.chain(self.retired.iter().map(key)))
    }

    fn list(&self) -> Vec<Standing> {
        let standing = |key: &SigningKey, stage, until| Standing {
            id: key.id().clone(),
            algorithm: key.algorithm(),
            stage,
            until,
        };
        let mut list = vec![standing(&self.signing, Stage::Signing, None)];
        list.extend(self.next.iter().map(|(key, at)| standing(key, Stage::Next, Some(*at))));
        list.extend(self.verifying.iter().map(|key| standing(key, Stage::Verifying, None)));
        list.extend(self.retired.iter().map(|(key, at)| standing(key, Stage::Retired, Some(*at))));
        list
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::data_folder::DataFolder;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    async fn open(path: &std::path::Path) -> SigningKeys {
        let terms = TokenTerms {
            issuer: "us".into(),
            audience: "them".into(),
            lifetime: Duration::from_secs(60 * 60),
            publish_before_signing: Duration::ZERO,
            algorithm: Algorithm::Es256,
        };
        let folder = Arc::new(DataFolder::claim(path).unwrap());
        SigningKeys::open(folder, false, terms, NOW).await.unwrap()
    }

    fn published(keys: &SigningKeys) -> usize {
        let set = serde_json::to_value(keys.mint().public_keys()).unwrap();
        set["keys"].as_array().unwrap().len()
    }

    #[tokio::test]
    async fn a_step_that_cannot_be_written_down_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open(folder.path()).await;
        let before = keys.list().await;

        // Where a key is written before it is put in place.
        let in_the_way = folder.path().join("unfinished");
        fs::create_dir(&in_the_way).unwrap();
        assert!(keys.rotate(NOW).await.is_err());
        assert!(keys.revoke(&before[0].id.to_string(), NOW).await.is_err());
        assert_eq!((keys.list().await, published(&keys)), (before.clone(), 1));
        fs::remove_dir(&in_the_way).unwrap();

        let signing_key = folder.path().join("signing-key.pem");
        let put_by = folder.path().join("put-by.pem");
        fs::rename(&signing_key, &put_by).unwrap();
        fs::create_dir(&signing_key).unwrap();
        for _ in 0..2 {
            assert!(keys.rotate(NOW).await.is_err());
            assert_eq!(
                (&keys.list().await[0], published(&keys)),
                (&before[0], 1),
                "nothing follows"
            );
        }
        fs::remove_dir(&signing_key).unwrap();
        fs::rename(&put_by, &signing_key).unwrap();

        keys.rotate(NOW).await.unwrap();
        let after = keys.list().await;
        assert_eq!((after.len(), &after[1].id), (2, &before[0].id));
        drop(keys);
        assert_eq!(open(folder.path()).await.list().await, after);
    }

    #[tokio::test]
    async fn a_retired_key_stays_for_as_long_as_a_token_lives() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open(folder.path()).await;
        keys.rotate(NOW).await.unwrap();
        let until = keys.list().await[1].until.unwrap();
        assert_eq!(until, NOW + Duration::from_secs(60 * 60) + SigningKeys::SLACK);
        keys.tend(Timestamp::from_millis(until.millis() - 1)).await.unwrap();
        assert_eq!(published(&keys), 2);
        keys.tend(until).await.unwrap();
        assert_eq!(published(&keys), 1);
    }
}
