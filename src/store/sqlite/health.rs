//! The health of the database as the writer thread last saw it, readable without a query.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::store::NotReady;

/// A problem of the database. Several can exist at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Problem {
    /// The last group of writes failed because the disk was full.
    DiskFull = 1,
    /// The last group of writes failed.
    CannotWrite = 2,
    /// The last checkpoint failed.
    CheckpointsFail = 4,
}

/// The current problems: written by one thread, read by all.
#[derive(Default)]
pub(super) struct Health {
    problems: AtomicU8,
}

impl Health {
    /// Adds a problem. Returns true if it is new.
    pub(super) fn set(&self, problem: Problem) -> bool {
        let before = self.problems.fetch_or(problem as u8, Ordering::Relaxed);
        before & problem as u8 == 0
    }

    /// Removes a problem. Returns true if it existed.
    pub(super) fn clear(&self, problem: Problem) -> bool {
        let before = self.problems.fetch_and(!(problem as u8), Ordering::Relaxed);
        before & problem as u8 != 0
    }

    pub(super) fn has(&self, problem: Problem) -> bool {
        self.problems.load(Ordering::Relaxed) & problem as u8 != 0
    }

    pub(super) fn is_good(&self) -> bool {
        self.problems.load(Ordering::Relaxed) == 0
    }

    /// Returns the most serious problem as an error.
    pub(super) fn check(&self) -> Result<(), NotReady> {
        let by_severity = [
            (Problem::DiskFull, NotReady::DiskFull),
            (Problem::CannotWrite, NotReady::CannotWrite),
            (Problem::CheckpointsFail, NotReady::CheckpointsFail),
        ];
        let found = by_severity.into_iter().find(|(problem, _)| self.has(*problem));
        found.map_or(Ok(()), |(_, reason)| Err(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_is_set_and_cleared_once() {
        let health = Health::default();
        assert!(health.is_good() && health.check().is_ok());
        assert!(health.set(Problem::CheckpointsFail));
        assert!(health.set(Problem::CannotWrite));
        assert!(!health.set(Problem::CannotWrite));
        assert_eq!(health.check(), Err(NotReady::CannotWrite));
        assert!(health.clear(Problem::CannotWrite));
        assert!(!health.clear(Problem::CannotWrite));
        assert_eq!(health.check(), Err(NotReady::CheckpointsFail));
        assert!(health.clear(Problem::CheckpointsFail));
        assert!(health.is_good());
    }
}
