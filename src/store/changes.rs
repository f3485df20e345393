//! Tells, without asking the database, whether what was read about a user may be out of date.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::user::UserId;

/// Counts changes to users and their sessions, in a fixed number of slots: users who share a slot only cost each
/// other a look-up.
pub struct Changes {
    counts: Box<[AtomicU64]>,
    slots: RandomState,
    /// None where nobody else writes.
    others: Option<Others>,
}

/// What is known of those who write to the same database.
struct Others {
    began: Instant,
    /// When the database last told what they had changed: milliseconds after `began`.
    heard_at: AtomicU64,
    is_away: AtomicBool,
    grace: Duration,
}

/// How far what is remembered can be relied upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// Nobody else changes anything.
    Embedded,
    /// What others change is heard of.
    Connected,
    /// The database is away, not yet for too long.
    Unreachable,
    /// Nothing has been heard for too long.
    Stale,
}

/// The state of a user at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    slot: usize,
    count: u64,
}

impl Changes {
    const SLOTS: usize = 4096;

    /// For a database that nobody else writes to.
    pub(super) fn alone() -> Self {
        Self {
            counts: (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            slots: RandomState::new(),
            others: None,
        }
    }

    /// For a database that others write to as well, and that may be away for some time.
    pub(super) fn shared(grace: Duration) -> Self {
        /// From the last answer before an outage to its beginning, and from its end to the next answer.
        const TO_NOTICE: Duration = Duration::from_secs(5);
        let grace = grace + TO_NOTICE;
        let (heard_at, is_away) = (AtomicU64::new(0), AtomicBool::new(false));
        let others = Others { began: Instant::now(), heard_at, is_away, grace };
        Self { others: Some(others), ..Self::alone() }
    }

    /// How far what is remembered can be relied upon.
    pub fn connectivity(&self) -> Connectivity {
        let Some(others) = &self.others else { return Connectivity::Embedded };
        let heard_at = Duration::from_millis(others.heard_at.load(Ordering::Acquire));
        if others.began.elapsed().saturating_sub(heard_at) > others.grace {
            Connectivity::Stale
        } else if others.is_away.load(Ordering::Acquire) {
            Connectivity::Unreachable
        } else {
            Connectivity::Connected
        }
    }

    /// Notes that the database has told all that others have changed.
    pub(super) fn heard(&self) {
        if let Some(others) = &self.others {
            let millis = u64::try_from(others.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            others.heard_at.store(millis, Ordering::Release);
            others.is_away.store(false, Ordering::Release);
        }
    }

    /// Notes that the database does not answer.
    pub(super) fn heard_nothing(&self) {
        if let Some(others) = &self.others {
            others.is_away.store(true, Ordering::Release);
        }
    }

    /// Notes that anybody may have changed.
    pub(super) fn mark_all(&self) {
        for count in &self.counts {
            count.fetch_add(1, Ordering::AcqRel);
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
