//! Which users administer the service: the role `admin`, and the roles that `[admin.ROLE]` declares.

use std::sync::Arc;

use super::{
    caller::Caller,
    guard::{Condition, RequestFacts},
    scope::Scopes,
};
use crate::{
    event::{Authority, Right},
    user::{Role, Roles},
};

/// What users with a role may do.
#[derive(Clone, Debug, PartialEq)]
pub struct AdminRole {
    pub role: Role,
    pub scopes: Scopes,
    /// They may do it only while it is true.
    pub condition: Option<Arc<Condition>>,
}

/// The roles that administer the service.
#[derive(Clone, Debug, PartialEq)]
pub struct AdminRoles(Vec<AdminRole>);

impl AdminRoles {
    /// The role that may do everything, unless `[admin.admin]` says otherwise.
    pub const ADMIN: &str = "admin";

    /// The declared roles, and [`Self::ADMIN`].
    pub fn new(mut declared: Vec<AdminRole>) -> Self {
        let admin = Role::parse(Self::ADMIN).expect("it is a valid role");
        if !declared.iter().any(|declared| declared.role == admin) {
            declared.push(AdminRole { role: admin, scopes: Scopes::all(), condition: None });
        }
        Self(declared)
    }

    /// The roles that may do more than these scopes. Whoever has the scopes may neither give them to others nor change users who have
    /// them: nobody gives more than they have themselves, and nobody gets it from the account of another. Conditions do not count,
    /// because they may be true later.
    pub fn beyond(&self, scopes: Scopes) -> impl Iterator<Item = &Role> {
        let beyond = self.0.iter().filter(move |declared| !declared.scopes.is_subset_of(scopes));
        beyond.map(|declared| &declared.role)
    }

    /// Whether somebody with these scopes may give others these roles, or change users who have them.
    pub fn may_manage(&self, scopes: Scopes, roles: &Roles) -> bool {
        !self.beyond(scopes).any(|role| roles.contains(role.as_str()))
    }

    /// What somebody with these scopes orders by this right.
    pub fn authority(&self, scopes: Scopes, right: Right) -> Authority {
        Authority::new(right, self.beyond(scopes).cloned().collect())
    }

    /// Whether users with this role may do anything that others may not.
    pub fn administers(&self, role: &Role) -> bool {
        self.0.iter().any(|declared| declared.role == *role && !declared.scopes.is_empty())
    }

    /// What users with these roles may do while all conditions are true.
    pub fn most_scopes_of(&self, roles: &Roles) -> Scopes {
        let held = self.0.iter().filter(|declared| roles.contains(declared.role.as_str()));
        held.fold(Scopes::NONE, |scopes, declared| scopes.union(declared.scopes))
    }

    /// What a caller may do with a request.
    pub fn scopes_of(&self, caller: &Caller, request: &RequestFacts<'_>) -> Scopes {
        let held = self.0.iter().filter(|declared| {
            let is_true =
                |condition: &Arc<Condition>| condition.holds(caller.facts(), request).is_ok();
            caller.user.roles.contains(declared.role.as_str())
                && declared.condition.as_ref().is_none_or(is_true)
        });
        held.fold(Scopes::NONE, |scopes, declared| scopes.union(declared.scopes))
    }
}

impl Default for AdminRoles {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
