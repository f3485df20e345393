//! The sizes of the database, counted again when that is cheap enough.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::Doorward;
use crate::{
    clock::Timestamp,
    store::{Sizes, Store},
};

/// Sizes, and when and how fast they were counted.
#[derive(Clone, Copy)]
struct Measured {
    sizes: Sizes,
    at: Instant,
    took: Duration,
}

impl Measured {
    /// Counting takes at most a hundredth of the time of one connection.
    const PAUSE_FACTOR: u32 = 100;

    fn is_current(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < self.took * Self::PAUSE_FACTOR
    }
}

/// The last sizes that were counted.
#[derive(Default)]
pub(super) struct LastSizes(Mutex<Option<Measured>>);

impl LastSizes {
    /// The sizes. Counts again after a pause that depends on how long the last count took. While the database cannot be read,
    /// the last ones stay.
    async fn refresh(&self, store: &Store, now: Timestamp) -> Option<Measured> {
        let mut last = self.0.lock().await;
        let began = Instant::now();
        if !last.is_some_and(|measured| measured.is_current(began))
            && let Ok(sizes) = store.sizes(now).await
        {
            let at = Instant::now();
            *last = Some(Measured { sizes, at, took: at - began });
        }
        *last
    }
}

impl Doorward {
    /// How much the database holds, as of some moments ago. `None` if it has not been read yet and cannot be.
    pub(crate) async fn sizes(&self) -> Option<Sizes> {
        Some(self.inner.last_sizes.refresh(self.store(), self.now()).await?.sizes)
    }

    /// How much the database holds, and when that was counted.
    pub(crate) async fn sizes_at(&self) -> Option<(Sizes, Timestamp)> {
        let measured = self.inner.last_sizes.refresh(self.store(), self.now()).await?;
        Some((measured.sizes, self.now() - measured.at.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_repeated_after_a_hundred_times_its_duration() {
        let (at, took) = (Instant::now(), Duration::from_millis(20));
        let measured = Measured { sizes: Sizes::default(), at, took };
        assert!(measured.is_current(at + Duration::from_millis(1999)));
        assert!(!measured.is_current(at + Duration::from_millis(2000)));
    }
}
