//! The kinds of second factors.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of second factor.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[schemars(inline)]
pub enum FactorKind {
    /// A passkey. It verifies its user, so it also replaces the password.
    Passkey,
    /// A security key that does not verify its user. It counts only after a password.
    #[serde(rename = "key")]
    SecurityKey,
    /// Codes of an authenticator app.
    Totp,
}

impl FactorKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Passkey, Self::SecurityKey, Self::Totp];

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name in the API, in settings and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passkey => "passkey",
            Self::SecurityKey => "key",
            Self::Totp => "totp",
        }
    }
}

/// The kinds of second factors that a user holds. Recovery codes are not among them: they come with the first factor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Factors(BTreeSet<FactorKind>);

impl Factors {
    /// Stored kinds, separated by spaces. A later version may have stored others, which are left out.
    pub(crate) fn from_store(stored: &str) -> Self {
        stored.split_whitespace().filter_map(FactorKind::by_name).collect()
    }

    /// The names of the kinds separated by spaces.
    pub fn to_text(&self) -> String {
        let names: Vec<_> = self.iter().map(FactorKind::name).collect();
        names.join(" ")
    }

    /// The kinds, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = FactorKind> {
        self.0.iter().copied()
    }

    /// Whether the user holds one of this kind.
    pub fn contains(&self, kind: FactorKind) -> bool {
        self.0.contains(&kind)
    }

    /// Whether the user holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them answers only the site that it was made for, so that it cannot be phished.
    pub fn resist_phishing(&self) -> bool {
        self.contains(FactorKind::Passkey) || self.contains(FactorKind::SecurityKey)
    }
}

impl FromIterator<FactorKind> for Factors {
    fn from_iter<T: IntoIterator<Item = FactorKind>>(kinds: T) -> Self {
        Self(kinds.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_were_stored() {
        let all: Factors = FactorKind::ALL.into_iter().collect();
        assert_eq!(all.to_text(), "passkey key totp");
        assert_eq!(Factors::from_store(&all.to_text()), all);
        assert_eq!(Factors::from_store("telepathy totp"), [FactorKind::Totp].into_iter().collect());
        assert!(Factors::from_store("").is_empty());
        for kind in FactorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
