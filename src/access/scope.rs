//! What administrators and API keys may do: one scope for reading and one for changing each kind of data.

use std::fmt;

use serde::{Deserialize, Serialize, de::Error};

/// Declares the scopes with their names.
macro_rules! scopes {
    ($($(#[$attribute:meta])* $scope:ident => $name:literal),+ $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Scope {
            $($(#[$attribute])* $scope,)+
        }

        /// What somebody needs to do something.
pub(crate) trait Needs {
    const SCOPE: Scope;
    /// Whether a person must have signed in within the last 10 minutes.
    const FRESH: bool;
}

impl Scope {
            pub const ALL: &[Self] = &[$(Self::$scope),+];

            /// The name in settings, keys and the API.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$scope => $name,)+
                }
            }
        }
    };
}

scopes! {
    /// Users, their sessions and their second factors.
    UsersRead => "users:read",
    UsersWrite => "users:write",
    /// Deleting users.
    UsersDelete => "users:delete",
    InvitationsRead => "invitations:read",
    InvitationsWrite => "invitations:write",
    AuditRead => "audit:read",
    /// Guards, what they decide, and refusals.
    GuardsRead => "guards:read",
    SigningKeysRead => "signing-keys:read",
    SigningKeysWrite => "signing-keys:write",
    MailRead => "mail:read",
    MailWrite => "mail:write",
    KeysRead => "keys:read",
    KeysWrite => "keys:write",
    /// The version, the settings and the database.
    StatusRead => "status:read",
    /// Replacing and revoking everything.
    Emergency => "emergency",
}

impl Scope {
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.name() == name)
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::by_name(&name).ok_or_else(|| D::Error::custom(unknown(&name)))
    }
}

/// What is wrong with the name of a scope.
pub(crate) fn unknown(name: &str) -> String {
    let known: Vec<_> = Scope::ALL.iter().map(|scope| scope.name()).collect();
    format!("{name} is not a scope: choose from {}", known.join(", "))
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u32);

impl Scopes {
    pub const NONE: Self = Self(0);

    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes in order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of these are among the others.
    pub fn is_subset_of(self, others: Self) -> bool {
        self.intersection(others) == self
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        scopes.into_iter().fold(Self::NONE, |set, scope| Self(set.0 | scope.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_is_found_by_its_name() {
        for scope in Scope::ALL {
            assert_eq!(Scope::by_name(scope.name()), Some(*scope));
        }
        assert_eq!(Scope::by_name("users"), None);
    }

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let set: Scopes = [Scope::MailRead, Scope::UsersRead].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Scope::UsersRead, Scope::MailRead]);
        assert!(set.contains(Scope::MailRead) && !set.contains(Scope::MailWrite));
        assert_eq!(Scopes::all().iter().count(), Scope::ALL.len());
        assert_eq!(set.intersection([Scope::MailRead].into_iter().collect()).iter().count(), 1);
        assert_eq!(set.union(Scopes::all()), Scopes::all());
        assert!(set.is_subset_of(Scopes::all()) && !Scopes::all().is_subset_of(set));
        assert!(Scopes::NONE.is_empty());
    }
}
