//! A flood of API keys that do not exist. Anybody can make up keys with a right checksum, and each would cost a query. After many of
//! them, keys are first looked for in a list of all digests that is a few seconds old.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    credential::api_key::KeyDigest,
    store::{self, Store},
};

/// What is known of keys that do not exist.
#[derive(Default)]
pub(super) struct UnknownKeys {
    recent: Mutex<Recent>,
    list: tokio::sync::Mutex<Option<List>>,
}

/// How many were looked up lately. One is forgotten each [`INTERVAL`].
#[derive(Default)]
struct Recent {
    count: u32,
    since: Option<Instant>,
}

/// The digests of all keys, unless there are too many.
struct List {
    digests: Option<HashSet<KeyDigest>>,
    read_at: Instant,
}

/// As many cost a query each. Whoever has a wrong key in a script does not notice more than that.
pub(super) const MOST: u32 = 100;
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// A key that another instance has made is found after this time.
pub(super) const LIST_LIFETIME: Duration = Duration::from_secs(5);
/// 3 MB of digests.
const MAX_DIGESTS: usize = 100_000;

impl UnknownKeys {
    /// Counts a key that does not exist.
    pub(super) fn count(&self, now: Instant) {
        let mut recent = self.recent(now);
        recent.count = recent.count.saturating_add(1);
    }

    /// Whether a query is worth while for this key. It is, unless there was a flood.
    pub(super) async fn may_exist(
        &self,
        store: &Store,
        digest: &KeyDigest,
        now: Instant,
    ) -> Result<bool, store::Error> {
        if self.recent(now).count < MOST {
            return Ok(true);
        }
        // Others wait for the list that is being read.
        let mut list = self.list.lock().await;
        let is_old = |list: &List| now.saturating_duration_since(list.read_at) >= LIST_LIFETIME;
        if list.as_ref().is_none_or(is_old) {
            let digests = store.api_key_digests(MAX_DIGESTS).await?;
            *list = Some(List { digests, read_at: now });
        }
        let digests = list.as_ref().and_then(|list| list.digests.as_ref());
        Ok(digests.is_none_or(|digests| digests.contains(digest)))
    }

    /// A key was made: the list lacks it.
    pub(super) async fn forget_list(&self) {
        *self.list.lock().await = None;
    }

    fn recent(&self, now: Instant) -> MutexGuard<'_, Recent> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *recent.since.get_or_insert(now);
        let forgotten = now.saturating_duration_since(since).as_nanos() / INTERVAL.as_nanos();
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        if forgotten > 0 {
            recent.count = recent.count.saturating_sub(forgotten);
            recent.since = Some(now);
        }
        recent
    }
}
