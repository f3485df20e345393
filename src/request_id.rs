//! The id of a request, in its answer and in the log. It reveals nothing else.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The id of one request, in its answer and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// The hash of a counter, by a key that only this process knows, so that two ids do not reveal how many requests were
    /// between them. Asking the system for random bytes would cost more.
    pub fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEY.hash_one(COUNT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_do_not_reveal_how_many_requests_were_between() {
        let ids: Vec<_> = (0..1000).map(|_| RequestId::next().0).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let steps: HashSet<_> = ids.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
        assert!(steps.len() > 990, "the steps between ids differ");
    }
}
