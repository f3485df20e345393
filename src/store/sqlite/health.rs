//! Whether writing works, as the thread that writes last saw it: told to whoever asks without asking the database.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::store::NotReady;

/// What may be wrong, each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ailment {
    /// The last group of writes found no space.
    DiskFull = 1,
    /// The last group of writes failed.
    CannotWrite = 2,
    /// The last checkpoint failed.
    CheckpointsFail = 4,
}

/// Written by one thread, read by all.
#[derive(Default)]
pub(super) struct Health {
    ailments: AtomicU8,
}

impl Health {
    /// True if it has not been so before.
    pub(super) fn set(&self, ailment: Ailment) -> bool {
        let before = self.ailments.fetch_or(ailment as u8, Ordering::Relaxed);
        before & ailment as u8 == 0
    }

    /// True if it has been so before.
    pub(super) fn clear(&self, ailment: Ailment) -> bool {
        let before = self.ailments.fetch_and(!(ailment as u8), Ordering::Relaxed);
        before & ailment as u8 != 0
    }

    pub(super) fn has(&self, ailment: Ailment) -> bool {
        self.ailments.load(Ordering::Relaxed) & ailment as u8 != 0
    }

    pub(super) fn is_good(&self) -> bool {
        self.ailments.load(Ordering::Relaxed) == 0
    }

    /// What to tell about it, the gravest first.
    pub(super) fn check(&self) -> Result<(), NotReady> {
        let told = [
            (Ailment::DiskFull, NotReady::DiskFull),
            (Ailment::CannotWrite, NotReady::CannotWrite),
            (Ailment::CheckpointsFail, NotReady::CheckpointsFail),
        ];
        let found = told.into_iter().find(|(ailment, _)| self.has(*ailment));
        found.map_or(Ok(()), |(_, told)| Err(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ailment_begins_and_ends_once() {
        let health = Health::default();
        assert!(health.is_good() && health.check().is_ok());
        assert!(health.set(Ailment::CheckpointsFail));
        assert!(health.set(Ailment::CannotWrite));
        assert!(!health.set(Ailment::CannotWrite));
        assert_eq!(health.check(), Err(NotReady::CannotWrite));
        assert!(health.clear(Ailment::CannotWrite));
        assert!(!health.clear(Ailment::CannotWrite));
        assert_eq!(health.check(), Err(NotReady::CheckpointsFail));
        assert!(health.clear(Ailment::CheckpointsFail));
        assert!(health.is_good());
    }
}
