//! A mailbox in memory that receives all mail, for tests of apps.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    clock::Timestamp,
    mail::{Composed, Contents, MailId},
};

/// A mail in a mailbox in memory.
#[derive(Clone)]
pub struct SentMail {
    pub id: MailId,
    pub to: String,
    pub created_at: Timestamp,
    pub contents: Contents,
}

/// All mail that was sent, in memory. Clones are the same mailbox.
#[derive(Clone, Default)]
pub struct MemoryMailbox {
    mails: Arc<Mutex<VecDeque<SentMail>>>,
}

impl MemoryMailbox {
    /// The most mails. Beyond it the oldest one is removed.
    const MAX_MAILS: usize = 10_000;

    pub(crate) fn put(&self, id: MailId, created_at: Timestamp, mail: &Composed) {
        let to = mail.envelope.to().first().map(ToString::to_string).unwrap_or_default();
        let mut mails = self.lock();
        if mails.len() == Self::MAX_MAILS {
            mails.pop_back();
        }
        mails.push_front(SentMail { id, to, created_at, contents: mail.contents.clone() });
    }

    /// All mail, the newest first.
    pub(crate) fn mails(&self) -> Vec<SentMail> {
        self.lock().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SentMail>> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for MemoryMailbox {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mails, &other.mails)
    }
}

impl Eq for MemoryMailbox {}

impl fmt::Debug for MemoryMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryMailbox(…)")
    }
}
