//! The lives of keys: made and published, signing, retired until their last token is gone. Every step is safe on disk
//! before it counts.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    clock::Timestamp,
    data::{self, DataFolder},
    token::{KeyId, KeySet, SigningKey, TokenMint, TokenTerms},
};

/// The keys in a data folder, and the mint that uses them.
pub struct Keys {
    folder: Arc<DataFolder>,
    mint: Arc<TokenMint>,
    ring: Mutex<Ring>,
}

struct Ring {
    signing: Arc<SigningKey>,
    /// The key that is to sign, and from when on.
    next: Option<(Arc<SigningKey>, Timestamp)>,
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
    /// Only verifies.
    Retired,
}

/// A key and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which key.
    pub id: KeyId,
    /// What it is for.
    pub stage: Stage,
    /// When that ends by itself.
    pub until: Option<Timestamp>,
}

impl Keys {
    /// A token may be signed with a key that has been loaded just before it was retired.
    const SLACK: Duration = Duration::from_secs(60);

    /// Reads the keys of a folder, and makes the first one when nobody can hold a token yet.
    ///
    /// # Errors
    /// If one of them is missing or cannot be used.
    pub fn open(
        folder: Arc<DataFolder>,
        tokens_exist: bool,
        terms: TokenTerms,
        now: Timestamp,
    ) -> Result<Self, data::Error> {
        let signing = Arc::new(folder.signing_key(tokens_exist)?);
        // Nobody could see it while no server ran, so that its time begins anew.
        let signs_at = now + terms.publish_before_signing;
        let next = folder.next_key()?.map(|key| (Arc::new(key), signs_at));
        // A copy of the key that signs is left over from a step that was cut short.
        let is_retired = |(key, _): &(SigningKey, _)| key.id() != signing.id();
        let retired = folder.retired_keys()?.into_iter().filter(is_retired);
        let retired = retired.map(|(key, until)| (Arc::new(key), until)).collect();
        let ring = Ring { signing, next, retired };
        let mint = Arc::new(TokenMint::new(ring.key_set(), terms));
        Ok(Self { folder, mint, ring: Mutex::new(ring) })
    }

    /// What signs and recognises tokens with these keys.
    pub fn mint(&self) -> &Arc<TokenMint> {
        &self.mint
    }

    /// All keys, in the order in which they are published.
    pub fn list(&self) -> Vec<Standing> {
        self.ring().list()
    }

    /// Publishes the next key, unless there is one, and has it sign if its time has come.
    ///
    /// # Errors
    /// If a key cannot be written.
    pub fn rotate(&self, now: Timestamp) -> Result<(), data::Error> {
        let mut ring = self.ring();
        self.publish_next(&mut ring, now)?;
        self.sign_with_next(&mut ring, now)
    }

    /// Has the next key sign once its time has come, and removes retired keys whose last token is gone.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn tend(&self, now: Timestamp) -> Result<(), data::Error> {
        let mut ring = self.ring();
        let signed = self.sign_with_next(&mut ring, now);
        while let Some(at) = ring.retired.iter().position(|(_, until)| *until <= now) {
            self.folder.remove_retired_key(ring.retired[at].0.id())?;
            let (gone, _) = ring.retired.remove(at);
            tracing::info!(kid = %gone.id(), "retired key removed");
            self.mint.replace_keys(ring.key_set());
        }
        signed
    }

    /// Takes a key out of use: from the next request on, its tokens are refused. Another one signs in its place.
    /// False if there is no such key.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn revoke(&self, kid: &str, now: Timestamp) -> Result<bool, data::Error> {
        let mut ring = self.ring();
        let Some(Standing { id, stage, .. }) = ring.list().into_iter().find(|key| key.id == *kid)
        else {
            return Ok(false);
        };
        // First of all, so that no copy can come back after a step that was cut short.
        self.folder.remove_retired_key(&id)?;
        match stage {
            Stage::Signing => {
                let next = self.publish_next(&mut ring, now)?;
                self.folder.promote_next_key()?;
                ring.signing = next;
                ring.next = None;
            }
            Stage::Next => {
                self.folder.remove_next_key()?;
                ring.next = None;
            }
            Stage::Retired => ring.retired.retain(|(key, _)| *key.id() != id),
        }
        self.mint.replace_keys(ring.key_set());
        tracing::warn!(%kid, "key revoked: its tokens are refused");
        Ok(true)
    }

    fn publish_next(
        &self,
        ring: &mut Ring,
        now: Timestamp,
    ) -> Result<Arc<SigningKey>, data::Error> {
        if let Some((next, _)) = &ring.next {
            return Ok(Arc::clone(next));
        }
        let next = Arc::new(self.folder.new_next_key()?);
        tracing::info!(kid = %next.id(), "next signing key published");
        let signs_at = now + self.mint.terms().publish_before_signing;
        ring.next = Some((Arc::clone(&next), signs_at));
        self.mint.replace_keys(ring.key_set());
        Ok(next)
    }

    fn sign_with_next(&self, ring: &mut Ring, now: Timestamp) -> Result<(), data::Error> {
        let Some((next, _)) = ring.next.as_ref().filter(|(_, signs_at)| *signs_at <= now) else {
            return Ok(());
        };
        let until = now + self.mint.terms().lifetime + Self::SLACK;
        self.folder.retire_key(&ring.signing, until)?;
        self.folder.promote_next_key()?;
        tracing::info!(kid = %next.id(), "signing with the next key");
        let old = mem::replace(&mut ring.signing, Arc::clone(next));
        ring.retired.push((old, until));
        ring.next = None;
        self.mint.replace_keys(ring.key_set());
        Ok(())
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn key_set(&self) -> KeySet {
        let others = self.next.iter().chain(&self.retired).map(|(key, _)| Arc::clone(key));
        KeySet::new(Arc::clone(&self.signing), others)
    }

    fn list(&self) -> Vec<Standing> {
        let standing =
            |key: &SigningKey, stage, until| Standing { id: key.id().clone(), stage, until };
        let mut list = vec![standing(&self.signing, Stage::Signing, None)];
        list.extend(self.next.iter().map(|(key, at)| standing(key, Stage::Next, Some(*at))));
        list.extend(self.retired.iter().map(|(key, at)| standing(key, Stage::Retired, Some(*at))));
        list
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn open(path: &std::path::Path) -> Keys {
        let terms = TokenTerms {
            issuer: "us".into(),
            audience: "them".into(),
            lifetime: Duration::from_secs(60 * 60),
            publish_before_signing: Duration::ZERO,
        };
        Keys::open(Arc::new(DataFolder::claim(path).unwrap()), false, terms, NOW).unwrap()
    }

    fn published(keys: &Keys) -> usize {
        let set = serde_json::to_value(keys.mint().public_keys()).unwrap();
        set["keys"].as_array().unwrap().len()
    }

    #[test]
    fn a_step_that_cannot_be_written_down_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open(folder.path());
        let before = keys.list();

        // Where a key is written before it is put in place.
        let in_the_way = folder.path().join("unfinished");
        fs::create_dir(&in_the_way).unwrap();
        assert!(keys.rotate(NOW).is_err());
        assert!(keys.revoke(&before[0].id.to_string(), NOW).is_err());
        assert_eq!((keys.list(), published(&keys)), (before.clone(), 1));
        fs::remove_dir(&in_the_way).unwrap();

        let signing_key = folder.path().join("signing-key.pem");
        let put_by = folder.path().join("put-by.pem");
        fs::rename(&signing_key, &put_by).unwrap();
        fs::create_dir(&signing_key).unwrap();
        for _ in 0..2 {
            assert!(keys.rotate(NOW).is_err());
            assert_eq!((&keys.list()[0], published(&keys)), (&before[0], 2), "only published");
        }
        fs::remove_dir(&signing_key).unwrap();
        fs::rename(&put_by, &signing_key).unwrap();

        keys.rotate(NOW).unwrap();
        let after = keys.list();
        assert_eq!((after.len(), &after[1].id), (2, &before[0].id));
        drop(keys);
        assert_eq!(open(folder.path()).list(), after);
    }

    #[test]
    fn a_retired_key_stays_for_as_long_as_a_token_lives() {
        let folder = tempfile::tempdir().unwrap();
        let keys = open(folder.path());
        keys.rotate(NOW).unwrap();
        let until = keys.list()[1].until.unwrap();
        assert_eq!(until, NOW + Duration::from_secs(60 * 60) + Keys::SLACK);
        keys.tend(Timestamp::from_millis(until.millis() - 1)).unwrap();
        assert_eq!(published(&keys), 2);
        keys.tend(until).unwrap();
        assert_eq!(published(&keys), 1);
    }
}
