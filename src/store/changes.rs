//! Counts changes to users in memory, so that a cached user can be validated without a query.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::{count::labels, user::UserId};

/// Counts changes to users and their sessions, in a fixed number of slots. If users share a slot, a change to one of them
/// costs the others an unnecessary query, which fails while the database is unavailable.
pub struct Changes {
    counts: Box<[AtomicU64]>,
    slot_hasher: RandomState,
    /// `None` for a database that no other instance writes to.
    shared: Option<SharedDatabase>,
}

/// When a database that other instances write to was last polled, and whether it answers.
struct SharedDatabase {
    opened_at: Instant,
    /// When the changes of other instances were last read: milliseconds after `opened_at`.
    polled_at: AtomicU64,
    is_unreachable: AtomicBool,
    outage_grace: Duration,
}

/// Whether changes by other instances are known, which decides whether cached users are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// No other instance writes to the database.
    Embedded,
    /// Changes by other instances are read.
    Connected,
    /// The database has been unreachable for at most `database.outage_grace`.
    Unreachable,
    /// The database has been unreachable for longer than `database.outage_grace`.
    Stale,
}

labels!(Connectivity {
    Embedded => "embedded",
    Connected => "connected",
    Unreachable => "unreachable",
    Stale => "stale",
});

/// The change count of a user's slot at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    slot: usize,
    count: u64,
}

impl Changes {
    const SLOTS: usize = 16_384;

    /// For a database that no other instance writes to.
    pub(super) fn embedded() -> Self {
        Self {
            counts: (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            slot_hasher: RandomState::new(),
            shared: None,
        }
    }

    /// For a database that other instances write to.
    pub(super) fn shared(outage_grace: Duration) -> Self {
        /// Covers the time from the last poll to the start of an outage, and from its end to the next poll.
        const DETECTION_DELAY: Duration = Duration::from_secs(5);
        let shared = SharedDatabase {
            opened_at: Instant::now(),
            polled_at: AtomicU64::new(0),
            is_unreachable: AtomicBool::new(false),
            outage_grace: outage_grace + DETECTION_DELAY,
        };
        Self { shared: Some(shared), ..Self::embedded() }
    }

    /// Whether changes by other instances are known.
    pub fn connectivity(&self) -> Connectivity {
        let Some(shared) = &self.shared else { return Connectivity::Embedded };
        let polled_at = Duration::from_millis(shared.polled_at.load(Ordering::Acquire));
        if shared.opened_at.elapsed().saturating_sub(polled_at) > shared.outage_grace {
            Connectivity::Stale
        } else if shared.is_unreachable.load(Ordering::Acquire) {
            Connectivity::Unreachable
        } else {
            Connectivity::Connected
        }
    }

    /// Records that all changes by other instances have been read.
    pub(super) fn set_polled(&self) {
        if let Some(shared) = &self.shared {
            let millis = u64::try_from(shared.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
            shared.polled_at.store(millis, Ordering::Release);
            shared.is_unreachable.store(false, Ordering::Release);
        }
    }

    /// Records that the database does not answer.
    pub(super) fn set_unreachable(&self) {
        if let Some(shared) = &self.shared {
            shared.is_unreachable.store(true, Ordering::Release);
        }
    }

    /// Counts a change to every user.
    pub(super) fn mark_all(&self) {
        for count in &self.counts {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The stamp of a user. Take it before reading the user, so that a change in between is noticed.
    pub fn stamp(&self, user: UserId) -> Stamp {
        let slot = self.slot(user);
        Stamp { slot, count: self.counts[slot].load(Ordering::Acquire) }
    }

    /// Whether the user has not changed since the stamp was taken.
    pub fn is_current(&self, stamp: Stamp) -> bool {
        self.counts[stamp.slot].load(Ordering::Acquire) == stamp.count
    }

    /// Counts a change to a user or one of their sessions. Must be called after the commit and before the write returns.
    pub(super) fn mark(&self, user: UserId) {
        self.counts[self.slot(user)].fetch_add(1, Ordering::AcqRel);
    }

    fn slot(&self, user: UserId) -> usize {
        self.slot_hasher.hash_one(user) as usize % Self::SLOTS
    }
}
