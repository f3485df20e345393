//! How often somebody may try: budgets of failed logins per account and network, and of sign-ups per network.
//!
//! A try is paid for before the password is hashed and paid back when it succeeds: however many tries run side by
//! side, no more are made than the budgets hold. Whichever budget refuses, none is paid from.

mod accounts;
mod budget;
mod known_networks;

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use self::{
    accounts::Accounts,
    budget::{Budgets, NetworkBudgets},
};
pub use self::{
    accounts::{AccountChange, AccountKey, AccountSecret, StoredFailures},
    known_networks::KnownNetworks,
};
use crate::{
    clock::Timestamp,
    network::{Network, Requester},
    user::{EmailKey, UserId},
};

/// Wait before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// When the budget holds one more try.
    pub retry_after: Duration,
    /// Which budget is spent.
    pub budget: Budget,
}

/// What a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Failed logins on one account from everywhere.
    Account,
    /// Failed logins on one account from one network.
    AccountFromNetwork,
    /// Failed logins on one account from a network that its owner has used.
    AccountFromKnownNetwork,
    /// Failures of one network on all accounts.
    Network,
    /// Sign-ups from one network.
    SignUps,
    /// Refreshed tokens of one user.
    Refreshes,
}

/// For the log.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Account => "account",
            Self::AccountFromNetwork => "account from network",
            Self::AccountFromKnownNetwork => "account from known network",
            Self::Network => "network",
            Self::SignUps => "sign-ups",
            Self::Refreshes => "refreshes",
        })
    }
}

/// How much each budget holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// Failed logins in a row on one account.
    pub account_failures: u32,
    /// One of them is forgiven after this time.
    pub account_recovery: Duration,
    /// Failed logins on one account from one network.
    pub account_failures_per_network: u32,
    /// One of them is forgiven after this time.
    pub network_recovery: Duration,
    /// Failures of one network on all accounts; one is forgiven each second.
    pub network_failures: u32,
    /// Sign-ups of one network in an hour.
    pub network_sign_ups: u32,
}

impl Default for ThrottleSettings {
    fn default() -> Self {
        Self {
            account_failures: 100,
            account_recovery: Duration::from_secs(24 * 60 * 60),
            account_failures_per_network: 20,
            network_recovery: Duration::from_secs(60 * 60),
            network_failures: 600,
            network_sign_ups: 1000,
        }
    }
}

/// The budgets of one running service.
pub struct Throttle {
    accounts: Accounts,
    from_network: NetworkBudgets<AccountKey>,
    from_known_network: Budgets<(AccountKey, Network)>,
    failures: NetworkBudgets<()>,
    look_ups: NetworkBudgets<()>,
    sign_ups: NetworkBudgets<()>,
    refreshes: Budgets<u64>,
    hasher: RandomState,
}

impl Throttle {
    /// Every budget full.
    pub fn new(settings: &ThrottleSettings, secret: &AccountSecret) -> Self {
        let ThrottleSettings {
            account_failures,
            account_recovery,
            account_failures_per_network,
            network_recovery,
            network_failures,
            network_sign_ups,
        } = *settings;
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(60 * 60));
        Self {
            accounts: Accounts::new(account_failures, account_recovery, secret),
            from_network: NetworkBudgets::new(account_failures_per_network, network_recovery),
            from_known_network: Budgets::new(account_failures_per_network, network_recovery),
            failures: NetworkBudgets::new(network_failures, second),
            look_ups: NetworkBudgets::new(60, second),
            sign_ups: NetworkBudgets::new(network_sign_ups, hour / network_sign_ups),
            refreshes: Budgets::new(120, Duration::from_secs(30)),
            hasher: RandomState::new(),
        }
    }

    /// Pays for a login that may fail.
    ///
    /// # Errors
    /// When the budget of the account or of the network is spent. [`Self::may_be_known`] tells whether a look-up of the
    /// owner's networks can help.
    pub fn begin_login(
        &self,
        email: &EmailKey,
        requester: Requester,
        now: Instant,
    ) -> Result<LoginAttempt<'_>, Throttled> {
        let account = self.accounts.key_of(email);
        self.pay_for_failure(requester, now)?;
        let paid = self.pay_from_account(account, requester, now);
        paid.inspect_err(|_| self.pay_back_failure(requester))?;
        Ok(LoginAttempt::new(self, account, requester, PaidFrom::Account, now))
    }

    /// Pays for a login from a network that the owner of the account has used: others cannot spend this budget.
    ///
    /// # Errors
    /// When the budget of the network is spent.
    pub fn begin_login_from_known_network(
        &self,
        email: &EmailKey,
        requester: Requester,
        now: Instant,
    ) -> Result<LoginAttempt<'_>, Throttled> {
        let account = self.accounts.key_of(email);
        self.pay_for_failure(requester, now)?;
        let paid = self.from_known_network.pay((account, requester.network), now);
        let paid = paid.map_err(|retry_after| Throttled {
            retry_after,
            budget: Budget::AccountFromKnownNetwork,
        });
        paid.inspect_err(|_| self.pay_back_failure(requester))?;
        Ok(LoginAttempt::new(self, account, requester, PaidFrom::KnownNetwork, now))
    }

    /// Whether it is worth looking up if the owner has used the network of a login that was refused. It depends on
    /// nothing but the network, and a network gets no more than one such look-up a second for long: a refusal must stay
    /// cheap.
    pub fn may_check_known_networks(
        &self,
        refusal: &Throttled,
        requester: Requester,
        now: Instant,
    ) -> bool {
        let by_account = matches!(refusal.budget, Budget::Account | Budget::AccountFromNetwork);
        by_account
            && !requester.network.is_loopback()
            && self.look_ups.pay((), requester.network, now).is_ok()
    }

    /// Somebody has shown to own the account in another way than by a login: earlier failures no longer count.
    pub fn clear_account(&self, email: &EmailKey, now: Instant) {
        self.accounts.clear(self.accounts.key_of(email), now);
    }

    /// Pays for a reset code that may be wrong, from the network's budget of failures.
    ///
    /// # Errors
    /// When the budget of the network is spent.
    pub fn charge_reset(&self, requester: Requester, now: Instant) -> Result<(), Throttled> {
        self.pay_for_failure(requester, now)
    }

    /// Pays for a wrong secret of a program, from the network's budget of failures. A right one costs nothing: nobody
    /// guesses one, and whoever fails must not stop the others behind the same address.
    ///
    /// # Errors
    /// When the budget of the network is spent.
    pub fn charge_wrong_client_secret(
        &self,
        requester: Requester,
        now: Instant,
    ) -> Result<(), Throttled> {
        self.pay_for_failure(requester, now)
    }

    /// Pays for a sign-up.
    ///
    /// # Errors
    /// When the budget of the network is spent.
    pub fn charge_sign_up(&self, requester: Requester, now: Instant) -> Result<(), Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(()) };
        let spent = |retry_after| Throttled { retry_after, budget: Budget::SignUps };
        self.sign_ups.pay((), network, now).map_err(spent)
    }

    /// Pays for another token of a user: everybody who verifies has to remember the one before it.
    ///
    /// # Errors
    /// When the budget of the user is spent.
    pub fn charge_refresh(&self, user: UserId, now: Instant) -> Result<(), Throttled> {
        let spent = |retry_after| Throttled { retry_after, budget: Budget::Refreshes };
        self.refreshes.pay(self.hasher.hash_one(user), now).map_err(spent)
    }

    /// What happened to accounts since this was last called, to be saved.
    pub fn take_unsaved(&self) -> UnsavedChanges<'_> {
        UnsavedChanges { throttle: self, changes: self.accounts.take_unsaved(), saved: 0 }
    }

    /// Counts the failures that are stored, also those of other instances. `now` and `time` are the same moment.
    pub fn merge(&self, stored: &[StoredFailures], now: Instant, time: Timestamp) {
        self.accounts.merge(stored, now, time);
    }

    /// The time up to which stored failures need not be kept. `now` and `time` are the same moment.
    pub fn obsolete_before(&self, now: Instant, time: Timestamp) -> Timestamp {
        self.accounts.obsolete_before(now, time)
    }

    fn pay_from_account(
        &self,
        account: AccountKey,
        requester: Requester,
        now: Instant,
    ) -> Result<(), Throttled> {
        let network = requester.limited_network();
        if let Some(network) = network {
            let paid = self.from_network.pay(account, network, now);
            paid.map_err(|retry_after| Throttled {
                retry_after,
                budget: Budget::AccountFromNetwork,
            })?;
        }
        self.accounts.pay(account, now).map_err(|retry_after| {
            network.inspect(|network| self.from_network.pay_back(account, *network));
            Throttled { retry_after, budget: Budget::Account }
        })
    }

    fn pay_for_failure(&self, requester: Requester, now: Instant) -> Result<(), Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(()) };
        let spent = |retry_after| Throttled { retry_after, budget: Budget::Network };
        self.failures.pay((), network, now).map_err(spent)
    }

    fn pay_back_failure(&self, requester: Requester) {
        if let Some(network) = requester.limited_network() {
            self.failures.pay_back((), network);
        }
    }
}

/// A login that has been paid for. It counts as a failure unless something else is said.
#[must_use = "a login that is not said to have succeeded has failed"]
pub struct LoginAttempt<'a> {
    throttle: &'a Throttle,
    account: AccountKey,
    requester: Requester,
    paid_from: PaidFrom,
    paid_at: Instant,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PaidFrom {
    Account,
    KnownNetwork,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Failed,
    Succeeded,
    Cancelled,
}

impl<'a> LoginAttempt<'a> {
    fn new(
        throttle: &'a Throttle,
        account: AccountKey,
        requester: Requester,
        paid_from: PaidFrom,
        paid_at: Instant,
    ) -> Self {
        Self { throttle, account, requester, paid_from, paid_at, outcome: Outcome::Failed }
    }

    /// The password was right: earlier failures on the account no longer count.
    pub fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }

    /// The password was never looked at: the login costs nothing.
    pub fn cancel(mut self) {
        self.outcome = Outcome::Cancelled;
    }
}

/// A login whose client has left counts as well.
impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        let Self { throttle, account, requester, paid_from, paid_at, outcome } = *self;
        let network = requester.limited_network();
        match (outcome, paid_from) {
            (Outcome::Failed, PaidFrom::Account) => throttle.accounts.fail(account, paid_at),
            (Outcome::Failed, PaidFrom::KnownNetwork) => {}
            (_, PaidFrom::Account) => {
                throttle.accounts.withdraw(account, paid_at);
                network.inspect(|network| throttle.from_network.pay_back(account, *network));
            }
            (_, PaidFrom::KnownNetwork) => {
                throttle.from_known_network.pay_back((account, requester.network));
            }
        }
        if outcome != Outcome::Failed {
            throttle.pay_back_failure(requester);
        }
        if outcome == Outcome::Succeeded {
            throttle.accounts.clear(account, paid_at);
            throttle.from_known_network.clear((account, requester.network));
            network.inspect(|network| throttle.from_network.clear(account, *network));
        }
    }
}

/// Changes of accounts on their way to the store. What is not said to be saved stays to be saved.
#[must_use = "changes that are not saved are kept"]
pub struct UnsavedChanges<'a> {
    throttle: &'a Throttle,
    changes: Vec<AccountChange>,
    saved: usize,
}

impl UnsavedChanges<'_> {
    /// The next changes to save, at most `limit`; none at the end.
    pub fn next(&self, limit: usize) -> Option<&[AccountChange]> {
        self.changes[self.saved..].chunks(limit).next()
    }

    /// So many of them are stored.
    pub fn saved(&mut self, count: usize) {
        self.saved += count;
    }
}

impl Drop for UnsavedChanges<'_> {
    fn drop(&mut self) {
        self.throttle.accounts.keep_unsaved(&self.changes[self.saved..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    const LOCAL: Requester =
        Requester { network: Network::LOOPBACK, exempt_from_network_limits: true };

    fn throttle() -> (Throttle, Instant) {
        let settings = ThrottleSettings::default();
        (Throttle::new(&settings, &AccountSecret::random()), Instant::now())
    }

    fn from(address: &str) -> Requester {
        let network = Network::at(address.parse().unwrap());
        Requester { network, exempt_from_network_limits: false }
    }

    fn client(last: u8) -> Requester {
        from(&format!("192.0.2.{last}"))
    }

    /// Fails to log in until a try is refused.
    fn failures(
        throttle: &Throttle,
        email: &str,
        requester: Requester,
        now: Instant,
        most: usize,
    ) -> usize {
        let email = EmailKey::of(email);
        (0..most).take_while(|_| throttle.begin_login(&email, requester, now).is_ok()).count()
    }

    fn refusal(throttle: &Throttle, email: &str, requester: Requester, now: Instant) -> Throttled {
        match throttle.begin_login(&EmailKey::of(email), requester, now) {
            Ok(paid) => {
                paid.cancel();
                panic!("admitted")
            }
            Err(throttled) => throttled,
        }
    }

    /// The right password from a network that the owner has not used.
    fn succeed(throttle: &Throttle, email: &str, requester: Requester, now: Instant) {
        throttle.begin_login(&EmailKey::of(email), requester, now).ok().unwrap().succeeded();
    }

    #[test]
    fn an_account_has_one_budget_however_its_address_is_spelt() {
        let (throttle, now) = throttle();
        assert_eq!(failures(&throttle, "ada@example.com", LOCAL, now, 60), 60);
        assert_eq!(failures(&throttle, "ADA@Example.com", LOCAL, now, 200), 40);
        let refusal = refusal(&throttle, "ada@example.COM", LOCAL, now);
        assert_eq!(refusal, Throttled { retry_after: DAY, budget: Budget::Account });
    }

    #[test]
    fn no_number_of_networks_has_more_than_100_tries_on_an_account_and_one_more_each_day() {
        let (throttle, start) = throttle();
        let mut made = 0;
        for hour in 0..10 * 24_u32 {
            let now = start + Duration::from_secs(60 * 60) * hour;
            for network in 0..50_u32 {
                let address = std::net::Ipv4Addr::from(0x0a00_0000 + hour * 1000 + network);
                made += failures(&throttle, "ada@example.com", from(&address.to_string()), now, 5);
            }
            let days = usize::try_from(hour / 24).unwrap();
            assert_eq!(made, 100 + days, "after {hour} hours");
        }
    }

    #[test]
    fn a_success_of_the_owner_gives_the_account_its_budget_back() {
        let (throttle, now) = throttle();
        failures(&throttle, "ada@example.com", LOCAL, now, 99);
        succeed(&throttle, "ada@example.com", LOCAL, now);
        assert_eq!(failures(&throttle, "ada@example.com", LOCAL, now, 1000), 100);
    }

    #[test]
    fn the_networks_of_one_subscriber_cannot_spend_the_budget_of_an_account() {
        let (throttle, now) = throttle();
        let mut made = 0;
        for subnet in 0..400 {
            let requester = from(&format!("2001:db8:0:{subnet:x}::1"));
            made += failures(&throttle, "ada@example.com", requester, now, 1000);
        }
        assert_eq!(made, 80, "of the whole /48");
        let owner = from("2001:db8:1::1");
        succeed(&throttle, "ada@example.com", owner, now);
    }

    #[test]
    fn one_network_has_20_failures_on_an_account_and_one_more_each_hour() {
        let (throttle, now) = throttle();
        assert_eq!(failures(&throttle, "ada@example.com", client(1), now, 1000), 20);
        let hour = Duration::from_secs(60 * 60);
        let refusal = refusal(&throttle, "ada@example.com", client(1), now);
        assert_eq!(refusal, Throttled { retry_after: hour, budget: Budget::AccountFromNetwork });
        assert_eq!(failures(&throttle, "ada@example.com", client(1), now + hour * 3, 1000), 3);
        assert_eq!(failures(&throttle, "bob@example.com", client(1), now, 1000), 20);
    }

    #[test]
    fn a_network_that_the_owner_has_used_keeps_a_budget_when_that_of_the_account_is_spent() {
        let (throttle, now) = throttle();
        let (ada, home) = (EmailKey::of("ada@example.com"), from("2001:db8::1"));
        for network in 1..=21 {
            failures(&throttle, "ada@example.com", client(network), now, 1000);
        }
        let refusal = refusal(&throttle, "ada@example.com", home, now);
        assert_eq!(refusal.budget, Budget::Account);
        assert!(throttle.may_check_known_networks(&refusal, home, now));
        let known = || throttle.begin_login_from_known_network(&ada, home, now);
        assert_eq!((0..1000).take_while(|_| known().is_ok()).count(), 20);
        let later = now + Duration::from_secs(60 * 60);
        throttle.begin_login_from_known_network(&ada, home, later).ok().unwrap().succeeded();
        assert_eq!(failures(&throttle, "ada@example.com", home, later, 1000), 20);
        assert_eq!((0..1000).take_while(|_| known().is_ok()).count(), 20);
    }

    #[test]
    fn whichever_budget_refuses_nothing_is_paid() {
        let (throttle, now) = throttle();
        failures(&throttle, "ada@example.com", LOCAL, now, 1000);
        for _ in 0..2000 {
            assert_eq!(
                refusal(&throttle, "ada@example.com", client(1), now).budget,
                Budget::Account
            );
        }
        let spread = (0..1000)
            .take_while(|n| {
                failures(&throttle, &format!("u{n}@example.com"), client(1), now, 1) == 1
            })
            .count();
        assert_eq!(spread, 600, "the refusals cost the network nothing");
        throttle.clear_account(&EmailKey::of("ada@example.com"), now);
        assert_eq!(failures(&throttle, "ada@example.com", client(2), now, 1000), 20);
    }

    #[test]
    fn a_refusal_is_looked_up_only_where_it_can_help_and_at_a_bounded_rate() {
        let (throttle, now) = throttle();
        let refusal = |budget| Throttled { retry_after: DAY, budget };
        assert!(throttle.may_check_known_networks(&refusal(Budget::Account), client(1), now));
        assert!(throttle.may_check_known_networks(
            &refusal(Budget::AccountFromNetwork),
            client(1),
            now
        ));
        assert!(!throttle.may_check_known_networks(&refusal(Budget::Network), client(1), now));
        assert!(!throttle.may_check_known_networks(&refusal(Budget::Account), LOCAL, now));
        let look_up =
            || throttle.may_check_known_networks(&refusal(Budget::Account), client(1), now);
        assert_eq!((0..1000).take_while(|_| look_up()).count(), 58);
    }

    #[test]
    fn a_successful_login_costs_nothing_and_one_that_was_never_made_neither() {
        let (throttle, now) = throttle();
        for _ in 0..2000 {
            succeed(&throttle, "ada@example.com", client(1), now);
            throttle
                .begin_login(&EmailKey::of("bob@example.com"), client(1), now)
                .ok()
                .unwrap()
                .cancel();
        }
        assert!(throttle.take_unsaved().next(10).is_none());
    }

    #[test]
    fn a_network_has_600_failures_over_all_accounts_and_local_development_any_number() {
        let (throttle, now) = throttle();
        let spread = |requester| {
            let fails = |n| failures(&throttle, &format!("u{n}@example.com"), requester, now, 1);
            (0..1000).take_while(|n| fails(*n) == 1).count()
        };
        assert_eq!(spread(client(1)), 600);
        assert_eq!(spread(client(2)), 600);
        assert_eq!(spread(LOCAL), 1000);
        assert_eq!(spread(from("127.0.0.1")), 600, "through a proxy");
    }

    #[test]
    fn reset_codes_and_logins_of_a_network_share_its_600_failures() {
        let (throttle, now) = throttle();
        assert_eq!(
            (0..1000).take_while(|_| throttle.charge_reset(client(1), now).is_ok()).count(),
            600
        );
        assert_eq!(failures(&throttle, "ada@example.com", client(1), now, 1), 0);
        assert!(throttle.charge_reset(client(2), now).is_ok());
        assert!((0..1000).all(|_| throttle.charge_reset(LOCAL, now).is_ok()));
    }

    #[test]
    fn a_network_may_sign_up_1000_users_in_a_burst_and_local_development_any_number() {
        let (throttle, now) = throttle();
        let sign_ups = |requester| {
            (0..2000).take_while(|_| throttle.charge_sign_up(requester, now).is_ok()).count()
        };
        assert_eq!(sign_ups(client(1)), 1000);
        assert_eq!(sign_ups(LOCAL), 2000);
    }

    #[test]
    fn changes_that_nobody_saved_stay_to_be_saved() {
        let (throttle, now) = throttle();
        for email in ["ada@example.com", "bob@example.com", "eve@example.com"] {
            failures(&throttle, email, LOCAL, now, 2);
        }
        let mut unsaved = throttle.take_unsaved();
        assert_eq!(unsaved.next(2).unwrap().len(), 2);
        unsaved.saved(2);
        drop(unsaved);
        assert_eq!(throttle.take_unsaved().next(10).unwrap().len(), 1);
    }
}
