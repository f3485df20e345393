//! One-time secrets. A person receives one by mail and proves with it that the address is theirs: a link contains the secret, and
//! a code to type stands beside it. Both are derived from an id, so that a mail in the outbox contains neither. The operator gives
//! people one to reset a password with.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::shared_secret::SharedSecret;
use crate::{
    clock::Timestamp,
    id::{Id, id},
    sha256::sha256,
    user::{Email, EmailKey, PasswordVersion, User, UserId},
};

id!(
    /// The id of a one-time secret.
    OneTimeId
);

/// What a one-time secret is for. One of another purpose is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    VerifyEmail,
    /// Replaces the user's address with a new one.
    ChangeEmail,
    /// Takes back a change of the address.
    RestoreEmail,
    ResetPassword,
    /// Sets a new password, and comes from the operator: it says nothing about the address.
    OperatorReset,
    SignIn,
    /// Registers with an invitation.
    Invitation,
    /// Removes all second factors, and comes from the operator.
    FactorReset,
    /// Proves an address that another provider has not verified. Only its code is used, and nothing is stored but guesses.
    ProveAddress,
}

impl Purpose {
    const ALL: [Self; 9] = [
        Self::VerifyEmail,
        Self::ChangeEmail,
        Self::RestoreEmail,
        Self::ResetPassword,
        Self::OperatorReset,
        Self::SignIn,
        Self::Invitation,
        Self::FactorReset,
        Self::ProveAddress,
    ];

    /// The text to store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify_email",
            Self::ChangeEmail => "change_email",
            Self::RestoreEmail => "restore_email",
            Self::ResetPassword => "reset_password",
            Self::OperatorReset => "operator_reset",
            Self::SignIn => "sign_in",
            Self::Invitation => "invitation",
            Self::FactorReset => "factor_reset",
            Self::ProveAddress => "prove_address",
        }
    }

    /// How long a secret can be used. The operator may choose another time for an invitation.
    pub const fn lifetime(self) -> Duration {
        const MINUTE: Duration = Duration::from_secs(60);
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        match self {
            Self::VerifyEmail | Self::ChangeEmail => DAY.saturating_mul(3),
            Self::RestoreEmail | Self::Invitation => DAY.saturating_mul(7),
            Self::ResetPassword => MINUTE.saturating_mul(60),
            Self::OperatorReset | Self::FactorReset => MINUTE.saturating_mul(30),
            // OWASP ASVS 6.5.5.
            Self::SignIn | Self::ProveAddress => MINUTE.saturating_mul(10),
        }
    }

    /// Whether a code of eight digits can be typed in place of the secret. Taking back a change of the address needs the link: it
    /// gives the account to its holder, and the address may have been given up years ago. The operator gives the secret itself.
    pub const fn has_code(self) -> bool {
        !matches!(self, Self::RestoreEmail | Self::OperatorReset | Self::FactorReset)
    }

    pub(crate) fn from_store(stored: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == stored)
    }
}

/// A one-time secret as the store keeps it: everything but the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTime {
    /// The id, from which the secret is derived.
    pub id: OneTimeId,
    pub purpose: Purpose,
    /// The user who may use it.
    pub user_id: UserId,
    /// The address that it was sent to. It is the user's for one from the operator.
    pub email: Email,
    /// The user's address when it was made. It is void when the user has another one.
    pub user_email: Email,
    /// The user's password when it was made. It is void when the user has another one.
    pub password_version: PasswordVersion,
    /// The SHA-256 of the secret.
    pub digest: SecretDigest,
    pub expires_at: Timestamp,
    /// How many codes were typed for it. Its code is void after [`MAX_GUESSES`], its link is not.
    pub guesses: u32,
}

/// How many typed codes are ever compared with one secret. Each is counted before it is compared.
pub const MAX_GUESSES: u32 = 10;

impl OneTime {
    /// Whether the user can use it now. A change of the address can be taken back even if the address or the password has
    /// changed again, because an intruder would change them.
    pub fn is_valid_for(&self, user: &User, now: Timestamp) -> bool {
        let is_bound = self.user_email == user.email
            && self.password_version == user.password_version
            || self.purpose == Purpose::RestoreEmail;
        self.user_id == user.id && self.expires_at > now && !user.disabled && is_bound
    }
}

/// Derives secrets and codes from ids. Its key can be replaced, which makes all earlier ones void.
pub struct OneTimeMint {
    key: ArcSwap<hmac::Key>,
}

impl OneTimeMint {
    /// A mint with a key derived from this secret.
    pub fn new(secret: &SharedSecret) -> Self {
        Self { key: ArcSwap::from_pointee(derive(secret)) }
    }

    /// Replaces the secret that the key is derived from.
    pub fn replace_secret(&self, secret: &SharedSecret) {
        self.key.store(Arc::new(derive(secret)));
    }

    /// The secret in the link: 256 bits. One from the operator has 128, in hexadecimal digits, because people may have to type it.
    pub fn secret(&self, id: OneTimeId, purpose: Purpose) -> OneTimeSecret {
        let tag = self.tag(b"secret", id, purpose);
        OneTimeSecret(Zeroizing::new(match purpose {
            Purpose::OperatorReset => format!("{:032x}", first_bits(&tag)),
            _ => BASE64_URL_SAFE_NO_PAD.encode(tag),
        }))
    }

    /// The code to type.
    pub fn code(&self, id: OneTimeId, purpose: Purpose) -> OneTimeCode {
        let tag = self.tag(b"code", id, purpose);
        let number = first_bits(&tag) % 10_u128.pow(OneTimeCode::DIGITS);
        OneTimeCode(Zeroizing::new(format!("{number:08}")))
    }

    /// An id that nobody without the key can foresee, and that is the same for the same text.
    pub(crate) fn derived_id(&self, text: &str) -> Uuid {
        let tag = hmac::sign(&self.key.load(), &[b"id ", text.as_bytes()].concat());
        uuid::Builder::from_random_bytes(first_bits(&tag).to_be_bytes()).into_uuid()
    }

    fn tag(&self, kind: &[u8], id: OneTimeId, purpose: Purpose) -> hmac::Tag {
        let input = [kind, b" ", purpose.as_str().as_bytes(), b" ", id.uuid().as_bytes()].concat();
        hmac::sign(&self.key.load(), &input)
    }
}

fn first_bits(tag: &hmac::Tag) -> u128 {
    let (start, _) = tag.as_ref().split_first_chunk().expect("the tag has 32 bytes");
    u128::from_be_bytes(*start)
}

fn derive(secret: &SharedSecret) -> hmac::Key {
    let master = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let key = hmac::sign(&master, b"doorward 1 one-time secret");
    hmac::Key::new(hmac::HMAC_SHA256, key.as_ref())
}

/// The secret in a link or from the operator. Its holder can do what it is for.
pub struct OneTimeSecret(Zeroizing<String>);

impl OneTimeSecret {
    /// A secret from a request, which may be any text.
    pub fn unchecked(sent: String) -> Self {
        Self(Zeroizing::new(sent))
    }

    /// The secret itself, to be shown once.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest, which is all that is stored.
    pub fn digest(&self) -> SecretDigest {
        SecretDigest(sha256(self.0.as_bytes()).to_vec())
    }
}

impl fmt::Debug for OneTimeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimeSecret(…)")
    }
}

/// A code to type: 8 digits. Of what people type for one secret, [`MAX_GUESSES`] codes are compared with it.
pub struct OneTimeCode(Zeroizing<String>);

impl OneTimeCode {
    const DIGITS: u32 = 8;

    /// A code as a person typed it, with or without spaces and hyphens; `None` if it cannot be one.
    pub fn parse(typed: &str) -> Option<Self> {
        let is_separator = |c: char| c.is_whitespace() || c == '-' || c == '\u{2011}';
        let mut digits = Zeroizing::new(String::with_capacity(Self::DIGITS as usize));
        for c in typed.chars().filter(|c| !is_separator(*c)) {
            if !c.is_ascii_digit() || digits.len() == Self::DIGITS as usize {
                return None;
            }
            digits.push(c);
        }
        (digits.len() == Self::DIGITS as usize).then_some(Self(digits))
    }

    /// The code in two groups, as it is shown.
    pub fn to_text(&self) -> String {
        let (first, second) = self.0.split_at(Self::DIGITS as usize / 2);
        format!("{first} {second}")
    }

    /// Whether both are the same code, in a time that does not depend on the digits.
    pub fn matches(&self, other: &Self) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), other.0.as_bytes()).is_ok()
    }
}

impl fmt::Debug for OneTimeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimeCode(…)")
    }
}

/// What a person presents: the secret of a link, or a code with the address that it was sent to.
#[derive(Debug)]
pub enum LinkOrCode {
    /// The secret of a link.
    Secret(SecretDigest),
    /// A typed code.
    Code {
        /// The address that the mail was sent to.
        email: EmailKey,
        code: OneTimeCode,
    },
}

impl LinkOrCode {
    /// What was sent as a code, with an address if there was one. A text that cannot be a code to type is a secret.
    pub fn parse(code: &str, email: Option<EmailKey>) -> Self {
        match (OneTimeCode::parse(code), email) {
            (Some(code), Some(email)) => Self::Code { email, code },
            _ => Self::Secret(OneTimeSecret::unchecked(code.trim().to_owned()).digest()),
        }
    }
}

/// The SHA-256 of a secret. It identifies the secret without revealing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretDigest(Vec<u8>);

impl SecretDigest {
    pub(crate) fn from_store(stored: Vec<u8>) -> Self {
        Self(stored)
    }

    /// The digest, for the store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_codes_depend_on_the_id_the_purpose_and_the_key() {
        let (mint, other) =
            (OneTimeMint::new(&SharedSecret::random()), OneTimeMint::new(&SharedSecret::random()));
        let (id, purpose) = (OneTimeId::random(), Purpose::SignIn);
        let secret = mint.secret(id, purpose);
        assert_eq!(secret.as_str().len(), 43);
        assert_eq!(mint.secret(id, Purpose::OperatorReset).as_str().len(), 32);
        assert_eq!(secret.as_str(), mint.secret(id, purpose).as_str());
        assert!(mint.code(id, purpose).matches(&mint.code(id, purpose)));
        for different in [
            mint.secret(OneTimeId::random(), purpose),
            mint.secret(id, Purpose::ResetPassword),
            other.secret(id, purpose),
        ] {
            assert_ne!(secret.as_str(), different.as_str());
            assert_ne!(secret.digest(), different.digest());
        }
        assert!(!mint.code(id, purpose).matches(&other.code(id, purpose)));
        assert!(!format!("{secret:?}{:?}", mint.code(id, purpose)).contains(secret.as_str()));
    }

    #[test]
    fn a_code_is_typed_with_or_without_separators() {
        let code = OneTimeCode::parse("12345678").unwrap();
        assert_eq!(code.to_text(), "1234 5678");
        for typed in ["1234 5678", " 1234-5678 ", "12 34 56 78", "1234\u{a0}5678"] {
            assert!(OneTimeCode::parse(typed).unwrap().matches(&code), "{typed}");
        }
        for other in ["", "1234567", "123456789", "1234567x", "１２３４５６７８"] {
            assert!(OneTimeCode::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn every_purpose_is_stored_under_its_own_text() {
        for purpose in Purpose::ALL {
            assert_eq!(Purpose::from_store(purpose.as_str()), Some(purpose));
        }
        assert_eq!(Purpose::from_store("other"), None);
    }
}
