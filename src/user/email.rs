//! E-mail addresses of users.

use std::fmt;

use serde::Serialize;

use crate::{fault::Fault, json_schema::text_schema};

/// An e-mail address, in the letter case of the request.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Email(String);

text_schema!(Email as "Email" {
    "description": format!("An e-mail address, with at most {} characters before the @", Email::MAX_LOCAL_BYTES),
    "maxLength": Email::MAX_BYTES,
    "pattern": r"^([A-Za-z0-9_'+-]+\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$",
    "not": { "pattern": format!("^[^@]{{{}}}", Email::MAX_LOCAL_BYTES + 1) },
});

impl Email {
    pub(crate) const MAX_BYTES: usize = 254;
    pub(crate) const MAX_LOCAL_BYTES: usize = 64;

    /// Validates an address by the grammar of zod 3.23 and the length limits of RFC 5321.
    ///
    /// # Errors
    /// A message for the user if the address is not valid.
    pub fn parse(sent: String) -> Result<Self, Fault> {
        if is_valid_email(&sent) { Ok(Self(sent)) } else { Err(Fault::INVALID_EMAIL) }
    }

    /// A stored address, which has been validated before.
    pub(crate) fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The normalised form, under which the address is unique and is looked up.
    pub fn key(&self) -> EmailKey {
        EmailKey::of(&self.0)
    }
}

/// Does not show the address, which is personal data and must not reach a log.
impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// The normalised form of an address, for the unique index, look-ups and throttling.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EmailKey(String);

impl EmailKey {
    /// The key of an address, which need not be valid.
    pub fn of(typed: &str) -> Self {
        Self(typed.to_ascii_lowercase())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EmailKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailKey(…)")
    }
}

fn is_valid_email(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let within_bounds = address.len() <= Email::MAX_BYTES && local.len() <= Email::MAX_LOCAL_BYTES;
    within_bounds && !address.contains("..") && is_valid_local(local) && is_valid_domain(domain)
}

fn is_valid_local(local: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_'+-.".contains(&b);
    !local.starts_with('.')
        && local.bytes().all(allowed)
        && local.bytes().last().is_some_and(|last| last != b'.' && last != b'\'')
}

fn is_valid_domain(domain: &str) -> bool {
    let Some((labels, top)) = domain.rsplit_once('.') else { return false };
    let valid_label = |label: &str| {
        label.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    labels.split('.').all(valid_label)
        && top.len() >= 2
        && top.bytes().all(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_mail_addresses_are_validated_as_by_zod_3_23() {
        let accepted = [
            "a@b.co",
            "o'brien@x.com",
            "a+b@x.com",
            "a@xn--e1afmkfd.com",
            "a@1.2.3.4.com",
            "A@B.CO",
            "a_b-c@x-y.org",
            "a@example-.com",
            "a+tag@b.co.uk",
            "'a@x.com",
            "-@x.com",
        ];
        let refused = [
            "",
            "a",
            "@",
            "a@",
            "@x.com",
            "a@b",
            "a@b.c",
            "a@localhost",
            "a@127.0.0.1",
            "a@[127.0.0.1]",
            "a@example.c0m",
            "a@example.xn--p1ai",
            "john..doe@x.com",
            ".john@x.com",
            "john.@x.com",
            "a&b@x.com",
            "a!b@x.com",
            "a#b@x.com",
            "a/b@x.com",
            "a=b@x.com",
            "a{b}@x.com",
            "a~b@x.com",
            "a%b@x.com",
            "a*b@x.com",
            "o'@x.com",
            "\"a b\"@x.com",
            "ü@x.com",
            "a@müller.de",
            "a@ex_ample.com",
            "Joe <a@x.com>",
            " a@x.com",
            "a@x.com ",
            "a@x.com\n",
            "a@@x.com",
            "a@b@x.com",
            "a@x..com",
            "a@x.com.",
            "a@-b.co",
            "a@.co",
            "a,b@x.com",
            "a\u{0}@x.com",
        ];
        for address in accepted {
            assert!(is_valid_email(address), "{address:?} should be accepted");
        }
        for address in refused {
            assert!(!is_valid_email(address), "{address:?} should be refused");
        }
    }

    #[test]
    fn e_mail_addresses_have_the_length_limits_of_rfc_5321() {
        let of_lengths = |local: usize, total: usize| {
            format!("{}@{}.com", "l".repeat(local), "d".repeat(total - local - 5))
        };
        assert!(is_valid_email(&of_lengths(64, 254)));
        assert!(!is_valid_email(&of_lengths(65, 254)));
        assert!(!is_valid_email(&of_lengths(64, 255)));
    }
}
