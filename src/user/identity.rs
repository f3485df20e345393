//! Accounts of people at other providers, by which they sign in.

use serde::{Deserialize, Serialize};

use super::{Role, Roles, UserId};
use crate::{
    clock::Timestamp,
    id::{Id, id},
};

id!(
    /// The id of an identity.
    IdentityId
);

/// The account of a person at another provider, as it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalAccount {
    /// The name of the login.
    pub login: String,
    /// Who says so. With the subject, it is nobody else's.
    pub issuer: String,
    /// What the provider calls the person, for ever.
    pub subject: String,
    /// What the person recognises it by.
    pub display: String,
}

impl ExternalAccount {
    /// The account as one of this user.
    pub fn of(&self, user_id: UserId, created_at: Timestamp) -> Identity {
        let Self { login, issuer, subject, display } = self.clone();
        let (id, last_used_at) = (IdentityId::random(), None);
        Identity { id, user_id, issuer, subject, login, display, created_at, last_used_at }
    }
}

/// The account of a person at another provider, by which they sign in here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: IdentityId,
    pub user_id: UserId,
    /// Who says so. With the subject, it is nobody else's.
    pub issuer: String,
    /// What the provider calls the person, for ever.
    pub subject: String,
    /// The name of the login by which it was used last.
    pub login: String,
    /// What the person recognises it by.
    pub display: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// Those roles of a user that they have only by an identity, each with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginRoles(Vec<(IdentityId, Role)>);

impl LoginRoles {
    /// Stored roles: ids of identities and roles, separated by spaces, as in `ID:ROLE ID:ROLE`.
    pub(crate) fn from_store(stored: &str) -> Self {
        let parse = |word: &str| {
            let (id, role) = word.split_once(':')?;
            Some((id.parse().ok()?, Role::parse(role)?))
        };
        Self(stored.split_whitespace().filter_map(parse).collect())
    }

    /// Adds roles that an identity has given.
    pub(crate) fn add(&mut self, identity: IdentityId, roles: &Roles) {
        let roles = roles.iter().filter_map(Role::parse);
        self.0.extend(roles.map(|role| (identity, role)));
    }

    /// The roles that an identity has given.
    pub(crate) fn of(&self, identity: IdentityId) -> impl Iterator<Item = &Role> {
        let given = self.0.iter().filter(move |(id, _)| *id == identity);
        given.map(|(_, role)| role)
    }

    /// What [`Self::from_store`] reads.
    pub(crate) fn to_store(&self) -> String {
        let words = self.0.iter().map(|(id, role)| format!("{}:{}", id.uuid(), role.as_str()));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The roles of a user after a sign-in by an identity, which gives these: they take the place of those that it has given before.
    /// A role that the user has in another way is not that of the identity.
    pub(crate) fn replaced(
        &self,
        held: &Roles,
        identity: IdentityId,
        given: &Roles,
    ) -> (Self, Roles) {
        let (others, mut roles) = self.without(held, |id| id == identity);
        let mut left = others.0;
        for role in given.iter().filter_map(Role::parse) {
            if roles.grant(role.clone()) {
                left.push((identity, role));
            }
        }
        (Self(left), roles)
    }

    /// The roles of a user without those that some identities have given.
    pub(crate) fn without(
        &self,
        held: &Roles,
        is_gone: impl Fn(IdentityId) -> bool,
    ) -> (Self, Roles) {
        let mut roles = held.clone();
        for (_, role) in self.0.iter().filter(|(id, _)| is_gone(*id)) {
            roles.revoke(role);
        }
        let left = self.0.iter().filter(|(id, _)| !is_gone(*id));
        (Self(left.cloned().collect()), roles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Roles {
        Roles::from_store(text)
    }

    #[test]
    fn roles_of_a_login_are_replaced_and_those_of_the_operator_stay() {
        let (work, club) = (IdentityId::random(), IdentityId::random());
        let (given, held) =
            LoginRoles::default().replaced(&roles("staff"), work, &roles("a staff"));
        assert_eq!((held.to_text().as_str(), given.0.len()), ("a staff", 1));
        let (given, held) = given.replaced(&held, club, &roles("a b"));
        assert_eq!(held.to_text(), "a b staff");
        let stored = LoginRoles::from_store(&given.to_store());
        assert_eq!(stored, given);
        // The login at work gives nothing any more. The operator's role stays, and so does what the club gives.
        let (given, held) = stored.replaced(&held, work, &roles(""));
        assert_eq!(held.to_text(), "b staff");
        let (given, held) = given.without(&held, |_| true);
        assert_eq!((held.to_text().as_str(), given), ("staff", LoginRoles::default()));
        assert_eq!(LoginRoles::from_store("x:y z 1:"), LoginRoles::default());
    }
}
