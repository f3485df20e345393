//! A right answer to a challenge, until it is written.

use std::time::Instant;

use super::budget::Budgets;

/// A right answer to a challenge. It is charged when it is dropped, so that it counts also if its client has left before the outcome.
#[must_use]
pub struct RightAnswer<'a> {
    budgets: &'a Budgets<u64>,
    key: u64,
    now: Instant,
    is_refused: bool,
}

impl<'a> RightAnswer<'a> {
    pub(super) fn new(budgets: &'a Budgets<u64>, key: u64, now: Instant) -> Self {
        Self { budgets, key, now, is_refused: false }
    }

    /// Nothing was written.
    pub fn refused(mut self) {
        self.is_refused = true;
    }
}

impl Drop for RightAnswer<'_> {
    fn drop(&mut self) {
        if !self.is_refused {
            self.budgets.count(self.key, self.now);
        }
    }
}
