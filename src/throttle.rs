//! How often somebody may try: budgets of failed logins per account and client, and of sign-ups per client.
//!
//! A try is paid for before the password is hashed, in one step, and paid back when it succeeds: however many
//! tries run side by side, no more are made than the budget holds.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    client::Client,
    user::{EmailKey, UserId},
};

/// Wait this long before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// When the budget holds one more try.
    pub retry_after: Duration,
}

/// The budgets of one running service.
pub struct Throttle {
    accounts: Budgets<u64>,
    visitors: Budgets<(u64, Client)>,
    all_visitors: Budgets<u64>,
    failures: Budgets<Client>,
    sign_ups: Budgets<Client>,
    refreshes: Budgets<u64>,
    /// Accounts are known by a keyed hash, so that the table holds no address and nobody can aim at a collision.
    keyed: RandomState,
}

impl Throttle {
    /// Every budget full.
    pub fn new() -> Self {
        Self {
            accounts: Budgets::new(250, Duration::from_secs(80)),
            visitors: Budgets::new(5, Duration::from_secs(720)),
            all_visitors: Budgets::new(90, Duration::from_secs(80)),
            failures: Budgets::new(600, Duration::from_secs(1)),
            sign_ups: Budgets::new(1000, Duration::from_millis(3600)),
            refreshes: Budgets::new(120, Duration::from_secs(30)),
            keyed: RandomState::new(),
        }
    }

    /// Pays for a login that may fail.
    ///
    /// An account whose budget is spent still admits a few tries from a client that has not failed on it before, out of
    /// a budget that all of these share: otherwise one client could lock the owner out. Together that is 2,500 tries in
    /// the first day.
    ///
    /// # Errors
    /// When the budget of the account or of the client is spent.
    pub fn login(
        &self,
        email: &EmailKey,
        client: Client,
        now: Instant,
    ) -> Result<Try<'_>, Throttled> {
        let account = self.keyed.hash_one(email.as_str());
        self.pay_for_failure(client, now)?;
        let paid = self.accounts.pay(account, now);
        let by_visitor = paid.is_err();
        if let Err(throttled) = paid {
            self.visitors.pay((account, client), now).map_err(|_| throttled)?;
            self.all_visitors.pay(account, now)?;
        }
        Ok(Try { throttle: self, account, client, by_visitor })
    }

    /// Pays for a reset code that may be wrong, from the client's budget of failed logins.
    ///
    /// # Errors
    /// When the budget of the client is spent.
    pub fn reset(&self, client: Client, now: Instant) -> Result<(), Throttled> {
        self.pay_for_failure(client, now)
    }

    /// Pays for a wrong secret of a program, from the client's budget of failed logins. A right one costs nothing: nobody
    /// guesses one, and whoever fails must not stop the others behind the same address.
    ///
    /// # Errors
    /// When the budget of the client is spent.
    pub fn wrong_secret(&self, client: Client, now: Instant) -> Result<(), Throttled> {
        self.pay_for_failure(client, now)
    }

    /// Pays for a sign-up.
    ///
    /// # Errors
    /// When the budget of the client is spent.
    pub fn sign_up(&self, client: Client, now: Instant) -> Result<(), Throttled> {
        if client.is_local() { Ok(()) } else { self.sign_ups.pay(client, now) }
    }

    /// Pays for another token of a user: everybody who verifies has to remember the one before it.
    ///
    /// # Errors
    /// When the budget of the user is spent.
    pub fn refresh(&self, user: UserId, now: Instant) -> Result<(), Throttled> {
        self.refreshes.pay(self.keyed.hash_one(user), now)
    }

    fn pay_for_failure(&self, client: Client, now: Instant) -> Result<(), Throttled> {
        if client.is_local() { Ok(()) } else { self.failures.pay(client, now) }
    }
}

impl Default for Throttle {
    fn default() -> Self {
        Self::new()
    }
}

/// A login that has been paid for.
#[must_use = "a successful try is paid back"]
pub struct Try<'a> {
    throttle: &'a Throttle,
    account: u64,
    client: Client,
    by_visitor: bool,
}

impl Try<'_> {
    /// The login did not fail, or never came to be: it costs nothing.
    pub fn pay_back(self) {
        let Self { throttle, account, client, by_visitor } = self;
        if by_visitor {
            throttle.visitors.pay_back((account, client));
            throttle.all_visitors.pay_back(account);
        } else {
            throttle.accounts.pay_back(account);
        }
        if !client.is_local() {
            throttle.failures.pay_back(client);
        }
    }
}

/// Token buckets, one a key. A key without a bucket has its full budget.
struct Budgets<K> {
    burst: u32,
    /// One more try is earned in this time.
    refill: Duration,
    spent: Mutex<HashMap<K, Bucket>>,
}

/// `spent` tries as of `since`; earned ones are taken off when it is next looked at.
struct Bucket {
    spent: u32,
    since: Instant,
}

impl<K: Eq + Hash + Copy> Budgets<K> {
    /// Buckets kept at most. Beyond it those least spent are forgotten, never those of an attack.
    const MAX_BUCKETS: usize = 100_000;

    fn new(burst: u32, refill: Duration) -> Self {
        Self { burst, refill, spent: Mutex::new(HashMap::new()) }
    }

    fn pay(&self, key: K, now: Instant) -> Result<(), Throttled> {
        let mut buckets = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= Self::MAX_BUCKETS && !buckets.contains_key(&key) {
            self.forget_the_least_spent(&mut buckets, now);
            if buckets.len() >= Self::MAX_BUCKETS {
                return Err(Throttled { retry_after: self.refill });
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { spent: 0, since: now });
        self.earn(bucket, now);
        if bucket.spent < self.burst {
            bucket.spent += 1;
            Ok(())
        } else {
            let waited = now.saturating_duration_since(bucket.since);
            Err(Throttled { retry_after: self.refill.saturating_sub(waited) })
        }
    }

    fn pay_back(&self, key: K) {
        let mut buckets = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(&key) {
            bucket.spent = bucket.spent.saturating_sub(1);
            if bucket.spent == 0 {
                buckets.remove(&key);
            }
        }
    }

    fn earn(&self, bucket: &mut Bucket, now: Instant) {
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
        buckets.values_mut().for_each(|bucket| self.earn(bucket, now));
        for least in 0..self.burst {
            buckets.retain(|_, bucket| bucket.spent > least);
            if buckets.len() < Self::MAX_BUCKETS / 2 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> Client {
        Client::at([192, 0, 2, last].into())
    }

    fn tries(throttle: &Throttle, email: &str, client: Client, now: Instant, most: usize) -> usize {
        (0..most).take_while(|_| throttle.login(&EmailKey::of(email), client, now).is_ok()).count()
    }

    #[test]
    fn an_account_has_one_budget_however_its_address_is_spelt() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        let local = Client::at([127, 0, 0, 1].into());
        assert_eq!(tries(&throttle, "ada@example.com", local, now, 200), 200);
        assert_eq!(tries(&throttle, "ADA@Example.com", local, now, 200), 50 + 5);
        let Err(throttled) = throttle.login(&EmailKey::of("ada@example.COM"), local, now) else {
            panic!("the budget is spent");
        };
        assert_eq!(throttled.retry_after, Duration::from_secs(80));
    }

    #[test]
    fn a_budget_is_earned_back_with_time() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let local = Client::at([127, 0, 0, 1].into());
        tries(&throttle, "ada@example.com", local, start, 1000);
        let later = start + Duration::from_secs(160);
        assert_eq!(tries(&throttle, "ada@example.com", local, later, 1000), 2);
        let next_day = start + Duration::from_secs(24 * 3600);
        assert_eq!(tries(&throttle, "ada@example.com", local, next_day, 1000), 250 + 5);
    }

    #[test]
    fn spending_the_budget_of_an_account_does_not_lock_its_owner_out() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        tries(&throttle, "ada@example.com", client(1), now, 1000);
        assert_eq!(tries(&throttle, "ada@example.com", client(1), now, 1), 0);
        assert_eq!(tries(&throttle, "ada@example.com", client(2), now, 1), 1);
    }

    #[test]
    fn no_number_of_clients_has_more_than_2500_tries_on_an_account_in_a_day() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let mut made = 0;
        for minute in 0..24 * 60 {
            let now = start + Duration::from_secs(60 * minute);
            for network in 0..100 {
                let fresh =
                    Client::at([10, network, (minute / 250) as u8, (minute % 250) as u8].into());
                made += tries(&throttle, "ada@example.com", fresh, now, 5);
            }
        }
        assert!((2000..=2500).contains(&made), "{made}");
    }

    #[test]
    fn a_successful_login_costs_nothing() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        for _ in 0..2000 {
            let email = EmailKey::of("ada@example.com");
            let Ok(paid) = throttle.login(&email, client(1), now) else { panic!("throttled") };
            paid.pay_back();
        }
    }

    #[test]
    fn a_client_has_600_failures_over_all_accounts_and_loopback_any_number() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        let spread = |client| {
            (0..1000)
                .take_while(|n| tries(&throttle, &format!("u{n}@example.com"), client, now, 1) == 1)
                .count()
        };
        assert_eq!(spread(client(1)), 600);
        assert_eq!(spread(client(2)), 600);
        assert_eq!(spread(Client::at([127, 0, 0, 1].into())), 1000);
    }

    #[test]
    fn reset_codes_and_logins_of_a_client_share_its_600_failures() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        assert_eq!((0..1000).take_while(|_| throttle.reset(client(1), now).is_ok()).count(), 600);
        assert_eq!(tries(&throttle, "ada@example.com", client(1), now, 1), 0);
        assert!(throttle.reset(client(2), now).is_ok());
        let local = Client::at([127, 0, 0, 1].into());
        assert!((0..1000).all(|_| throttle.reset(local, now).is_ok()));
    }

    #[test]
    fn a_client_may_sign_up_1000_users_in_a_burst_and_loopback_any_number() {
        let (throttle, now) = (Throttle::new(), Instant::now());
        let sign_ups =
            |client| (0..2000).take_while(|_| throttle.sign_up(client, now).is_ok()).count();
        assert_eq!(sign_ups(client(1)), 1000);
        assert_eq!(sign_ups(Client::at([127, 0, 0, 1].into())), 2000);
    }

    #[test]
    fn a_flood_of_keys_is_bounded_and_does_not_refill_a_spent_budget() {
        let (budgets, now) = (Budgets::<u32>::new(3, Duration::from_secs(60)), Instant::now());
        while budgets.pay(0, now).is_ok() {}
        for key in 1..250_000 {
            let _ = budgets.pay(key, now);
        }
        assert!(budgets.spent.lock().unwrap().len() <= Budgets::<u32>::MAX_BUCKETS);
        assert!(budgets.pay(0, now).is_err());
    }
}
