//! Keyed hashes of what budgets count, such as logins with an e-mail address, whether an account has it or not.

use std::fmt;

use aws_lc_rs::hmac;

use crate::{
    random::random_bytes,
    user::{EmailKey, UserId},
};

/// What is counted, and for whom. Nothing that somebody types as an address leads to the key of another kind.
#[derive(Clone, Copy)]
pub enum Counted<'a> {
    /// Wrong passwords for an address.
    Passwords(&'a EmailKey),
    /// Wrong codes that were mailed to an address.
    MailedCodes(&'a EmailKey),
    /// Wrong codes of the authenticator app of a user.
    TotpCodes(UserId),
    /// Wrong recovery codes of a user.
    RecoveryCodes(UserId),
    /// Mails to a mailbox.
    Mails(&'a EmailKey),
}

impl Counted<'_> {
    /// The kind, which no two have in common.
    fn kind(self) -> &'static str {
        match self {
            // As version 0.1.0 has stored them.
            Self::Passwords(_) => "",
            Self::MailedCodes(_) => "mailed codes",
            Self::TotpCodes(_) => "totp codes",
            Self::RecoveryCodes(_) => "recovery codes",
            Self::Mails(_) => "mails",
        }
    }

    fn whose(self) -> String {
        match self {
            Self::Passwords(email) | Self::MailedCodes(email) | Self::Mails(email) => {
                email.as_str().to_owned()
            }
            Self::TotpCodes(user) | Self::RecoveryCodes(user) => user.to_string(),
        }
    }
}

/// A keyed hash of what is counted. It does not reveal an address. Without the key, a collision cannot be constructed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountKey(pub(super) [u8; Self::BYTES]);

impl AccountKey {
    /// The length of a key.
    pub(super) const BYTES: usize = 16;

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key from the store; `None` if the bytes are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// The secret from which all [`AccountKey`]s of a database are computed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountSecret([u8; 32]);

impl AccountSecret {
    pub fn random() -> Self {
        Self(*random_bytes())
    }

    /// The kind is a part of the HMAC's key and not of its input, which people can choose.
    pub fn key_of(&self, counted: Counted<'_>) -> AccountKey {
        let secret = [&self.0[..], counted.kind().as_bytes()].concat();
        let tag =
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), counted.whose().as_bytes());
        let (start, _) = tag.as_ref().split_first_chunk().expect("the tag has 32 bytes");
        AccountKey(*start)
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret from the store; `None` if the bytes are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for AccountSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nothing_that_somebody_types_leads_to_the_key_of_another_kind() {
        let (secret, user) = (AccountSecret::random(), UserId::random());
        let others = [Counted::TotpCodes(user), Counted::RecoveryCodes(user)];
        let others = others.map(|counted| secret.key_of(counted));
        let words = ["totp", "totp codes", "recovery code", "recovery codes", "codes", "mails"];
        let mut typed = vec![user.to_string(), "ada@example.com".to_owned()];
        for word in words {
            for between in ["", " ", " of ", " to ", "\0", "\n", ":"] {
                typed.push(format!("{word}{between}{user}"));
                typed.push(format!("{word}{between}ada@example.com"));
            }
        }
        let mut keys = HashSet::from(others);
        for text in &typed {
            let email = EmailKey::of(text);
            let kinds = [Counted::Passwords, Counted::MailedCodes, Counted::Mails];
            keys.extend(kinds.map(|kind| secret.key_of(kind(&email))));
        }
        assert_eq!(keys.len(), others.len() + 3 * typed.len());
    }

    #[test]
    fn wrong_passwords_have_the_keys_of_version_0_1_0() {
        let secret = AccountSecret([7; 32]);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
        let email = EmailKey::of("Ada@example.com");
        let stored = secret.key_of(Counted::Passwords(&email));
        assert_eq!(stored.as_bytes(), &hmac::sign(&key, b"ada@example.com").as_ref()[..16]);
    }
}
