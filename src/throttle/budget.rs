//! Token buckets in memory: one for each key, or one for each network that a client lies in.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::network::{Network, Prefix};

/// Token buckets, one for each key. A key without a bucket has its full budget.
pub(super) struct Budgets<K> {
    burst: u32,
    /// One more payment is possible after this time.
    refill: Duration,
    spent: Mutex<HashMap<K, Bucket>>,
}

/// `spent` payments as of `since`; refilled ones are subtracted at the next look.
struct Bucket {
    spent: u32,
    since: Instant,
}

impl<K: Eq + Hash + Copy> Budgets<K> {
    /// Buckets kept at most. Beyond it those least spent are forgotten, never those of an attack.
    const MAX_BUCKETS: usize = 100_000;

    pub(super) fn new(burst: u32, refill: Duration) -> Self {
        Self { burst, refill, spent: Mutex::new(HashMap::new()) }
    }

    /// Pays from the budget of a key, or tells how long to wait for one more payment.
    pub(super) fn pay(&self, key: K, now: Instant) -> Result<(), Duration> {
        self.pay_from(key, 1, now)
    }

    /// Pays from a budget that holds `size` times as much as others.
    fn pay_from(&self, key: K, size: u32, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets();
        if buckets.len() >= Self::MAX_BUCKETS && !buckets.contains_key(&key) {
            self.forget_the_least_spent(&mut buckets, now);
            if buckets.len() >= Self::MAX_BUCKETS {
                return Err(self.refill);
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { spent: 0, since: now });
        self.refill(bucket, now);
        if bucket.spent < self.burst.saturating_mul(size) {
            bucket.spent += 1;
            Ok(())
        } else {
            let waited = now.saturating_duration_since(bucket.since);
            Err(self.refill.saturating_sub(waited))
        }
    }

    pub(super) fn pay_back(&self, key: K) {
        let mut buckets = self.buckets();
        if let Some(bucket) = buckets.get_mut(&key) {
            bucket.spent = bucket.spent.saturating_sub(1);
            if bucket.spent == 0 {
                buckets.remove(&key);
            }
        }
    }

    /// Gives a key its full budget again.
    pub(super) fn clear(&self, key: K) {
        self.buckets().remove(&key);
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<K, Bucket>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refill(&self, bucket: &mut Bucket, now: Instant) {
        let waited = now.saturating_duration_since(bucket.since);
        let earned = u32::try_from(waited.as_nanos() / self.refill.as_nanos()).unwrap_or(u32::MAX);
        if earned >= bucket.spent {
            *bucket = Bucket { spent: 0, since: now };
        } else {
            bucket.spent -= earned;
            bucket.since += self.refill * earned;
        }
    }

    fn forget_the_least_spent(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.values_mut().for_each(|bucket| self.refill(bucket, now));
        for least in 0..self.burst {
            buckets.retain(|_, bucket| bucket.spent > least);
            if buckets.len() < Self::MAX_BUCKETS / 2 {
                return;
            }
        }
    }
}

/// Budgets of networks, each of which also pays from the wider networks that it lies in. A wider network has a larger
/// budget, but less than the sum of its parts: whoever holds a /48 does not get 65,536 budgets.
pub(super) struct NetworkBudgets<K>(Budgets<(K, Prefix)>);

impl<K: Eq + Hash + Copy> NetworkBudgets<K> {
    pub(super) fn new(burst: u32, refill: Duration) -> Self {
        Self(Budgets::new(burst, refill))
    }

    /// Pays from the budgets of all networks that the client lies in, or from none of them.
    pub(super) fn pay(&self, key: K, client: Network, now: Instant) -> Result<(), Duration> {
        let networks = client.networks();
        for (paid, (network, size)) in networks.iter().enumerate() {
            if let Err(wait) = self.0.pay_from((key, *network), *size, now) {
                networks[..paid].iter().for_each(|(network, _)| self.0.pay_back((key, *network)));
                return Err(wait);
            }
        }
        Ok(())
    }

    pub(super) fn pay_back(&self, key: K, client: Network) {
        client.networks().iter().for_each(|(network, _)| self.0.pay_back((key, *network)));
    }

    pub(super) fn clear(&self, key: K, client: Network) {
        client.networks().iter().for_each(|(network, _)| self.0.clear((key, *network)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Network {
        Network::at(address.parse().unwrap())
    }

    #[test]
    fn a_flood_of_keys_is_bounded_and_does_not_refill_a_spent_budget() {
        let (budgets, now) = (Budgets::<u32>::new(3, Duration::from_secs(60)), Instant::now());
        while budgets.pay(0, now).is_ok() {}
        for key in 1..250_000 {
            let _ = budgets.pay(key, now);
        }
        assert!(budgets.buckets().len() <= Budgets::<u32>::MAX_BUCKETS);
        assert!(budgets.pay(0, now).is_err());
    }

    #[test]
    fn networks_of_one_subscriber_share_the_budgets_of_their_56_and_48() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(20, Duration::from_secs(60)), Instant::now());
        let mut made = 0;
        for subnet in 0..0x1000 {
            let client = client(&format!("2001:db8:0:{subnet:x}::1"));
            made += (0..50).take_while(|_| budgets.pay((), client, now).is_ok()).count();
            let expected = match subnet {
                0 => 20,
                1..0x100 => 40,
                0x100 => 60,
                _ => 80,
            };
            assert_eq!(made, expected, "after subnet {subnet:x}");
        }
        assert!(budgets.pay((), client("2001:db8:1::1"), now).is_ok(), "another /48");
    }

    #[test]
    fn whichever_network_refuses_nothing_is_paid() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(1, Duration::from_secs(60)), Instant::now());
        for subnet in 0..2 {
            budgets.pay((), client(&format!("2001:db8:0:{subnet}::")), now).unwrap();
        }
        let third = client("2001:db8:0:2::");
        for _ in 0..10 {
            budgets.pay((), third, now).unwrap_err();
        }
        // One payment of the /56 comes back, and the /64 has not paid for any of the refusals.
        budgets.pay_back((), client("2001:db8:0:0::"));
        budgets.pay((), third, now).unwrap();
    }

    #[test]
    fn an_ipv4_address_pays_by_itself() {
        let (budgets, now) =
            (NetworkBudgets::<()>::new(2, Duration::from_secs(60)), Instant::now());
        for last in 0..100 {
            let client = client(&format!("192.0.2.{last}"));
            assert_eq!((0..5).take_while(|_| budgets.pay((), client, now).is_ok()).count(), 2);
        }
    }
}
