//! By what right somebody gives orders, and whom they may change. Both are asked where a change is written, with what is stored at that
//! moment: whoever has just lost their rights changes nobody, and nobody changes those who may do more than themselves.

use std::sync::Arc;

use crate::{
    session::SessionId,
    user::{ApiKeyId, Role, Roles, User, UserId},
};

/// By what right somebody gives orders, and whom they may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Roles that may do more: nobody who has one is changed, and nobody gets one.
    beyond: Arc<[Role]>,
    right: Right,
}

/// By what right somebody gives orders who is not the operator on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// It ends with the session, and when the user has other roles.
    Session { session: SessionId, user: UserId, roles: Roles },
    /// It ends with the key, and when its owner has other roles.
    Key { key: ApiKeyId, owner: Option<(UserId, Roles)> },
}

impl Right {
    pub fn of_session(session: SessionId, user: &User) -> Self {
        Self::Session { session, user: user.id, roles: user.roles.clone() }
    }

    pub fn of_key(key: ApiKeyId, owner: Option<&User>) -> Self {
        Self::Key { key, owner: owner.map(|owner| (owner.id, owner.roles.clone())) }
    }

    /// The user whose rights these are.
    pub fn person(&self) -> Option<UserId> {
        match self {
            Self::Session { user, .. } => Some(*user),
            Self::Key { owner, .. } => owner.as_ref().map(|(owner, _)| *owner),
        }
    }
}

impl Authority {
    /// May change everybody without one of these roles.
    pub fn new(right: Right, beyond: Arc<[Role]>) -> Self {
        Self { beyond, right }
    }

    pub fn right(&self) -> &Right {
        &self.right
    }

    /// Whether somebody with these roles may be changed, and somebody else may get these roles.
    pub fn covers(&self, roles: &Roles) -> bool {
        !self.beyond.iter().any(|role| roles.contains(role.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_with_a_role_beyond_it_is_not_covered() {
        let roles = |names: &[&str]| -> Roles {
            names.iter().filter_map(|name| Role::parse(name)).collect()
        };
        let beyond = Role::parse("admin").into_iter().collect();
        let right = Right::Key { key: ApiKeyId::random(), owner: None };
        let authority = Authority::new(right, beyond);
        assert!(authority.covers(&roles(&[])) && authority.covers(&roles(&["staff"])));
        assert!(!authority.covers(&roles(&["admin", "staff"])));
    }
}
