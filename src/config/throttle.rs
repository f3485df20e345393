//! `[throttle]`: budgets of failed logins, sign-ups and mail.

use std::time::Duration;

use super::{
    key::Key,
    value::{MINUTE, Number, Seconds, days, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "throttle.account_failures",
        purpose: "Failed logins in a row on one account, from all networks together",
        value: &Number { field: field!(throttle.account_failures), range: 5..=100 },
    },
    Key {
        name: "throttle.account_recovery",
        purpose: "Time until one failed login on an account expires; a successful login clears all of them",
        value: &Seconds {
            field: field!(throttle.account_recovery),
            range: Duration::from_secs(10 * MINUTE.as_secs())..=days(30),
            examples: "1h or 1d",
        },
    },
    Key {
        name: "throttle.account_failures_per_network",
        purpose: "Failed logins on one account from one network; a network that its owner has used has a second budget of this size",
        value: &Number { field: field!(throttle.account_failures_per_network), range: 3..=100 },
    },
    Key {
        name: "throttle.network_recovery",
        purpose: "Time until one failed login on an account from one network expires",
        value: &Seconds {
            field: field!(throttle.network_recovery),
            range: MINUTE..=days(1),
            examples: "10m or 1h",
        },
    },
    Key {
        name: "throttle.network_failures",
        purpose: "Failed logins and wrong reset codes of one network on all accounts; one expires each second",
        value: &Number { field: field!(throttle.network_failures), range: 10..=100_000 },
    },
    Key {
        name: "throttle.network_sign_ups",
        purpose: "Sign-ups from one network in an hour",
        value: &Number { field: field!(throttle.network_sign_ups), range: 1..=100_000 },
    },
    Key {
        name: "throttle.network_mails",
        purpose: "Mails that one network can ask for in an hour, and as many more by sign-ups",
        value: &Number { field: field!(throttle.network_mails), range: 1..=100_000 },
    },
];
