//! A login between its charge and its outcome.

use std::time::Instant;

use super::{AccountKey, Throttle};
use crate::network::{Network, Requester};

/// A login that has been charged. It counts as a failure if it is dropped without an outcome, for example because the caller
/// disconnects.
#[must_use = "a login counts as failed unless `succeeded` or `cancel` is called"]
pub struct LoginAttempt<'a> {
    throttle: &'a Throttle,
    account: AccountKey,
    network: Network,
    /// The network whose budgets are charged; `None` if the requester is exempt.
    limited: Option<Network>,
    charged_to: ChargedTo,
    charged_at: Instant,
    outcome: Outcome,
}

/// Which of the account's budgets was charged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChargedTo {
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
    pub(super) fn new(
        throttle: &'a Throttle,
        account: AccountKey,
        requester: &Requester,
        charged_to: ChargedTo,
        charged_at: Instant,
    ) -> Self {
        let (network, limited) = (requester.network(), requester.limited_network());
        let outcome = Outcome::Failed;
        Self { throttle, account, network, limited, charged_to, charged_at, outcome }
    }

    /// The password was right: refunds the login and clears the failures on the account.
    pub fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }

    /// The password was not checked: refunds the login.
    pub fn cancel(mut self) {
        self.outcome = Outcome::Cancelled;
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        let Self { throttle, account, network, limited, charged_to, charged_at, outcome } = *self;
        match (outcome, charged_to) {
            (Outcome::Failed, ChargedTo::Account) => throttle.accounts.fail(account, charged_at),
            (Outcome::Failed, ChargedTo::KnownNetwork) => {}
            (_, ChargedTo::Account) => {
                throttle.accounts.refund(account, charged_at);
                limited.inspect(|network| throttle.from_network.refund(account, *network));
            }
            (_, ChargedTo::KnownNetwork) => {
                throttle.from_known_network.refund((account, network));
            }
        }
        if outcome != Outcome::Failed {
            throttle.refund_failure(limited);
        }
        if outcome == Outcome::Succeeded {
            throttle.accounts.clear(account, charged_at);
            throttle.from_known_network.clear((account, network));
            limited.inspect(|network| throttle.from_network.clear(account, *network));
        }
    }
}
