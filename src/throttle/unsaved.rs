//! Changes to accounts that are being saved to the store.

use super::accounts::{AccountChange, Accounts};

/// Changes that are being saved. Those that are not saved when this is dropped are returned by the next call.
#[must_use = "changes that are not saved are returned by the next call"]
pub struct UnsavedChanges<'a> {
    accounts: &'a Accounts,
    changes: Vec<AccountChange>,
    saved: usize,
}

impl<'a> UnsavedChanges<'a> {
    pub(super) fn new(accounts: &'a Accounts) -> Self {
        Self { accounts, changes: accounts.take_unsaved(), saved: 0 }
    }

    /// The next changes to save, at most `limit`; `None` if all are saved.
    pub fn next(&self, limit: usize) -> Option<&[AccountChange]> {
        self.changes[self.saved..].chunks(limit).next()
    }

    /// Marks the next `count` changes as saved.
    pub fn saved(&mut self, count: usize) {
        self.saved += count;
    }
}

impl Drop for UnsavedChanges<'_> {
    fn drop(&mut self) {
        self.accounts.keep_unsaved(&self.changes[self.saved..]);
    }
}
