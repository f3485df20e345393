//! Token buckets in memory: one for each key, or one for each network that contains an address.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::network::{Network, Prefix};

/// Token buckets, one for each key. A key without a bucket has its whole budget.
pub(super) struct Budgets<K> {
    burst: u32,
    /// One charge expires after this time.
    refill_interval: Duration,
    buckets: Mutex<HashMap<K, Bucket>>,
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetUsage {
    /// The charges that count now.
    pub used: u32,
    /// The most charges.
    pub size: u32,
    /// When none of them counts any more.
    pub recovers_in: Duration,
}

/// `spent` charges at the time `since`. Those that expire after it are subtracted at the next access.
struct Bucket {
    spent: u32,
    since: Instant,
}

impl<K: Eq + Hash + Copy> Budgets<K> {
    /// The maximum number of buckets. Beyond it those with the fewest charges are evicted, so that an attack cannot evict
    /// its own. If all are exhausted, the older half is evicted, so that a flood of keys does not refuse everybody else.
    const MAX_BUCKETS: usize = 100_000;

    pub(super) fn new(burst: u32, refill_interval: Duration) -> Self {
        Self { burst, refill_interval, buckets: Mutex::new(HashMap::new()) }
    }

    /// Charges the budget of a key, or returns how long to wait for one more charge. Returns the number of earlier charges that
    /// have not expired.
    pub(super) fn charge(&self, key: K, now: Instant) -> Result<u32, Duration> {
        self.charge_scaled(key, 1, now)
    }

    /// Charges a budget that is `size` times as large as others.
    fn charge_scaled(&self, key: K, size: u32, now: Instant) -> Result<u32, Duration> {
        let mut buckets = self.buckets();
        let bucket = self.bucket(&mut buckets, key, now);
        if bucket.spent < self.burst.saturating_mul(size) {
            bucket.spent += 1;
            Ok(bucket.spent - 1)
        } else {
            let waited = now.saturating_duration_since(bucket.since);
            Err(self.refill_interval.saturating_sub(waited))
        }
    }

    /// Charges nothing. Returns how long to wait for one more charge, if the budget is exhausted.
    pub(super) fn check(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets();
        let Some(bucket) = buckets.get_mut(&key) else { return Ok(()) };
        self.refill(bucket, now);
        let Some(excess) = bucket.spent.checked_sub(self.burst) else { return Ok(()) };
        let waited = now.saturating_duration_since(bucket.since);
        Err((self.refill_interval * (excess + 1)).saturating_sub(waited))
    }

    /// Charges the budget of a key, also if it is exhausted.
    pub(super) fn count(&self, key: K, now: Instant) {
        let mut buckets = self.buckets();
        let bucket = self.bucket(&mut buckets, key, now);
        bucket.spent = bucket.spent.saturating_add(1);
    }

    /// The bucket of a key as it is at this time.
    fn bucket<'a>(
        &self,
        buckets: &'a mut HashMap<K, Bucket>,
        key: K,
        now: Instant,
    ) -> &'a mut Bucket {
        if buckets.len() >= Self::MAX_BUCKETS && !buckets.contains_key(&key) {
            self.evict_least_charged(buckets, now);
        }
        let bucket = buckets.entry(key).or_insert(Bucket { spent: 0, since: now });
        self.refill(bucket, now);
        bucket
    }

    pub(super) fn refund(&self, key: K) {
        let mut buckets = self.buckets();
        if let Some(bucket) = buckets.get_mut(&key) {
            bucket.spent = bucket.spent.saturating_sub(1);
            if bucket.spent == 0 {
                buckets.remove(&key);
            }
        }
    }

    /// Resets the budgets of all keys for which this holds.
    pub(super) fn clear_all(&self, holds: impl Fn(&K) -> bool) {
        self.buckets().retain(|key, _| !holds(key));
    }

    /// The used budgets of all keys for which this holds.
    pub(super) fn usage(&self, holds: impl Fn(&K) -> bool, now: Instant) -> Vec<(K, BudgetUsage)> {
        let mut buckets = self.buckets();
        let mut found = Vec::new();
        for (key, bucket) in buckets.iter_mut().filter(|(key, _)| holds(key)) {
            self.refill(bucket, now);
            if bucket.spent > 0 {
                let recovered_at = bucket.since + self.refill_interval * bucket.spent;
                let recovers_in = recovered_at.saturating_duration_since(now);
                let usage = BudgetUsage { used: bucket.spent, size: self.burst, recovers_in };
                found.push((*key, usage));
            }
        }
        found
    }

    /// Resets the budget of a key.
    pub(super) fn clear(&self, key: K) {
        self.buckets().remove(&key);
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<K, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refill(&self, bucket: &mut Bucket, now: Instant) {
        let waited = now.saturating_duration_since(bucket.since);
        let expired = waited.as_nanos() / self.refill_interval.as_nanos();
        let expired = u32::try_from(expired).unwrap_or(u32::MAX);
        if expired >= bucket.spent {
            *bucket = Bucket { spent: 0, since: now };
        } else {
            bucket.spent -= expired;
            bucket.since += self.refill_interval * expired;
        }
    }

    fn evict_least_charged(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.values_mut().for_each(|bucket| self.refill(bucket, now));
        for least in 0..self.burst {
            buckets.retain(|_, bucket| bucket.spent > least);
            if buckets.len() < Self::MAX_BUCKETS / 2 {
                return;
            }
        }
        let mut since: Vec<_> = buckets.values().map(|bucket| bucket.since).collect();
        let middle = since.len() / 2;
        let middle = *since.select_nth_unstable(middle).1;
        buckets.retain(|_, bucket| bucket.since > middle);
    }
}

/// Budgets of networks. A charge to a network is also one to the wider networks that contain it. A wider network has a
/// larger budget, but less than the sum of its parts: the holder of a /48 does not get 65,536 budgets.
pub(super) struct NetworkBudgets<K>(Budgets<(K, Prefix)>);

impl<K: Eq + Hash + Copy> NetworkBudgets<K> {
    pub(super) fn new(burst: u32, refill_interval: Duration) -> Self {
        Self(Budgets::new(burst, refill_interval))
    }

    /// Charges the budgets of all networks that contain this one, or none of them. Returns the number of earlier charges of the
    /// widest one.
    pub(super) fn charge(&self, key: K, network: Network, now: Instant) -> Result<u32, Duration> {
        let (networks, mut earlier) = (network.enclosing(), 0);
        for (charged, (network, size)) in networks.iter().enumerate() {
            match self.0.charge_scaled((key, *network), *size, now) {
                Ok(count) => earlier = count,
                Err(wait) => {
                    let charged = networks[..charged].iter();
                    charged.for_each(|(network, _)| self.0.refund((key, *network)));
                    return Err(wait);
                }
            }
        }
        Ok(earlier)
    }

    pub(super) fn refund(&self, key: K, network: Network) {
        network.enclosing().iter().for_each(|(network, _)| self.0.refund((key, *network)));
    }

    /// Resets the budgets of a key in all networks.
    pub(super) fn clear_key(&self, key: K) {
        self.0.clear_all(|(charged, _)| *charged == key);
    }

    /// The used budgets of a key in all networks.
    pub(super) fn usage(&self, key: K, now: Instant) -> Vec<(Prefix, BudgetUsage)> {
        let used = self.0.usage(|(charged, _)| *charged == key, now);
        let scaled = |((_, network), usage): ((K, Prefix), BudgetUsage)| {
            let size = usage.size.saturating_mul(network.budget_factor());
            (network, BudgetUsage { size, ..usage })
        };
        used.into_iter().map(scaled).collect()
    }

    pub(super) fn clear(&self, key: K, network: Network) {
        network.enclosing().iter().for_each(|(network, _)| self.0.clear((key, *network)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn a_flood_of_keys_is_bounded_and_does_not_reset_an_exhausted_budget() {
        let (budgets, now) = (Budgets::<u32>::new(3, Duration::from_secs(60)), Instant::now());
        while budgets.charge(0, now).is_ok() {}
        for key in 1..250_000 {
            let _ = budgets.charge(key, now);
        }
        assert!(budgets.buckets().len() <= Budgets::<u32>::MAX_BUCKETS);
        assert!(budgets.charge(0, now).is_err());
    }

    #[test]
    fn what_exceeds_a_budget_recovers_before_the_next_charge() {
        let minute = Duration::from_secs(60);
        let (budgets, start) = (Budgets::<u32>::new(3, minute), Instant::now());
        for _ in 0..2 {
            budgets.count(0, start);
            assert_eq!(budgets.check(0, start), Ok(()));
        }
        // Several that were checked at the same time.
        (0..3).for_each(|_| budgets.count(0, start));
        assert_eq!(budgets.check(0, start), Err(3 * minute));
        assert_eq!(budgets.check(0, start + minute / 2), Err(2 * minute + minute / 2));
        assert_eq!(budgets.check(0, start + 3 * minute), Ok(()));
        assert_eq!(budgets.check(1, start), Ok(()), "each key has a budget");
    }

    #[test]
    fn a_flood_of_keys_with_budgets_of_one_does_not_refuse_other_keys() {
        let minute = Duration::from_secs(60);
        let (budgets, start) = (Budgets::<u32>::new(1, minute), Instant::now());
        for key in 0..250_000 {
            let now = start + Duration::from_nanos(key.into());
            assert_eq!(budgets.charge(key, now), Ok(0), "{key}");
            assert!(budgets.buckets().len() <= Budgets::<u32>::MAX_BUCKETS);
        }
        assert!(budgets.charge(249_999, start + minute / 2).is_err());
    }

    #[test]
    fn networks_of_one_subscriber_share_the_budgets_of_their_56_and_48() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(20, Duration::from_secs(60)), Instant::now());
        let mut charged = 0;
        for subnet in 0..0x1000 {
            let network = network(&format!("2001:db8:0:{subnet:x}::1"));
            charged += (0..50).take_while(|_| budgets.charge((), network, now).is_ok()).count();
            let expected = match subnet {
                0 => 20,
                1..0x100 => 40,
                0x100 => 60,
                _ => 80,
            };
            assert_eq!(charged, expected, "after subnet {subnet:x}");
        }
        assert!(budgets.charge((), network("2001:db8:1::1"), now).is_ok(), "another /48");
    }

    #[test]
    fn if_one_network_refuses_none_is_charged() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(1, Duration::from_secs(60)), Instant::now());
        for subnet in 0..2 {
            budgets.charge((), network(&format!("2001:db8:0:{subnet}::")), now).unwrap();
        }
        let third = network("2001:db8:0:2::");
        for _ in 0..10 {
            budgets.charge((), third, now).unwrap_err();
        }
        // One charge of the /56 is refunded, and the refusals have not charged the /64.
        budgets.refund((), network("2001:db8:0:0::"));
        budgets.charge((), third, now).unwrap();
    }

    #[test]
    fn each_ipv4_address_has_its_own_budget() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(2, Duration::from_secs(60)), Instant::now());
        for last in 0..100 {
            let network = network(&format!("192.0.2.{last}"));
            assert_eq!((0..5).take_while(|_| budgets.charge((), network, now).is_ok()).count(), 2);
        }
    }
}
