//! The latest failed logins and their reasons, for the log and `doorward why --user`. Kept in memory, bounded, without
//! e-mail addresses.

use std::{
    cmp::Reverse,
    collections::VecDeque,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    clock::Timestamp,
    count::labels,
    network::Network,
    throttle::{Budget, Throttled},
    user::{EmailKey, UserId},
};

/// Why a login failed. The response does not show the reason, unless the login was throttled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginRefusal {
    UnknownAddress,
    Disabled,
    NoPassword,
    WrongPassword,
    /// The mailed code is wrong, has expired or was used.
    WrongCode,
    /// The password was right, and the second factor was wrong.
    WrongFactor,
    /// The code of the second factor was used before.
    FactorUsed,
    /// The address is not verified, which sign-in needs where sign-up does not tell whether an address is taken.
    Unverified,
    /// People of the domain of the address sign in elsewhere (`only_for`).
    OnlyElsewhere,
    /// Too many logins to the account have failed.
    AccountThrottled,
    /// Too many requests from the network have failed.
    NetworkThrottled,
    /// The user was deleted, disabled or given another password during the login.
    Gone,
}

labels!(LoginRefusal {
    UnknownAddress => "unknown_address",
    Disabled => "disabled",
    NoPassword => "no_password",
    WrongPassword => "wrong_password",
    WrongCode => "wrong_code",
    WrongFactor => "wrong_factor",
    FactorUsed => "factor_used",
    Unverified => "unverified_address",
    OnlyElsewhere => "only_elsewhere",
    AccountThrottled => "account_throttled",
    NetworkThrottled => "network_throttled",
    Gone => "gone",
});

impl LoginRefusal {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::UnknownAddress => "unknown address",
            Self::Disabled => "disabled",
            Self::NoPassword => "no password",
            Self::WrongPassword => "wrong password",
            Self::WrongCode => "wrong code",
            Self::WrongFactor => "wrong second factor",
            Self::FactorUsed => "the code of the second factor was used before",
            Self::Unverified => "the address is not verified",
            Self::OnlyElsewhere => "the domain of the address signs in elsewhere",
            Self::AccountThrottled => "throttled: too many failed logins on the account",
            Self::NetworkThrottled => "throttled: too many failures from the network",
            Self::Gone => "changed or deleted during the login",
        }
    }
}

impl fmt::Display for LoginRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl From<Throttled> for LoginRefusal {
    fn from(throttled: Throttled) -> Self {
        match throttled.budget {
            Budget::Network => Self::NetworkThrottled,
            _ => Self::AccountThrottled,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct FailedLogin {
    pub time: Timestamp,
    pub reason: LoginRefusal,
    pub network: Network,
    /// The user, if there is one with the address.
    user: Option<UserId>,
    /// A keyed hash of the address, to find the login by address.
    address: u64,
    /// A sequence number, because several logins may fail at the same time.
    number: u64,
}

/// The latest failed logins. Those of existing users are kept separately, so that logins with many unknown addresses cannot
/// displace them.
#[derive(Default)]
pub struct FailedLogins {
    of_users: Mutex<VecDeque<FailedLogin>>,
    of_others: Mutex<VecDeque<FailedLogin>>,
    keyed: RandomState,
    count: AtomicU64,
}

impl FailedLogins {
    /// The most failed logins of each kind.
    const MAX_OF_EACH: usize = 5000;
    /// The most failed logins in one report.
    const MAX_REPORTED: usize = 50;

    /// Keeps a failed login.
    pub(super) fn record(
        &self,
        reason: LoginRefusal,
        user: Option<UserId>,
        email: &EmailKey,
        network: Network,
        time: Timestamp,
    ) {
        let address = self.keyed.hash_one(email.as_str());
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let failed = FailedLogin { time, reason, network, user, address, number };
        let kept = if user.is_some() { &self.of_users } else { &self.of_others };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == Self::MAX_OF_EACH {
            kept.pop_front();
        }
        kept.push_back(failed);
    }

    /// The latest failed logins with this address or of this user, newest first.
    pub fn recent(&self, email: &EmailKey, user: Option<UserId>) -> Vec<FailedLogin> {
        let address = self.keyed.hash_one(email.as_str());
        let is_theirs = |failed: &&FailedLogin| {
            failed.address == address || user.is_some() && failed.user == user
        };
        let mut found: Vec<_> = [&self.of_users, &self.of_others]
            .into_iter()
            .flat_map(|kept| {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.iter()
                    .rev()
                    .filter(is_theirs)
                    .take(Self::MAX_REPORTED)
                    .copied()
                    .collect::<Vec<_>>()
            })
            .collect();
        found.sort_by_key(|failed| Reverse(failed.number));
        found.truncate(Self::MAX_REPORTED);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::sample::NOW;

    fn at(seconds: u64) -> Timestamp {
        NOW + std::time::Duration::from_secs(seconds)
    }

    #[test]
    fn failed_logins_are_found_by_address_and_by_user_newest_first() {
        let (logins, ada) = (FailedLogins::default(), UserId::random());
        let network = Network::at([192, 0, 2, 1].into());
        let (old, new) = (EmailKey::of("Ada@example.com"), EmailKey::of("new@example.com"));
        logins.record(LoginRefusal::WrongPassword, Some(ada), &old, network, at(1));
        logins.record(LoginRefusal::AccountThrottled, None, &old, network, at(2));
        logins.record(LoginRefusal::Disabled, Some(ada), &new, network, at(3));
        logins.record(LoginRefusal::UnknownAddress, None, &EmailKey::of("x@y.z"), network, at(4));
        let reasons = |email, user| {
            let recent = logins.recent(&EmailKey::of(email), user);
            recent.iter().map(|failed| failed.reason).collect::<Vec<_>>()
        };
        let (wrong, throttled, disabled) =
            (LoginRefusal::WrongPassword, LoginRefusal::AccountThrottled, LoginRefusal::Disabled);
        assert_eq!(reasons("ada@EXAMPLE.com", None), [throttled, wrong]);
        assert_eq!(reasons("new@example.com", Some(ada)), [disabled, wrong]);
        assert_eq!(reasons("x@y.z", None), [LoginRefusal::UnknownAddress]);
        assert_eq!(reasons("nobody@example.com", None), []);
    }

    #[test]
    fn many_unknown_addresses_do_not_displace_failed_logins_of_users() {
        let (logins, ada) = (FailedLogins::default(), UserId::random());
        let network = Network::at([192, 0, 2, 1].into());
        let email = EmailKey::of("ada@example.com");
        logins.record(LoginRefusal::WrongPassword, Some(ada), &email, network, at(0));
        for number in 0..=FailedLogins::MAX_OF_EACH {
            let made_up = EmailKey::of(&format!("{number}@example.com"));
            logins.record(LoginRefusal::UnknownAddress, None, &made_up, network, at(1));
        }
        assert_eq!(logins.recent(&email, None).len(), 1);
        assert_eq!(logins.recent(&EmailKey::of("0@example.com"), None).len(), 0, "displaced");
        assert_eq!(logins.of_others.lock().unwrap().len(), FailedLogins::MAX_OF_EACH);
    }
}
