//! Counters and histograms of plain atomics. Each room counts what it does; `metrics` reads them for a scrape.

use std::{
    array,
    marker::PhantomData,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How often something has happened.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add_one(&self) {
        self.add(1);
    }

    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Takes one event back, for what begins and ends.
    pub fn subtract_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A reason, an outcome or a kind. Its values are the values of a label, so they are few and known when the program is
/// compiled: nothing that a client sends becomes a label.
pub trait Label: Copy + 'static {
    const ALL: &'static [Self];

    /// The value in a metric.
    fn label(self) -> &'static str;

    /// The position in [`Self::ALL`].
    fn index(self) -> usize;
}

/// Implements [`Label`] for an enum without fields. A variant that is missing does not compile.
macro_rules! labels {
    ($type:ty { $($variant:ident => $label:literal),+ $(,)? }) => {
        impl $crate::count::Label for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label),+
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

pub(crate) use labels;

/// A counter for each of `N` labels.
#[derive(Debug)]
pub struct Counters<L, const N: usize> {
    counts: [Counter; N],
    label: PhantomData<fn(L)>,
}

impl<L: Label, const N: usize> Default for Counters<L, N> {
    fn default() -> Self {
        const { assert!(L::ALL.len() == N, "one counter for each label") };
        Self { counts: array::from_fn(|_| Counter::default()), label: PhantomData }
    }
}

impl<L: Label, const N: usize> Counters<L, N> {
    pub fn add_one(&self, label: L) {
        self.counts[label.index()].add_one();
    }

    pub fn value(&self, label: L) -> u64 {
        self.counts[label.index()].value()
    }

    /// Each label with its number of events.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        L::ALL.iter().map(|label| (label.label(), self.value(*label)))
    }
}

/// How long something takes: the number of times by upper bound, and their sum.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; Self::BOUNDS.len() + 1],
    sum_micros: AtomicU64,
}

impl Histogram {
    /// The upper bounds in seconds that OpenTelemetry advises for requests and for operations of a database.
    pub const BOUNDS: [f64; 14] =
        [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

    pub fn add(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = Self::BOUNDS.iter().take_while(|bound| seconds > **bound).count();
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// The numbers of times, each with its upper bound in seconds, not cumulated. The last bound is infinity.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = Self::BOUNDS.into_iter().chain([f64::INFINITY]);
        bounds.zip(self.buckets.each_ref().map(|count| count.load(Ordering::Relaxed))).collect()
    }

    /// The sum of all times in seconds.
    pub fn sum(&self) -> f64 {
        Duration::from_micros(self.sum_micros.load(Ordering::Relaxed)).as_secs_f64()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: array::from_fn(|_| AtomicU64::new(0)), sum_micros: AtomicU64::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_belongs_to_the_first_bound_that_it_does_not_exceed() {
        let times = Histogram::default();
        for millis in [0, 5, 6, 10_000, 10_001] {
            times.add(Duration::from_millis(millis));
        }
        let filled: Vec<_> = times.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.005, 2), (0.01, 1), (10.0, 1), (f64::INFINITY, 1)]);
        assert_eq!(times.sum(), 20.012);
    }

    #[test]
    fn each_label_has_its_own_count() {
        #[derive(Clone, Copy)]
        enum Fruit {
            Apple,
            Pear,
        }
        labels!(Fruit { Apple => "apple", Pear => "pear" });
        let eaten = Counters::<Fruit, 2>::default();
        eaten.add_one(Fruit::Pear);
        eaten.add_one(Fruit::Pear);
        assert_eq!(eaten.value(Fruit::Apple), 0);
        assert_eq!(eaten.values().collect::<Vec<_>>(), [("apple", 0), ("pear", 2)]);
    }
}
