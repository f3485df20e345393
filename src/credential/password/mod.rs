//! Passwords, their hashes, and the hasher that computes and verifies them. Only this module uses Argon2.

mod backend;
mod common;
mod foreign;
mod hash;
mod hasher;
mod pool;
mod queue;

use std::fmt;

use zeroize::Zeroizing;

pub use self::{
    foreign::{FirebaseKeys, HashCost, HashFault, HashOptions, ScryptCost},
    hash::{Cost, PasswordHash},
    hasher::{Busy, Hasher, HasherError, Verification},
};
use crate::fault::Fault;

/// A password exactly as it was typed, never trimmed. It is wiped from memory when it is dropped.
pub struct Password(Zeroizing<String>);

impl Password {
    /// Checks a new password against the rules. Any composition of characters is allowed.
    pub fn parse(sent: String, rules: PasswordRules) -> Result<Self, Fault> {
        let password = Self::unchecked(sent);
        let characters = password.0.chars().count();
        if characters < rules.min_length {
            Err(Fault::too_short(rules.min_length))
        } else if characters > rules.max_length {
            Err(Fault::too_long(rules.max_length))
        } else if rules.refuse_common && common::is_common(&password.0) {
            Err(Fault::COMMON_PASSWORD)
        } else {
            Ok(password)
        }
    }

    /// A password that is only compared with a hash, so no rule applies.
    pub fn unchecked(sent: String) -> Self {
        Self(Zeroizing::new(sent))
    }

    /// Refuses a new password that equals the user's name, e-mail address or the address's local part, or is a word of the service
    /// and a number, if `rules` refuse common passwords.
    pub fn reject_known(
        self,
        name: &str,
        email: &str,
        service: &[&str],
        rules: PasswordRules,
    ) -> Result<Self, Fault> {
        let local_part = email.rsplit_once('@').map_or(email, |(local, _)| local);
        let lower = Zeroizing::new(self.0.to_lowercase());
        let known = [name, email, local_part];
        if rules.refuse_common && known.iter().any(|known| known.to_lowercase() == *lower) {
            return Err(Fault::OWN_NAME_OR_EMAIL);
        }
        let word = stem(&self.0);
        if rules.refuse_common
            && !word.is_empty()
            && service.iter().any(|known| stem(known) == word)
        {
            return Err(Fault::COMMON_PASSWORD);
        }
        Ok(self)
    }
}

/// A text without letter case, punctuation and a number at its end.
fn stem(text: &str) -> Zeroizing<String> {
    let mut stem: Zeroizing<String> = Zeroizing::new(String::with_capacity(text.len()));
    stem.extend(text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase));
    let length = stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    stem.truncate(length);
    stem
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The rules for a new password. Lengths are in characters (Unicode scalar values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordRules {
    pub min_length: usize,
    pub max_length: usize,
    /// Whether common passwords, the user's own name and e-mail address, and the names of the service are refused.
    pub refuse_common: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: PasswordRules =
        PasswordRules { min_length: 8, max_length: 128, refuse_common: false };
    const STRICT: PasswordRules = PasswordRules { refuse_common: true, ..RULES };

    #[test]
    fn a_password_has_8_to_128_characters_of_any_kind() {
        let check = |sent: String| {
            Password::parse(sent, RULES).map(|_| ()).map_err(|fault| fault.message().to_owned())
        };
        assert_eq!(
            check("       ".into()),
            Err("String must contain at least 8 character(s)".into())
        );
        assert_eq!(check("        ".into()), Ok(()));
        assert_eq!(check("😀".repeat(128)), Ok(()));
        assert_eq!(
            check("a".repeat(129)),
            Err("String must contain at most 128 character(s)".into())
        );
    }

    #[test]
    fn a_common_password_is_refused_if_the_rules_say_so() {
        let check = |sent: &str, rules| {
            Password::parse(sent.into(), rules)
                .map(|_| ())
                .map_err(|fault| fault.message().to_owned())
        };
        assert_eq!(check("Password1", RULES), Ok(()));
        assert_eq!(check("Password1", STRICT), Err("Too common: choose another password".into()));
        assert_eq!(check("correct horse", STRICT), Ok(()));
    }

    #[test]
    fn names_of_the_user_and_the_service_are_refused_if_common_passwords_are() {
        let (name, email) = ("Ada Lovelace", "Countess.Ada@example.com");
        let check = |sent: &str, rules| {
            let service = ["Acme & Sons", "auth.acme-sons.com", "acme-sons"];
            let checked =
                Password::unchecked(sent.into()).reject_known(name, email, &service, rules);
            checked.map(|_| ()).map_err(|fault| fault.message().to_owned())
        };
        for own in ["ada lovelace", "Ada Lovelace", "countess.ada@EXAMPLE.com", "COUNTESS.ADA"] {
            let refused = Err("Must not be your name or e-mail address".into());
            assert_eq!(check(own, STRICT), refused, "{own}");
            assert_eq!(check(own, RULES), Ok(()));
        }
        for word in ["acmesons", "Acme-Sons!", "ACME & SONS 2026", "auth.acme-sons.com"] {
            assert_eq!(
                check(word, STRICT),
                Err("Too common: choose another password".into()),
                "{word}"
            );
            assert_eq!(check(word, RULES), Ok(()));
        }
        for other in ["ada lovelace 1815", "acme horse sons", "2026 acme sons", "12345 67890"] {
            assert_eq!(check(other, STRICT), Ok(()), "{other}");
        }
    }
}
