//! `[password]`: rules for new passwords, and what hashing one costs.

use std::num::NonZeroUsize;

use super::{
    key::Key,
    value::{Choice, Number, TRUE_OR_FALSE, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "password.min_length",
        purpose: "Minimum length of a new password in characters, at most password.max_length",
        value: &Number { field: field!(password_rules.min_length), range: 1..=1024 },
    },
    Key {
        name: "password.max_length",
        purpose: "Maximum length of a new password in characters",
        value: &Number { field: field!(password_rules.max_length), range: 64..=1024 },
    },
    Key {
        name: "password.refuse_common",
        purpose: "Whether to refuse common passwords and the user's own name or e-mail address",
        value: &Choice { field: field!(password_rules.refuse_common), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "password.memory_kib",
        purpose: "Memory that one hash takes, in KiB; stored hashes are renewed at the next login",
        value: &Number { field: field!(password_cost.memory_kib), range: 7168..=1 << 20 },
    },
    Key {
        name: "password.passes",
        purpose: "Passes over that memory",
        value: &Number { field: field!(password_cost.passes), range: 1..=16 },
    },
    Key {
        name: "password.threads",
        purpose: "Passwords that are hashed at the same time; one per core by default",
        value: &Number { field: field!(password_threads), range: NonZeroUsize::MIN..=MAX_THREADS },
    },
];

const MAX_THREADS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
