//! Roles of users.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::json_schema::text_schema;

/// The most roles that a user can have.
pub const MAX_ROLES: usize = 64;

/// The roles of a user: a sorted set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Roles(BTreeSet<Role>);

impl Roles {
    /// Stored roles, separated by spaces.
    pub(crate) fn from_store(stored: &str) -> Self {
        Self(stored.split_whitespace().map(|role| Role(role.to_owned())).collect())
    }

    /// The roles separated by spaces.
    pub fn to_text(&self) -> String {
        let roles: Vec<_> = self.iter().collect();
        roles.join(" ")
    }

    /// The roles in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Role::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the user has this role.
    pub fn contains(&self, role: &str) -> bool {
        self.iter().any(|held| held == role)
    }

    /// Adds a role. Returns false if the user already has it, or has the most that a user can have.
    pub fn grant(&mut self, role: Role) -> bool {
        self.0.len() < MAX_ROLES && self.0.insert(role)
    }

    /// Removes a role. Returns false if the user does not have it.
    pub fn revoke(&mut self, role: &Role) -> bool {
        self.0.remove(role)
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        Self(roles.into_iter().collect())
    }
}

/// A role: 1 to 64 letters, digits and `_ - : . /`. Policies and guards check for roles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Role(String);

text_schema!(Role { "pattern": Role::PATTERN });

impl Role {
    /// The rule of [`Self::parse`] as a regular expression.
    pub(crate) const PATTERN: &str = "^[A-Za-z0-9_:./-]{1,64}$";

    /// Validates a role.
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-:./".contains(&b);
        let valid = (1..=64).contains(&text.len()) && text.bytes().all(allowed);
        valid.then(|| Self(text.to_owned()))
    }

    /// The role as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_a_sorted_set() {
        let role = |text| Role::parse(text).unwrap();
        let mut roles = Roles::default();
        assert!(roles.grant(role("staff")) && roles.grant(role("admin")));
        assert!(!roles.grant(role("staff")));
        assert_eq!(roles.to_text(), "admin staff");
        assert_eq!(Roles::from_store("admin staff"), roles);
        assert!(roles.revoke(&role("admin")) && !roles.revoke(&role("admin")));
        assert_eq!(roles.to_text(), "staff");
        for bad in ["", "two words", "ü", &"x".repeat(65)] {
            assert_eq!(Role::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_user_has_at_most_so_many_roles() {
        let mut roles = Roles::default();
        let names = (0..MAX_ROLES + 1).map(|number| format!("role-{number}"));
        let granted = names.filter(|name| roles.grant(Role::parse(name).unwrap()));
        assert_eq!(granted.count(), MAX_ROLES);
    }
}
