//! Consecutive failed logins on each account. They are counted in memory and saved in the background, so that no login
//! waits for the store. Failures that other instances have saved are merged.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    account_key::{AccountKey, AccountSecret, Counted},
    budget::BudgetUsage,
};
use crate::clock::Timestamp;

/// The changes to an account since it was last saved: a success, if any, and the failures after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountChange {
    pub account: AccountKey,
    /// Whether the owner has logged in, which clears earlier failures.
    pub cleared: bool,
    /// Failed logins since then.
    pub failures: u32,
}

/// When all failed logins of an account have expired, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFailures {
    pub account: AccountKey,
    /// When its budget is unused again. Of a mark: when an operator has unlocked the account.
    pub recovered_at: Timestamp,
    /// Whether this is the mark of an operator, which tells other instances to forget the failures on the account.
    pub is_unlock: bool,
}

impl StoredFailures {
    /// What follows the key of an account in the key of a mark.
    const UNLOCK: u8 = b'u';

    /// What a database has stored; `None` if the key is neither that of an account nor that of a mark.
    pub fn from_store(key: &[u8], recovered_at: Timestamp) -> Option<Self> {
        let (key, is_unlock) = match key.split_last() {
            Some((&Self::UNLOCK, account)) if account.len() == AccountKey::BYTES => (account, true),
            _ => (key, false),
        };
        let account = AccountKey::from_store(key)?;
        Some(Self { account, recovered_at, is_unlock })
    }

    /// The key of the mark of an account.
    pub fn unlock_key(account: AccountKey) -> Vec<u8> {
        [account.as_bytes(), &[Self::UNLOCK]].concat()
    }
}

/// The budgets of all accounts.
pub(super) struct Accounts {
    burst: u32,
    /// One failure expires after this time.
    recovery: Duration,
    secret: AccountSecret,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// An account without an entry has its whole budget.
    accounts: HashMap<AccountKey, Account>,
    unsaved: HashMap<AccountKey, AccountChange>,
    /// Accounts that recover before this time were evicted.
    evicted_before: Option<Instant>,
}

/// The budget is unused at `recovered_at`. Each failure postpones that by one recovery time.
#[derive(Clone, Copy)]
struct Account {
    recovered_at: Instant,
    /// Logins that have been charged and have no outcome yet.
    pending: u32,
}

impl Accounts {
    /// The maximum number of accounts. Beyond it those that recover first are evicted.
    pub(super) const MAX_ACCOUNTS: usize = 100_000;

    /// The clocks of instances may differ by this much without reducing a budget.
    const CLOCK_TOLERANCE: Duration = Duration::from_secs(1);

    pub(super) fn new(burst: u32, recovery: Duration, secret: &AccountSecret) -> Self {
        Self { burst, recovery, secret: secret.clone(), table: Mutex::default() }
    }

    pub(super) fn key_of(&self, counted: Counted<'_>) -> AccountKey {
        self.secret.key_of(counted)
    }

    /// Charges a login, or returns how long to wait.
    pub(super) fn charge(&self, account: AccountKey, now: Instant) -> Result<(), Duration> {
        let mut table = self.table();
        if !table.accounts.contains_key(&account) {
            table.make_room();
        }
        let unused = Account { recovered_at: now, pending: 0 };
        let entry = table.accounts.entry(account).or_insert(unused);
        let spent = entry.recovered_at.saturating_duration_since(now);
        let budget = self.recovery * self.burst + Self::CLOCK_TOLERANCE;
        let needed = |pending: u32| spent + self.recovery * (pending + 1);
        if needed(entry.pending) <= budget {
            entry.pending += 1;
            return Ok(());
        }
        // Pending logins end soon and may succeed.
        let budget = self.recovery * self.burst;
        Err(needed(0).saturating_sub(budget).max(Duration::from_secs(1)))
    }

    /// Records that a charged login has failed.
    pub(super) fn fail(&self, account: AccountKey, charged_at: Instant) {
        let mut table = self.table();
        let unused = Account { recovered_at: charged_at, pending: 0 };
        let entry = table.accounts.entry(account).or_insert(unused);
        entry.pending = entry.pending.saturating_sub(1);
        entry.recovered_at = entry.recovered_at.max(charged_at) + self.recovery;
        table.record(AccountChange { account, cleared: false, failures: 1 });
    }

    /// Refunds a charged login that has succeeded or was cancelled.
    pub(super) fn refund(&self, account: AccountKey, charged_at: Instant) {
        let mut table = self.table();
        if let Some(entry) = table.accounts.get_mut(&account) {
            entry.pending = entry.pending.saturating_sub(1);
        }
        table.remove_if_idle(account, charged_at);
    }

    /// Clears all failures.
    pub(super) fn clear(&self, account: AccountKey, now: Instant) {
        let mut table = self.table();
        let Some(entry) = table.accounts.get_mut(&account) else { return };
        if entry.recovered_at > now {
            entry.recovered_at = now;
            table.record(AccountChange { account, cleared: true, failures: 0 });
        }
        table.remove_if_idle(account, now);
    }

    /// Forgets all failures, also those that are not saved yet. The caller clears the stored ones.
    pub(super) fn forget(&self, account: AccountKey, now: Instant) {
        let mut table = self.table();
        table.unsaved.remove(&account);
        if let Some(entry) = table.accounts.get_mut(&account) {
            entry.recovered_at = now;
        }
        table.remove_if_idle(account, now);
    }

    /// How much of the budget is used, and for how long.
    pub(super) fn usage(&self, account: AccountKey, now: Instant) -> BudgetUsage {
        let recovered_at =
            self.table().accounts.get(&account).map_or(now, |entry| entry.recovered_at);
        let recovers_in = recovered_at.saturating_duration_since(now);
        let used = recovers_in.as_nanos().div_ceil(self.recovery.as_nanos().max(1));
        let used = u32::try_from(used).unwrap_or(u32::MAX).min(self.burst);
        BudgetUsage { used, size: self.burst, recovers_in }
    }

    /// The changes to save, in an order that is the same on all instances, so that they do not deadlock.
    pub(super) fn take_unsaved(&self) -> Vec<AccountChange> {
        let mut changes: Vec<_> = mem::take(&mut self.table().unsaved).into_values().collect();
        changes.sort_unstable_by_key(|change| change.account);
        changes
    }

    /// Keeps changes that could not be saved.
    pub(super) fn keep_unsaved(&self, changes: &[AccountChange]) {
        let mut table = self.table();
        for earlier in changes {
            let later = table.unsaved.remove(&earlier.account);
            table.record(*earlier);
            later.into_iter().for_each(|later| table.record(later));
        }
    }

    /// Counts stored failures together with those that are still to be saved here.
    pub(super) fn merge(&self, stored: &[StoredFailures], now: Instant, time: Timestamp) {
        let mut table = self.table();
        for StoredFailures { account, recovered_at, .. } in
            stored.iter().filter(|failures| !failures.is_unlock)
        {
            let own = table.unsaved.get(account).copied();
            if own.is_some_and(|own| own.cleared) {
                continue;
            }
            let wait = u64::try_from(recovered_at.millis() - time.millis()).unwrap_or(0);
            // At most the wait of an exhausted budget: the clock or the settings may have changed.
            let wait = Duration::from_millis(wait).min(self.recovery * self.burst);
            let recovered_at = now + wait + self.recovery * own.map_or(0, |own| own.failures);
            if !table.accounts.contains_key(account) {
                table.make_room();
            }
            let unused = Account { recovered_at, pending: 0 };
            table.accounts.entry(*account).or_insert(unused).recovered_at = recovered_at;
            table.remove_if_idle(*account, now);
        }
    }

    /// Stored failures of accounts that recover before this time need not be kept.
    pub(super) fn obsolete_before(&self, now: Instant, time: Timestamp) -> Timestamp {
        let evicted = self.table().evicted_before;
        time + evicted.map_or(Duration::ZERO, |before| before.saturating_duration_since(now))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn record(&mut self, AccountChange { account, cleared, failures }: AccountChange) {
        // A long outage of the database must not use unbounded memory.
        if self.unsaved.len() >= Accounts::MAX_ACCOUNTS && !self.unsaved.contains_key(&account) {
            return;
        }
        let empty = AccountChange { account, cleared: false, failures: 0 };
        let change = self.unsaved.entry(account).or_insert(empty);
        if cleared {
            *change = AccountChange { account, cleared, failures };
        } else {
            change.failures = change.failures.saturating_add(failures);
        }
    }

    fn remove_if_idle(&mut self, account: AccountKey, now: Instant) {
        let is_idle = |entry: &Account| entry.pending == 0 && entry.recovered_at <= now;
        if self.accounts.get(&account).is_some_and(is_idle) {
            self.accounts.remove(&account);
        }
    }

    /// Evicts the half that recovers first if there are too many.
    fn make_room(&mut self) {
        if self.accounts.len() < Accounts::MAX_ACCOUNTS {
            return;
        }
        let mut recovery_times: Vec<_> =
            self.accounts.values().map(|entry| entry.recovered_at).collect();
        let half = recovery_times.len() / 2;
        let (_, cutoff, _) = recovery_times.select_nth_unstable(half);
        let cutoff = *cutoff;
        self.accounts.retain(|_, entry| entry.pending > 0 || entry.recovered_at > cutoff);
        self.evicted_before = Some(cutoff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::EmailKey;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    const TIME: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn accounts() -> (Accounts, AccountKey, Instant) {
        let accounts = Accounts::new(100, DAY, &AccountSecret::random());
        let ada = accounts.key_of(Counted::Passwords(&EmailKey::of("ada@example.com")));
        (accounts, ada, Instant::now())
    }

    /// Fails to log in until an attempt is refused, at most `max` times. Returns the number of failed attempts.
    fn failures(accounts: &Accounts, account: AccountKey, now: Instant, max: usize) -> usize {
        let fail = || accounts.charge(account, now).map(|()| accounts.fail(account, now));
        (0..max).take_while(|_| fail().is_ok()).count()
    }

    /// A database that keeps what one or more instances save.
    #[derive(Default)]
    struct Database(HashMap<AccountKey, Timestamp>);

    impl Database {
        fn save(&mut self, accounts: &Accounts, now: Instant) {
            for AccountChange { account, cleared, failures } in accounts.take_unsaved() {
                let stored = self.0.entry(account).or_insert(TIME);
                let base = if cleared { TIME } else { TIME.max(*stored) };
                *stored = base + DAY * failures;
            }
            accounts.merge(&self.rows(), now, TIME);
        }

        fn rows(&self) -> Vec<StoredFailures> {
            let row = |(account, recovered_at): (&_, &_)| StoredFailures {
                account: *account,
                recovered_at: *recovered_at,
                is_unlock: false,
            };
            self.0.iter().map(row).collect()
        }
    }

    #[test]
    fn concurrent_logins_cannot_exceed_the_budget() {
        let (accounts, ada, now) = accounts();
        assert_eq!((0..200).take_while(|_| accounts.charge(ada, now).is_ok()).count(), 100);
        assert_eq!(accounts.charge(ada, now), Err(Duration::from_secs(1)), "they may succeed");
        accounts.refund(ada, now);
        assert_eq!(accounts.charge(ada, now), Ok(()));
    }

    #[test]
    fn logins_that_succeed_leave_no_entry() {
        let (accounts, ada, now) = accounts();
        for _ in 0..1000 {
            accounts.charge(ada, now).unwrap();
            accounts.clear(ada, now);
            accounts.refund(ada, now);
        }
        assert!(accounts.table().accounts.is_empty());
        assert_eq!(accounts.take_unsaved(), []);
    }

    #[test]
    fn saved_failures_count_after_a_restart_and_on_other_instances() {
        let (here, ada, now) = accounts();
        let (there, _, _) = accounts();
        let mut database = Database::default();
        assert_eq!(failures(&here, ada, now, 60), 60);
        database.save(&here, now);
        database.save(&there, now);
        assert_eq!(failures(&there, ada, now, 1000), 40);
        assert_eq!(failures(&here, ada, now, 30), 30, "not merged yet");
        database.save(&there, now);
        database.save(&here, now);
        assert_eq!(failures(&here, ada, now, 1), 0);
        let (restarted, _, _) = accounts();
        restarted.merge(&database.rows(), now, TIME);
        assert_eq!(failures(&restarted, ada, now, 1), 0);
        assert_eq!(
            failures(&restarted, ada, now + DAY, 10),
            1,
            "at most the wait of an exhausted budget"
        );
    }

    #[test]
    fn a_success_on_one_instance_clears_the_account_on_all() {
        let (here, ada, now) = accounts();
        let (there, _, _) = accounts();
        let mut database = Database::default();
        failures(&here, ada, now, 100);
        database.save(&here, now);
        database.save(&there, now);
        there.clear(ada, now);
        database.save(&there, now);
        database.save(&here, now);
        assert_eq!(failures(&here, ada, now, 1000), 100);
    }

    #[test]
    fn changes_that_could_not_be_saved_are_saved_later_in_the_same_order() {
        let (accounts, ada, now) = accounts();
        failures(&accounts, ada, now, 3);
        let earlier = accounts.take_unsaved();
        accounts.clear(ada, now);
        failures(&accounts, ada, now, 2);
        accounts.keep_unsaved(&earlier);
        let change = AccountChange { account: ada, cleared: true, failures: 2 };
        assert_eq!(accounts.take_unsaved(), [change]);

        accounts.keep_unsaved(&[change]);
        failures(&accounts, ada, now, 2);
        let change = AccountChange { account: ada, cleared: true, failures: 4 };
        assert_eq!(accounts.take_unsaved(), [change]);
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_does_not_reset_an_exhausted_budget() {
        let (accounts, ada, now) = accounts();
        failures(&accounts, ada, now, 100);
        for number in 0..250_000_u32 {
            let mut key = [0; 16];
            key[..4].copy_from_slice(&number.to_le_bytes());
            // One after the other, so that no two recover at the same time.
            failures(&accounts, AccountKey(key), now + Duration::from_millis(number.into()), 1);
        }
        assert!(accounts.table().accounts.len() <= Accounts::MAX_ACCOUNTS);
        assert!(accounts.table().unsaved.len() <= Accounts::MAX_ACCOUNTS);
        assert!(accounts.obsolete_before(now, TIME) > TIME);
        assert_eq!(failures(&accounts, ada, now, 1), 0);
    }
}
