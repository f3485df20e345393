//! Tells, without asking the database, whether what was read about a user may be out of date.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::user::UserId;

/// Counts changes to users and their sessions, in a fixed number of slots: users who share a slot only cost each
/// other a look-up.
pub struct Changes {
    counts: Box<[AtomicU64]>,
    slots: RandomState,
}

/// The state of a user at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    slot: usize,
    count: u64,
}

impl Changes {
    const SLOTS: usize = 4096;

    pub(super) fn new() -> Self {
        Self {
            counts: (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            slots: RandomState::new(),
        }
    }

    /// The state of a user. Take it before reading the user: a change in between must count as one.
    pub fn stamp(&self, user: UserId) -> Stamp {
        let slot = self.slot(user);
        Stamp { slot, count: self.counts[slot].load(Ordering::Acquire) }
    }

    /// Whether nothing about the user has changed since.
    pub fn is_current(&self, stamp: Stamp) -> bool {
        self.counts[stamp.slot].load(Ordering::Acquire) == stamp.count
    }

    /// Notes that the user or one of their sessions has changed. To be called between commit and answer.
    pub(super) fn mark(&self, user: UserId) {
        self.counts[self.slot(user)].fetch_add(1, Ordering::AcqRel);
    }

    fn slot(&self, user: UserId) -> usize {
        self.slots.hash_one(user) as usize % Self::SLOTS
    }
}
