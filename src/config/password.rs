//! `[password]`: rules for new passwords, and what hashing one costs.

use std::num::NonZeroUsize;

use super::{
    Settings,
    key::Key,
    value::{Choice, Number, field},
};
use crate::credential::password::PasswordRules;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "password.min_length",
        purpose: "Minimum length of a new password in characters, at most password.max_length",
        value: &Number { field: field!(password.min_length), range: 1..=1024 },
    },
    Key {
        name: "password.max_length",
        purpose: "Maximum length of a new password in characters",
        value: &Number { field: field!(password.max_length), range: 64..=1024 },
    },
    Key {
        name: "password.refuse_common",
        purpose: "Whether to refuse common passwords, the user's own name or e-mail address, and names of the service; auto is true if the public URL is https",
        value: &Choice { field: field!(password.refuse_common), choices: CommonPasswords::NAMES },
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

/// What new passwords must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PasswordSettings {
    pub(super) min_length: usize,
    pub(super) max_length: usize,
    pub(super) refuse_common: CommonPasswords,
}

/// Whether common passwords are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommonPasswords {
    /// If the public URL is https. The service document accepts every password of the right length, and people reach a
    /// service that is in use through https.
    Auto,
    Refused,
    Accepted,
}

impl CommonPasswords {
    const NAMES: &[(&str, Self)] =
        &[("auto", Self::Auto), ("true", Self::Refused), ("false", Self::Accepted)];
}

impl Default for PasswordSettings {
    fn default() -> Self {
        Self { min_length: 8, max_length: 128, refuse_common: CommonPasswords::Auto }
    }
}

impl Settings {
    /// The rules for a new password.
    pub(crate) fn password_rules(&self) -> PasswordRules {
        let PasswordSettings { min_length, max_length, refuse_common } = self.password;
        let refuse_common = match refuse_common {
            CommonPasswords::Auto => self.is_reached_by_https(),
            CommonPasswords::Refused => true,
            CommonPasswords::Accepted => false,
        };
        PasswordRules { min_length, max_length, refuse_common }
    }

    /// Whether common passwords are refused, and why.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn common_passwords(&self) -> &'static str {
        match (self.password.refuse_common, self.is_reached_by_https()) {
            (CommonPasswords::Auto, true) => "refused, because the public URL is https",
            (CommonPasswords::Auto, false) => "accepted, because the public URL is not https",
            (CommonPasswords::Refused, _) => "refused, because password.refuse_common is true",
            (CommonPasswords::Accepted, _) => "accepted, because password.refuse_common is false",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    #[test]
    fn common_passwords_are_refused_where_the_public_url_is_https_unless_set() {
        let https = "public_url = 'https://auth.example.com'\n";
        let http = "public_url = 'http://auth.example.com'\n";
        let tls = "tls = { certificate = 'a.pem', key = 'b.pem' }\n";
        for (file, by_default) in [("", false), (http, false), (https, true), (tls, true)] {
            let refuses = |line: &str| {
                let settings = load(&[], &[], &format!("{file}{line}")).unwrap();
                let refuses = settings.password_rules().refuse_common;
                let word = if refuses { "refused, " } else { "accepted, " };
                assert!(settings.common_passwords().starts_with(word), "{file}{line}");
                refuses
            };
            assert_eq!(refuses(""), by_default, "{file}");
            assert_eq!(refuses("password.refuse_common = 'auto'"), by_default, "{file}");
            assert!(refuses("password.refuse_common = true"), "{file}");
            assert!(!refuses("password.refuse_common = false"), "{file}");
        }
    }
}
