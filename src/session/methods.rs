//! How a person has proved who they are.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::{
    clock::Timestamp,
    credential::factor::{FactorKind, Factors},
};

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
    /// A sign-in at another provider.
    External,
    /// A sign-in at another provider that counts as a second factor, too.
    ExternalMfa,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Password,
        Self::MailedCode,
        Self::Totp,
        Self::Passkey,
        Self::SecurityKey,
        Self::RecoveryCode,
        Self::TrustedDevice,
        Self::External,
        Self::ExternalMfa,
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
            Self::External => "external",
            Self::ExternalMfa => "external-mfa",
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
            // Not registered; Microsoft has the name, too.
            Self::External | Self::ExternalMfa => "fed",
        }
    }

    /// Whether it counts beside a password, a mailed code or a sign-in at another provider. These are one factor: whoever reads the
    /// mail can set the password, here and there.
    fn is_second(self) -> bool {
        !matches!(self, Self::Password | Self::MailedCode | Self::External)
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

/// The ways in which a person has proved who they are, each with the time at which they did. There is none if they have
/// registered without a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods(BTreeMap<Method, Timestamp>);

/// Their names.
impl Serialize for Methods {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Method::name))
    }
}

impl JsonSchema for Methods {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Methods".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "description":
                "How they did: `pwd`, the password; `otp`, a mailed code, link or invitation; `totp`, an authenticator app; \
                 `passkey`; `key`, a security key without a PIN; `recovery`, a recovery code; `device`, a trusted browser; \
                 `external`, another provider; `external-mfa`, another provider whose sign-in counts as a second factor",
            "items": { "type": "string", "enum": Method::ALL.map(Method::name) },
            "uniqueItems": true,
        })
    }
}

impl Methods {
    /// These, all given at this time.
    pub fn at(time: Timestamp, methods: impl IntoIterator<Item = Method>) -> Self {
        Self(methods.into_iter().map(|method| (method, time)).collect())
    }

    /// Stored methods, separated by spaces, each followed by its time. One without a time was given at `otherwise`. A later
    /// version may have stored others, which are left out.
    pub(crate) fn from_store(stored: &str, otherwise: Timestamp) -> Self {
        let parse = |word: &str| {
            let (name, time) = match word.split_once(TIME) {
                Some((name, millis)) => (name, Timestamp::from_millis(millis.parse().ok()?)),
                None => (word, otherwise),
            };
            Some((Method::by_name(name)?, time))
        };
        Self(stored.split_whitespace().filter_map(parse).collect())
    }

    /// What [`Self::from_store`] reads.
    pub(crate) fn to_store(&self) -> String {
        let words = self.0.iter().map(|(method, time)| {
            let (name, millis) = (method.name(), time.millis());
            format!("{name}{TIME}{millis}")
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// The names of the methods separated by spaces.
    pub fn to_text(&self) -> String {
        self.names().join(" ")
    }

    /// The names of the methods.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(Method::name).collect()
    }

    /// The methods without their times.
    pub fn iter(&self) -> impl Iterator<Item = Method> {
        self.0.keys().copied()
    }

    /// The names of the methods by RFC 8176, each once, and `mfa` if they are two factors.
    pub fn amr(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.iter().map(Method::amr).collect();
        names.extend((self.strength() >= 2).then_some("mfa"));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The number of factors that they are: 2 for a passkey, or for a second factor with a password, a mailed code or a sign-in at another
    /// provider. Else 1.
    pub fn strength(&self) -> u8 {
        let has_first = self.iter().any(|method| !method.is_second());
        let has_second = self.iter().any(Method::is_second);
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

    /// When the first of them was given: all of them are at most this old. `None` if there is none.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.0.values().copied().min()
    }

    /// These and one more. Of a method that was given twice, the last time counts.
    #[must_use]
    pub fn with(&self, method: Method, time: Timestamp) -> Self {
        Self(self.0.clone().into_iter().chain([(method, time)]).collect())
    }

    /// Those of them that were given after this time.
    #[must_use]
    pub(crate) fn given_after(&self, time: Timestamp) -> Self {
        self.filtered(|_, given| given > time)
    }

    /// Those of them that were given at this time or before.
    #[must_use]
    pub(crate) fn given_until(&self, time: Timestamp) -> Self {
        self.filtered(|_, given| given <= time)
    }

    /// These but one.
    #[must_use]
    pub fn without(&self, method: Method) -> Self {
        self.filtered(|other, _| other != method)
    }

    /// Those that count as the first factor.
    #[must_use]
    pub fn first_factors(&self) -> Self {
        self.filtered(|method, _| !method.is_second())
    }

    /// Those that somebody can have given who holds these factors.
    #[must_use]
    pub(crate) fn of_holder(&self, factors: &Factors) -> Self {
        self.filtered(|method, _| match method {
            Method::Password | Method::MailedCode | Method::External | Method::ExternalMfa => true,
            Method::Totp => factors.contains(FactorKind::Totp),
            Method::Passkey => factors.contains(FactorKind::Passkey),
            // A passkey need not verify its user.
            Method::SecurityKey => factors.resist_phishing(),
            Method::RecoveryCode | Method::TrustedDevice => !factors.is_empty(),
        })
    }

    /// These as if they had been given at this time at the latest.
    #[must_use]
    pub(crate) fn at_the_latest(&self, time: Timestamp) -> Self {
        Self(self.0.iter().map(|(method, given)| (*method, time.min(*given))).collect())
    }

    /// These, of which those after this time count as given at the earliest time.
    #[must_use]
    pub(crate) fn known_until(self, time: Timestamp) -> Self {
        match self.0.values().all(|given| *given <= time) {
            true => self,
            false => {
                let known = |given: Timestamp| {
                    if given > time { Timestamp::from_seconds(0) } else { given }
                };
                Self(self.0.into_iter().map(|(method, given)| (method, known(given))).collect())
            }
        }
    }

    fn filtered(&self, keeps: impl Fn(Method, Timestamp) -> bool) -> Self {
        let kept = self.0.iter().filter(|(method, time)| keeps(**method, **time));
        Self(kept.map(|(method, time)| (*method, *time)).collect())
    }

    /// Whether this is one of them.
    pub fn contains(&self, method: Method) -> bool {
        self.0.contains_key(&method)
    }

    /// Whether nothing was proved.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What separates a stored method from its time.
const TIME: char = '@';

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const LATER: Timestamp = Timestamp::from_millis(1_800_000_000_123);

    #[test]
    fn methods_are_read_as_they_were_stored() {
        let all = Methods::at(NOON, Method::ALL).with(Method::Totp, LATER);
        assert_eq!(all.to_text(), "pwd otp totp passkey key recovery device external external-mfa");
        assert_eq!(Methods::from_store(&all.to_store(), NOON), all);
        let two = Methods::at(NOON, [Method::Password]).with(Method::Totp, LATER);
        assert_eq!(two.to_store(), "pwd@1800000000000 totp@1800000000123");
        let without_times = Methods::from_store(" telepathy pwd telepathy@7 totp@soon", NOON);
        assert_eq!(without_times, Methods::at(NOON, [Method::Password]));
        assert_eq!(Methods::from_store("", NOON), Methods::default());
    }

    #[test]
    fn each_method_has_a_time_of_its_own() {
        let both = Methods::at(NOON, [Method::Password]).with(Method::Totp, LATER);
        assert_eq!(both.oldest(), Some(NOON));
        assert_eq!(both.given_after(NOON), Methods::at(LATER, [Method::Totp]));
        assert_eq!(both.given_after(LATER), Methods::default());
        assert_eq!(both.with(Method::Password, LATER).oldest(), Some(LATER));
        let both = both.at_the_latest(NOON);
        assert_eq!(both, Methods::at(NOON, [Method::Password, Method::Totp]));
        assert_eq!(Methods::default().oldest(), None);
    }

    #[test]
    fn who_holds_no_factor_of_a_kind_has_given_none() {
        let all = Methods::at(NOON, Method::ALL);
        for (held, kept) in [
            (vec![], "pwd otp external external-mfa"),
            (vec![FactorKind::Totp], "pwd otp totp recovery device external external-mfa"),
            (vec![FactorKind::SecurityKey], "pwd otp key recovery device external external-mfa"),
            (
                vec![FactorKind::Passkey],
                "pwd otp passkey key recovery device external external-mfa",
            ),
        ] {
            let held: Factors = held.into_iter().collect();
            assert_eq!(all.of_holder(&held).to_text(), kept, "{held:?}");
        }
    }

    #[test]
    fn the_strength_is_the_number_of_factors() {
        use Method::{
            External, ExternalMfa, MailedCode, Passkey, Password, RecoveryCode, SecurityKey, Totp,
            TrustedDevice,
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
            (vec![External], 1, false, "1", "fed"),
            (vec![External, Password, MailedCode], 1, false, "1", "fed otp pwd"),
            (vec![External, Totp], 2, false, "2", "fed mfa otp"),
            (vec![External, ExternalMfa], 2, false, "2", "fed mfa"),
            (vec![External, SecurityKey], 2, true, "phr", "fed mfa pop"),
        ] {
            let methods = Methods::at(NOON, methods);
            assert_eq!(methods.strength(), strength, "{methods:?}");
            assert_eq!(methods.resist_phishing(), resists, "{methods:?}");
            assert_eq!(methods.acr(), acr, "{methods:?}");
            assert_eq!(methods.amr().join(" "), amr, "{methods:?}");
        }
    }
}
