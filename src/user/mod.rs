//! Users: their record, and the validation of each field.

mod api_key;
mod email;
mod factors;
mod identity;
mod invitation;
mod name;
mod role;
pub mod search_terms;
mod version;

pub(crate) use self::name::is_control;
pub use self::{
    api_key::{ApiKey, ApiKeyId, KeyScopes, KeyState},
    email::{Email, EmailKey},
    factors::{FactorId, HeldFactors, Passkey, RecoveryDigest, StoredTotp, TrustedDevice},
    identity::{ExternalAccount, Identity, IdentityId, LoginRoles},
    invitation::{Invitation, InvitationId},
    name::Name,
    role::{MAX_ROLES, Role, Roles},
    version::UserVersion,
};
use crate::{
    clock::Timestamp,
    credential::{factor::Factors, password::PasswordHash},
    id::id,
};

/// The record of a registered user.
///
/// It does not implement `Serialize`: responses have their own types, so that no field reaches a client by accident.
/// The password hash cannot be read outside of this crate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct User {
    /// Never changes and is never reused.
    pub id: UserId,
    /// The display name. Not unique.
    pub name: Name,
    /// The login identifier, unique ignoring letter case.
    pub email: Email,
    /// Whether the address is known to belong to the user. Anybody can register any address, so do not grant access by an
    /// unverified one.
    pub email_verified: bool,
    /// `None` for a user without a password.
    pub(crate) password_hash: Option<PasswordHash>,
    /// Shows whether the password has changed since it was checked.
    pub(crate) password_version: PasswordVersion,
    /// The roles that the operator has granted.
    pub roles: Roles,
    /// A disabled user has no sessions and cannot log in.
    pub disabled: bool,
    /// When the user registered.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// When the user last logged in. A registration that begins a session counts.
    pub last_login_at: Option<Timestamp>,
    /// The kinds of second factors that the user holds. With any, a password alone opens no session.
    pub factors: Factors,
}

impl User {
    /// A user who registers now.
    pub(crate) fn new(
        name: Name,
        email: Email,
        password_hash: Option<PasswordHash>,
        now: Timestamp,
    ) -> Self {
        Self {
            id: UserId::random(),
            name,
            email,
            email_verified: false,
            password_hash,
            password_version: PasswordVersion::default(),
            roles: Roles::default(),
            disabled: false,
            created_at: now,
            updated_at: now,
            last_login_at: None,
            factors: Factors::default(),
        }
    }

    /// Whether the user can log in with a password.
    pub fn has_password(&self) -> bool {
        self.password_hash.is_some()
    }

    /// Whether the account was made for somebody who has never used it.
    pub(crate) fn is_unused(&self) -> bool {
        !self.has_password() && self.factors.is_empty() && self.last_login_at.is_none()
    }
}

/// Accessors for Doorward's tests and benchmarks.
#[cfg(feature = "internals")]
impl User {
    pub fn password_hash(&self) -> Option<&PasswordHash> {
        self.password_hash.as_ref()
    }

    pub fn password_version(&self) -> PasswordVersion {
        self.password_version
    }
}

id!(
    /// The id of a user: random, so that it reveals neither the number of users nor the time of registration.
    UserId
);

/// The number of passwords that a user has had. A new hash of the same password does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordVersion(i64);

impl PasswordVersion {
    pub(crate) fn from_store(stored: i64) -> Self {
        Self(stored)
    }

    /// The version after this one.
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The number, for the store.
    pub fn number(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_user_shows_no_address_and_no_hash() {
        let hash = PasswordHash::from_store("$argon2id$secret".into());
        let (name, email) =
            (Name::from_store("Ada".into()), Email::from_store("ada@example.com".into()));
        let user = User::new(name, email, Some(hash), Timestamp::from_millis(0));
        let debug = format!("{user:?}");
        assert!(!debug.contains("example.com") && !debug.contains("argon2"), "{debug}");
    }
}
