//! How a person has proved who they are.

use std::collections::BTreeSet;

use crate::credential::factor::{FactorKind, Factors};

/// A way to prove who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Method {
    /// The password.
    Password,
    /// A code, a link or an invitation that was mailed to the address.
    MailedCode,
    /// A code of an authenticator app.
    Totp,
    /// A passkey, which has verified its user by a PIN or a biometric.
    Passkey,
    /// A security key that has not verified its user.
    SecurityKey,
    /// A recovery code.
    RecoveryCode,
    /// A browser in which the user has given a second factor before and trusts it.
    TrustedDevice,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Password,
        Self::MailedCode,
        Self::Totp,
        Self::Passkey,
        Self::SecurityKey,
        Self::RecoveryCode,
        Self::TrustedDevice,
    ];

    /// Its name in the API, in conditions and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "pwd",
            Self::MailedCode => "otp",
            Self::Totp => "totp",
            Self::Passkey => "passkey",
            Self::SecurityKey => "key",
            Self::RecoveryCode => "recovery",
            Self::TrustedDevice => "device",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Its name by RFC 8176, in the claim `amr`.
    fn amr(self) -> &'static str {
        match self {
            Self::Password => "pwd",
            Self::MailedCode | Self::Totp | Self::RecoveryCode => "otp",
            Self::Passkey | Self::SecurityKey => "pop",
            Self::TrustedDevice => "rba",
        }
    }

    /// Whether it counts beside a password or a mailed code. These two are one factor: whoever reads the mail can set the
    /// password.
    fn is_second(self) -> bool {
        !matches!(self, Self::Password | Self::MailedCode)
    }
}

impl From<FactorKind> for Method {
    fn from(kind: FactorKind) -> Self {
        match kind {
            FactorKind::Passkey => Self::Passkey,
            FactorKind::SecurityKey => Self::SecurityKey,
            FactorKind::Totp => Self::Totp,
        }
    }
}

/// The ways in which a person has proved who they are, each at most once. There is none if they have registered without a
/// password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods(BTreeSet<Method>);

impl Methods {
    /// Stored methods, separated by spaces. A later version may have stored others, which are left out.
    pub(crate) fn from_store(stored: &str) -> Self {
        stored.split_whitespace().filter_map(Method::by_name).collect()
    }

    /// The names of the methods separated by spaces.
    pub fn to_text(&self) -> String {
        self.names().join(" ")
    }

    /// The names of the methods.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|method| method.name()).collect()
    }

    /// The names of the methods by RFC 8176, each once, and `mfa` if they are two factors.
    pub fn amr(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.iter().map(|method| method.amr()).collect();
        names.extend((self.strength() >= 2).then_some("mfa"));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The number of factors that they are: 2 for a passkey, or for a second factor with a password or a mailed code. Else 1.
    pub fn strength(&self) -> u8 {
        let has_first = self.contains(Method::Password) || self.contains(Method::MailedCode);
        let has_second = self.0.iter().any(|method| method.is_second());
        if self.contains(Method::Passkey) || (has_first && has_second) { 2 } else { 1 }
    }

    /// Whether they are enough for a user who holds these factors: two, if they hold any.
    pub(crate) fn are_enough_for(&self, factors: &Factors) -> bool {
        factors.is_empty() || self.strength() >= 2
    }

    /// Whether one of them answers only this site, so that no other site can pass it on.
    pub fn resist_phishing(&self) -> bool {
        self.contains(Method::Passkey) || self.contains(Method::SecurityKey)
    }

    /// The claim `acr`: `phr` for two factors of which one resists phishing, else the number of factors. OpenID's extended
    /// authentication profile has the name `phr`.
    pub fn acr(&self) -> &'static str {
        match self.strength() {
            2 if self.resist_phishing() => "phr",
            2 => "2",
            _ => "1",
        }
    }

    /// These and one more.
    #[must_use]
    pub fn with(&self, method: Method) -> Self {
        self.0.iter().copied().chain([method]).collect()
    }

    /// These but one.
    #[must_use]
    pub fn without(&self, method: Method) -> Self {
        self.0.iter().copied().filter(|other| *other != method).collect()
    }

    /// Those that count as the first factor.
    #[must_use]
    pub fn first_factors(&self) -> Self {
        self.0.iter().copied().filter(|method| !method.is_second()).collect()
    }

    /// Whether this is one of them.
    pub fn contains(&self, method: Method) -> bool {
        self.0.contains(&method)
    }
}

impl From<Method> for Methods {
    fn from(method: Method) -> Self {
        Self([method].into())
    }
}

impl FromIterator<Method> for Methods {
    fn from_iter<T: IntoIterator<Item = Method>>(methods: T) -> Self {
        Self(methods.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_as_they_were_stored() {
        let all: Methods = Method::ALL.into_iter().collect();
        assert_eq!(all.to_text(), "pwd otp totp passkey key recovery device");
        assert_eq!(Methods::from_store(&all.to_text()), all);
        assert_eq!(Methods::from_store(" telepathy pwd"), Method::Password.into());
        assert_eq!(Methods::from_store(""), Methods::default());
    }

    #[test]
    fn the_strength_is_the_number_of_factors() {
        use Method::{
            MailedCode, Passkey, Password, RecoveryCode, SecurityKey, Totp, TrustedDevice,
        };
        for (methods, strength, resists, acr, amr) in [
            (vec![], 1, false, "1", ""),
            (vec![Password], 1, false, "1", "pwd"),
            (vec![MailedCode], 1, false, "1", "otp"),
            (vec![Password, MailedCode], 1, false, "1", "otp pwd"),
            (vec![Totp], 1, false, "1", "otp"),
            (vec![Totp, RecoveryCode], 1, false, "1", "otp"),
            (vec![SecurityKey], 1, true, "1", "pop"),
            (vec![Password, Totp], 2, false, "2", "mfa otp pwd"),
            (vec![MailedCode, Totp], 2, false, "2", "mfa otp"),
            (vec![Password, RecoveryCode], 2, false, "2", "mfa otp pwd"),
            (vec![Password, TrustedDevice], 2, false, "2", "mfa pwd rba"),
            (vec![Password, SecurityKey], 2, true, "phr", "mfa pop pwd"),
            (vec![Passkey], 2, true, "phr", "mfa pop"),
        ] {
            let methods: Methods = methods.into_iter().collect();
            assert_eq!(methods.strength(), strength, "{methods:?}");
            assert_eq!(methods.resist_phishing(), resists, "{methods:?}");
            assert_eq!(methods.acr(), acr, "{methods:?}");
            assert_eq!(methods.amr().join(" "), amr, "{methods:?}");
        }
    }
}
