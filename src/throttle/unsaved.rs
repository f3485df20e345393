//! Changes to accounts on their way to the store.

use super::accounts::{AccountChange, Accounts};

/// Changes that are being saved. Those that have not been saved when this is dropped are taken again next time.
#[must_use = "changes that are not saved are taken again next time"]
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
