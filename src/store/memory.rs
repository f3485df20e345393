//! A database with its keys in the memory of this process.

use std::{fmt, sync::Arc};

use super::{Error, Store};
use crate::token::memory_key_store::MemoryKeyStore;

/// A database and its keys in memory. Clones are the same database.
#[derive(Clone)]
pub struct MemoryDatabase {
    pub(crate) store: Arc<Store>,
    pub(crate) key_store: Arc<MemoryKeyStore>,
}

impl MemoryDatabase {
    /// An empty database that uses these keys.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn new(key_store: Arc<MemoryKeyStore>) -> Result<Self, Error> {
        Ok(Self { store: Arc::new(Store::in_memory()?), key_store })
    }
}

impl PartialEq for MemoryDatabase {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.store, &other.store)
    }
}

impl Eq for MemoryDatabase {}

impl fmt::Debug for MemoryDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryDatabase(…)")
    }
}
