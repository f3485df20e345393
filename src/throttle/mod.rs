//! Budgets of failed logins per account and network, of sign-ups per network, and of mail per address and network.
//!
//! A login is charged before its password is hashed and refunded when it succeeds, so that concurrent logins cannot
//! exceed a budget. If one budget refuses, none is charged.

mod account_key;
mod accounts;
mod budget;
mod known_networks;
mod login_attempt;
mod right_answer;
#[cfg(test)]
mod tests;
mod unsaved;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use self::{
    account_key::{AccountKey, AccountSecret, Counted},
    accounts::{AccountChange, StoredFailures},
    budget::BudgetUsage,
    known_networks::KnownNetworks,
    login_attempt::LoginAttempt,
    right_answer::RightAnswer,
    unsaved::UnsavedChanges,
};
use self::{
    accounts::Accounts,
    budget::{Budgets, NetworkBudgets},
    login_attempt::ChargedTo,
};
use crate::{
    clock::Timestamp,
    count::{Counters, labels},
    network::{Network, Requester},
    user::{EmailKey, UserId},
};

/// A budget is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// How long to wait until the budget allows one more attempt.
    pub retry_after: Duration,
    pub budget: Budget,
}

/// What a failed attempt on an account has guessed. Each has a budget of its own: wrong codes lock nobody out of logins, and a login
/// does not clear them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    Password,
    /// A code that was mailed to the address.
    Code,
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Failed logins on one account from all networks.
    Account,
    /// Failed logins on one account from one network.
    AccountFromNetwork,
    /// Failed logins on one account from a network that its owner has used.
    AccountFromKnownNetwork,
    /// Failures of one network on all accounts.
    Network,
    /// Sign-ups from one network.
    SignUps,
    /// Requests for mail from one network.
    MailRequests,
    /// Sign-ups from one network that send mail.
    SignUpMails,
    /// Mail to one address.
    Mails,
    /// Refreshed tokens of one user.
    Refreshes,
    /// Invitations by one user.
    Invitations,
    /// Codes that sign the browsers of one user in to apps.
    SignInCodes,
    /// Wrong second factors of one kind of one user.
    Factor,
    /// What one user changes in their own account.
    Changes,
    /// Accepted answers to challenges of one user: passkeys and codes.
    Answers,
}

labels!(Budget {
    Account => "account",
    AccountFromNetwork => "account_from_network",
    AccountFromKnownNetwork => "account_from_known_network",
    Network => "network",
    SignUps => "sign_ups",
    MailRequests => "mail_requests",
    SignUpMails => "sign_up_mails",
    Mails => "mails",
    Refreshes => "refreshes",
    Invitations => "invitations",
    SignInCodes => "sign_in_codes",
    Factor => "factor",
    Changes => "changes",
    Answers => "answers",
});

/// The name in log lines.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Account => "account",
            Self::AccountFromNetwork => "account from network",
            Self::AccountFromKnownNetwork => "account from known network",
            Self::Network => "network",
            Self::SignUps => "sign-ups",
            Self::MailRequests => "requests for mail from the network",
            Self::SignUpMails => "sign-ups with mail from the network",
            Self::Mails => "mail to the address",
            Self::Refreshes => "refreshes",
            Self::Invitations => "invitations",
            Self::SignInCodes => "sign-ins to apps",
            Self::Factor => "second factor",
            Self::Changes => "changes of the account",
            Self::Answers => "accepted passkeys and codes",
        })
    }
}

/// What a mail to an address is for, as far as its budget is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailPurpose {
    /// A new password, which anybody can ask for.
    ResetPassword,
    /// A code to sign in, which anybody can ask for.
    SignIn,
    /// A sign-up with the address, its verification, and notices to it while it is not verified.
    SignUp,
    /// An invitation, or a new address of a user: what other users ask for.
    ByUsers,
    /// The notice that a password was right and the second factor wrong.
    WrongFactor,
    /// The notice that a password was right and no second factor followed. It waits until it is known that none does, and must not keep
    /// back the one about a wrong factor.
    MissingFactor,
}

impl MailPurpose {
    const ALL: [Self; 6] = [
        Self::ResetPassword,
        Self::SignIn,
        Self::SignUp,
        Self::ByUsers,
        Self::WrongFactor,
        Self::MissingFactor,
    ];

    /// Whether the mail that an address gets beside those of its purposes can be for this one.
    fn may_have_more(self) -> bool {
        match self {
            Self::ResetPassword | Self::SignIn | Self::SignUp => true,
            Self::ByUsers | Self::WrongFactor | Self::MissingFactor => false,
        }
    }
}

/// The size of each budget that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// Consecutive failed logins on one account.
    pub account_failures: u32,
    /// One of them expires after this time.
    pub account_recovery: Duration,
    /// Failed logins on one account from one network.
    pub account_failures_per_network: u32,
    /// One of them expires after this time.
    pub network_recovery: Duration,
    /// Failures of one network on all accounts. One expires each second.
    pub network_failures: u32,
    /// Sign-ups of one network in an hour.
    pub network_sign_ups: u32,
    /// Mails that one network asks for in an hour, and as many by sign-ups.
    pub network_mails: u32,
    /// Whether no budget is ever exhausted, for `doorward dev`. No setting selects it.
    pub unlimited: bool,
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
            network_mails: 60,
            unlimited: false,
        }
    }
}

/// The changes of an account that its user may make at once. Each writes to the audit trail, which is kept.
const CHANGES: u32 = 30;

/// The accepted answers to challenges, in sign-ins and step-ups, that a user may give at once. Each writes to the audit trail, and that
/// of a passkey costs no password hash. No person answers so many.
const ANSWERS: u32 = 300;

/// The wrong second factors after a right password that may be mistyped. The user is told of the next one at once, and of these only
/// if no right one follows.
const MISTAKES: u32 = 2;

/// What users change in their own account. What takes access away is not counted: it is bounded by what was given before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnChange {
    /// The name, the address, keys and second factors.
    Account,
    /// The password, after the old one was proved. Whoever has stolen a session cannot use this up.
    Password,
}

/// The invitations that a user may make in a day.
const INVITATIONS: u32 = 20;

/// For longer than the database keeps the mark that an account was unlocked.
const KEEP_UNLOCKS: Duration = Duration::from_secs(60 * 60);

/// The failures on an account that count now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountUsage {
    /// From all networks together.
    pub from_everywhere: BudgetUsage,
    /// From each network, and from the wider networks that contain it.
    pub from_networks: Vec<(String, BudgetUsage)>,
    /// From each network that the owner has used, while the account is locked for others.
    pub from_known_networks: Vec<(String, BudgetUsage)>,
}

/// All budgets of a running service.
pub struct Throttle {
    accounts: Accounts,
    from_network: NetworkBudgets<AccountKey>,
    from_known_network: Budgets<(AccountKey, Network)>,
    failures: NetworkBudgets<()>,
    known_network_checks: NetworkBudgets<()>,
    sign_ups: NetworkBudgets<()>,
    mail_requests: NetworkBudgets<()>,
    sign_up_mails: NetworkBudgets<()>,
    mails: Budgets<(AccountKey, MailPurpose)>,
    more_mails: Budgets<AccountKey>,
    refreshes: Budgets<u64>,
    invitations: Budgets<u64>,
    sign_in_codes: Budgets<u64>,
    hasher: RandomState,
    changes: Budgets<u64>,
    answers: Budgets<u64>,
    mistakes: Budgets<u64>,
    refusals: Counters<Budget, 14>,
    /// When operators have unlocked accounts, as far as this instance has read it.
    unlocks: Mutex<HashMap<AccountKey, Timestamp>>,
}

impl Throttle {
    /// All budgets, unused.
    pub fn new(settings: &ThrottleSettings, secret: &AccountSecret) -> Self {
        let ThrottleSettings {
            account_failures,
            account_recovery,
            account_failures_per_network,
            network_recovery,
            network_failures,
            network_sign_ups,
            network_mails,
            unlimited,
        } = *settings;
        let burst = |size: u32| if unlimited { u32::MAX } else { size };
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let hour = 60 * minute;
        Self {
            accounts: Accounts::new(burst(account_failures), account_recovery, secret),
            from_network: NetworkBudgets::new(
                burst(account_failures_per_network),
                network_recovery,
            ),
            from_known_network: Budgets::new(burst(account_failures_per_network), network_recovery),
            failures: NetworkBudgets::new(burst(network_failures), second),
            known_network_checks: NetworkBudgets::new(60, second),
            sign_ups: NetworkBudgets::new(burst(network_sign_ups), hour / network_sign_ups),
            mail_requests: NetworkBudgets::new(burst(network_mails), hour / network_mails),
            sign_up_mails: NetworkBudgets::new(burst(network_mails), hour / network_mails),
            mails: Budgets::new(burst(1), 15 * minute),
            more_mails: Budgets::new(burst(1), 15 * minute),
            refreshes: Budgets::new(burst(120), Duration::from_secs(30)),
            invitations: Budgets::new(burst(INVITATIONS), 24 * hour / INVITATIONS),
            sign_in_codes: Budgets::new(burst(120), Duration::from_secs(30)),
            changes: Budgets::new(burst(CHANGES), Duration::from_secs(15)),
            answers: Budgets::new(burst(ANSWERS), Duration::from_secs(10)),
            mistakes: Budgets::new(burst(MISTAKES), 15 * minute),
            hasher: RandomState::new(),
            refusals: Counters::default(),
            unlocks: Mutex::default(),
        }
    }

    /// Charges a login, or a typed code, as if it failed.
    ///
    /// # Errors
    /// If the budget of the account or of the network is exhausted. [`Self::may_check_known_networks`] then says whether to
    /// look up the networks of the account's owner.
    pub fn begin_guess(
        &self,
        guess: Guess,
        email: &EmailKey,
        requester: &Requester,
        now: Instant,
    ) -> Result<LoginAttempt<'_>, Throttled> {
        let account = self.account_of(guess, email);
        self.charge_failure(requester, now)?;
        let charged = self.charge_account(account, requester, now);
        charged.inspect_err(|_| self.refund_failure(requester.limited_network()))?;
        Ok(LoginAttempt::new(self, account, requester, ChargedTo::Account, now))
    }

    /// Charges a login, or a typed code, from a network that the owner of the account has used. Other networks cannot exhaust this
    /// budget.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn begin_guess_from_known_network(
        &self,
        guess: Guess,
        email: &EmailKey,
        requester: &Requester,
        now: Instant,
    ) -> Result<LoginAttempt<'_>, Throttled> {
        let account = self.account_of(guess, email);
        self.charge_failure(requester, now)?;
        let charged = self.from_known_network.charge((account, requester.network()), now);
        let charged = charged
            .map_err(|retry_after| self.refuse(Budget::AccountFromKnownNetwork, retry_after));
        charged.inspect_err(|_| self.refund_failure(requester.limited_network()))?;
        Ok(LoginAttempt::new(self, account, requester, ChargedTo::KnownNetwork, now))
    }

    /// Whether to look up if the owner of the account has used the network of a refused login. The answer depends on the
    /// network only, so that it does not reveal whether the account exists. A network gets about one look-up a second, so
    /// that a refusal stays cheap.
    pub fn may_check_known_networks(
        &self,
        refusal: &Throttled,
        requester: &Requester,
        now: Instant,
    ) -> bool {
        let by_account = matches!(refusal.budget, Budget::Account | Budget::AccountFromNetwork);
        by_account
            && !requester.network().is_loopback()
            && self.known_network_checks.charge((), requester.network(), now).is_ok()
    }

    /// Clears the failures on an account whose owner has proved ownership by other means than a login.
    pub fn clear_account(&self, email: &EmailKey, now: Instant) {
        self.accounts.clear(self.accounts.key_of(Counted::Passwords(email)), now);
    }

    /// Forgets the failures on an account, from everywhere and from each network, for an operator. The caller clears the stored
    /// ones, which tells other instances.
    pub fn unlock(&self, email: &EmailKey, now: Instant) {
        self.unlock_account(self.accounts.key_of(Counted::Passwords(email)), now);
    }

    /// Whether an operator's mark has not been read before. It is read for some seconds, and must not clear the failures of
    /// all of them.
    fn is_new_unlock(&self, account: AccountKey, at: Timestamp) -> bool {
        let mut unlocks = self.unlocks.lock().unwrap_or_else(PoisonError::into_inner);
        unlocks.retain(|_, unlocked_at| *unlocked_at + KEEP_UNLOCKS > at);
        unlocks.insert(account, at) != Some(at)
    }

    fn unlock_account(&self, account: AccountKey, now: Instant) {
        self.accounts.forget(account, now);
        self.from_network.clear_key(account);
        self.from_known_network.clear_all(|(charged, _)| *charged == account);
    }

    /// The failures on an account that count now: from everywhere, and from each network.
    pub fn account_usage(&self, email: &EmailKey, now: Instant) -> AccountUsage {
        let account = self.accounts.key_of(Counted::Passwords(email));
        let known = self.from_known_network.usage(|(charged, _)| *charged == account, now);
        let known = known.into_iter().map(|((_, network), usage)| (network.to_string(), usage));
        let others = self.from_network.usage(account, now).into_iter();
        AccountUsage {
            from_everywhere: self.accounts.usage(account, now),
            from_networks: others.map(|(network, usage)| (network.to_string(), usage)).collect(),
            from_known_networks: known.collect(),
        }
    }

    /// Charges a reset code to the network's budget of failures.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn charge_reset(&self, requester: &Requester, now: Instant) -> Result<(), Throttled> {
        self.charge_failure(requester, now)
    }

    /// Charges a wrong secret of an OAuth client to the network's budget of failures. A right one is free: it cannot be
    /// guessed, and one failing client must not block the others behind the same address.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn charge_wrong_client_secret(
        &self,
        requester: &Requester,
        now: Instant,
    ) -> Result<(), Throttled> {
        self.charge_failure(requester, now)
    }

    /// Charges an answer to a challenge, or what a browser brings back from a provider, to the network's budget of failures. A right one
    /// is refunded.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn charge_answer(&self, requester: &Requester, now: Instant) -> Result<(), Throttled> {
        self.charge_failure(requester, now)
    }

    /// Takes back the charge of a right answer.
    pub fn refund_answer(&self, requester: &Requester) {
        self.refund_failure(requester.limited_network());
    }

    /// Counts that too many second factors of one kind of one user were wrong. The database has the budget.
    pub fn refuse_factor(&self, retry_after: Duration) -> Throttled {
        self.refuse(Budget::Factor, retry_after)
    }

    /// Charges a sign-up.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn charge_sign_up(&self, requester: &Requester, now: Instant) -> Result<(), Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(()) };
        let exhausted = |retry_after| self.refuse(Budget::SignUps, retry_after);
        self.sign_ups.charge((), network, now).map(drop).map_err(exhausted)
    }

    /// Takes back the charge of a sign-up that was only checked.
    pub fn refund_sign_up(&self, requester: &Requester) {
        if let Some(network) = requester.limited_network() {
            self.sign_ups.refund((), network);
        }
    }

    /// Charges a request for mail to any address. Returns how many the network has made lately.
    ///
    /// # Errors
    /// If the budget of the network is exhausted.
    pub fn charge_mail_request(
        &self,
        requester: &Requester,
        now: Instant,
    ) -> Result<u32, Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(0) };
        let exhausted = |retry_after| self.refuse(Budget::MailRequests, retry_after);
        self.mail_requests.charge((), network, now).map_err(exhausted)
    }

    /// Takes back the charge of a request for mail that was not made.
    pub fn refund_mail_request(&self, requester: &Requester) {
        if let Some(network) = requester.limited_network() {
            self.mail_requests.refund((), network);
        }
    }

    /// Charges a sign-up that sends mail. Returns how many the network has made lately.
    ///
    /// # Errors
    /// If the budget of the network is exhausted. The sign-up is then not charged either.
    pub fn charge_sign_up_mail(
        &self,
        requester: &Requester,
        now: Instant,
    ) -> Result<u32, Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(0) };
        self.sign_up_mails.charge((), network, now).map_err(|retry_after| {
            self.sign_ups.refund((), network);
            self.refuse(Budget::SignUpMails, retry_after)
        })
    }

    /// Charges mail to an address, so that nobody is flooded. Nobody is exempt. All addresses of a mailbox count as one.
    ///
    /// Each purpose has one mail of its own, so that whoever asks for one mail cannot keep its owner from another. One more can
    /// be for any purpose but the last three: a user of another address learns whether that one is exhausted, and must not learn
    /// whether this address has a user who gets mail.
    ///
    /// # Errors
    /// If the budget of the address is exhausted.
    pub fn charge_mail(
        &self,
        email: &EmailKey,
        purpose: MailPurpose,
        now: Instant,
    ) -> Result<(), Throttled> {
        let mailbox = self.accounts.key_of(Counted::Mails(&mailbox_of(email)));
        let mut charged = self.mails.charge((mailbox, purpose), now);
        if charged.is_err() && purpose.may_have_more() {
            charged = self.more_mails.charge(mailbox, now);
        }
        charged.map(drop).map_err(|retry_after| self.refuse(Budget::Mails, retry_after))
    }

    /// Takes back the charge of a mail that is not sent.
    pub fn refund_mail(&self, email: &EmailKey, purpose: MailPurpose) {
        let mailbox = self.accounts.key_of(Counted::Mails(&mailbox_of(email)));
        self.mails.refund((mailbox, purpose));
    }

    /// Resets the budget of mail to an address whose owner has used a link or a code from a mail.
    pub fn clear_mails(&self, email: &EmailKey) {
        let mailbox = self.accounts.key_of(Counted::Mails(&mailbox_of(email)));
        for purpose in MailPurpose::ALL {
            self.mails.clear((mailbox, purpose));
        }
        self.more_mails.clear(mailbox);
    }

    /// Charges a refreshed token of a user. Verifiers must store every replaced token, so their number is limited.
    ///
    /// # Errors
    /// If the budget of the user is exhausted.
    pub fn charge_refresh(&self, user: UserId, now: Instant) -> Result<(), Throttled> {
        let exhausted = |retry_after| self.refuse(Budget::Refreshes, retry_after);
        self.refreshes.charge(self.hasher.hash_one(user), now).map(drop).map_err(exhausted)
    }

    /// Counts a wrong second factor. Returns whether there were so few lately that it may be mistyped.
    pub fn charge_mistake(&self, user: UserId, now: Instant) -> bool {
        self.mistakes.charge(self.hasher.hash_one(user), now).is_ok()
    }

    /// Forgets the wrong second factors of a user who has given a right one.
    pub fn forget_mistakes(&self, user: UserId) {
        self.mistakes.clear(self.hasher.hash_one(user));
    }

    /// Charges an invitation by a user. Each may be a mail to a stranger, so their number is limited.
    ///
    /// # Errors
    /// If the budget of the user is exhausted.
    pub fn charge_invitation(&self, user: UserId, now: Instant) -> Result<(), Throttled> {
        let exhausted = |retry_after| self.refuse(Budget::Invitations, retry_after);
        self.invitations.charge(self.hasher.hash_one(user), now).map(drop).map_err(exhausted)
    }

    /// Takes back the charge of an invitation that was not made.
    pub fn refund_invitation(&self, user: UserId) {
        self.invitations.refund(self.hasher.hash_one(user));
    }

    /// Charges a code that signs a browser of a user in to an app. A page that asks for many makes the service store each that
    /// is used, so their number is limited.
    ///
    /// # Errors
    /// If the budget of the user is exhausted.
    pub fn charge_sign_in_code(&self, user: UserId, now: Instant) -> Result<(), Throttled> {
        let exhausted = |retry_after| self.refuse(Budget::SignInCodes, retry_after);
        self.sign_in_codes.charge(self.hasher.hash_one(user), now).map(drop).map_err(exhausted)
    }

    /// Charges a change that a user makes in their own account.
    ///
    /// # Errors
    /// If the budget of the user is exhausted.
    pub fn charge_change(
        &self,
        user: UserId,
        change: OwnChange,
        now: Instant,
    ) -> Result<(), Throttled> {
        let exhausted = |retry_after| self.refuse(Budget::Changes, retry_after);
        let key = self.hasher.hash_one((user, change));
        self.changes.charge(key, now).map(drop).map_err(exhausted)
    }

    /// Checks whether one more right answer to a challenge of a user may be accepted. It is charged when it was: an answer that is sent
    /// many times at once is accepted once. What several at once exceed the budget by recovers before the next one.
    ///
    /// # Errors
    /// If the budget of the user is exhausted.
    pub fn begin_answer(&self, user: UserId, now: Instant) -> Result<RightAnswer<'_>, Throttled> {
        let key = self.hasher.hash_one(user);
        let exhausted = |retry_after| self.refuse(Budget::Answers, retry_after);
        self.answers.check(key, now).map_err(exhausted)?;
        Ok(RightAnswer::new(&self.answers, key, now))
    }

    /// Takes the changes to accounts since the last call, to save them.
    pub fn take_unsaved(&self) -> UnsavedChanges<'_> {
        UnsavedChanges::new(&self.accounts)
    }

    /// Counts stored failures, including those of other instances. `now` and `time` are the same moment.
    pub fn merge(&self, stored: &[StoredFailures], now: Instant, time: Timestamp) {
        for mark in stored.iter().filter(|failures| failures.is_unlock) {
            if self.is_new_unlock(mark.account, mark.recovered_at) {
                self.unlock_account(mark.account, now);
            }
        }
        self.accounts.merge(stored, now, time);
    }

    /// Stored failures of accounts that recover before this time need not be kept. `now` and `time` are the same moment.
    pub fn obsolete_before(&self, now: Instant, time: Timestamp) -> Timestamp {
        self.accounts.obsolete_before(now, time)
    }

    /// How often each budget has refused something since the start.
    pub fn refusals(&self) -> &Counters<Budget, 14> {
        &self.refusals
    }

    fn account_of(&self, guess: Guess, email: &EmailKey) -> AccountKey {
        self.accounts.key_of(match guess {
            Guess::Password => Counted::Passwords(email),
            Guess::Code => Counted::MailedCodes(email),
        })
    }

    /// Counts a refusal.
    fn refuse(&self, budget: Budget, retry_after: Duration) -> Throttled {
        self.refusals.add_one(budget);
        Throttled { retry_after, budget }
    }

    fn charge_account(
        &self,
        account: AccountKey,
        requester: &Requester,
        now: Instant,
    ) -> Result<(), Throttled> {
        let network = requester.limited_network();
        if let Some(network) = network {
            let charged = self.from_network.charge(account, network, now);
            charged.map_err(|retry_after| self.refuse(Budget::AccountFromNetwork, retry_after))?;
        }
        self.accounts.charge(account, now).map_err(|retry_after| {
            network.inspect(|network| self.from_network.refund(account, *network));
            self.refuse(Budget::Account, retry_after)
        })
    }

    fn charge_failure(&self, requester: &Requester, now: Instant) -> Result<(), Throttled> {
        let Some(network) = requester.limited_network() else { return Ok(()) };
        let exhausted = |retry_after| self.refuse(Budget::Network, retry_after);
        self.failures.charge((), network, now).map(drop).map_err(exhausted)
    }

    fn refund_failure(&self, limited: Option<Network>) {
        if let Some(network) = limited {
            self.failures.refund((), network);
        }
    }
}

/// The address without what follows a `+` in its local part: many mail servers deliver all such addresses to one mailbox.
fn mailbox_of(email: &EmailKey) -> EmailKey {
    let (local, domain) = email.as_str().rsplit_once('@').unwrap_or((email.as_str(), ""));
    match local.split_once('+') {
        Some((mailbox, _)) if !mailbox.is_empty() => EmailKey::of(&format!("{mailbox}@{domain}")),
        _ => email.clone(),
    }
}
