//! Versions of a user's record, by which a change is refused if somebody else has changed the record in the meantime.

use super::User;
use crate::{id::Id, sha256::Sha256};

/// The version of a record: a digest of everything in it but the times of logins and the form of the password hash, which a login
/// may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserVersion([u8; Self::BYTES]);

impl UserVersion {
    const BYTES: usize = 16;

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl User {
    pub(crate) fn version(&self) -> UserVersion {
        let Self {
            id,
            name,
            email,
            email_verified,
            password_hash,
            password_version,
            roles,
            disabled,
            created_at,
            updated_at,
            last_login_at: _,
            factors,
        } = self;
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            // With its length, so that no two records have the same parts in a row.
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        };
        add(id.uuid().as_bytes());
        add(name.as_str().as_bytes());
        add(email.as_str().as_bytes());
        add(&[u8::from(*email_verified), u8::from(password_hash.is_some()), u8::from(*disabled)]);
        add(&password_version.number().to_be_bytes());
        add(roles.to_text().as_bytes());
        add(&created_at.millis().to_be_bytes());
        add(&updated_at.millis().to_be_bytes());
        add(factors.to_text().as_bytes());
        let digest = digest.finish();
        let (start, _) = digest.split_first_chunk().expect("the digest has 32 bytes");
        UserVersion(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Email, Name, Role};
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn every_change_but_a_login_makes_another_version() {
        let at = Timestamp::from_millis;
        let (name, email) =
            (Name::from_store("Ada".into()), Email::from_store("ada@example.com".into()));
        let user = User::new(name, email, None, at(1));
        let version = user.version();
        assert_eq!(User { last_login_at: Some(at(5)), ..user.clone() }.version(), version);
        let roles = [Role::parse("staff").unwrap()].into_iter().collect();
        for changed in [
            User { name: Name::from_store("Eve".into()), ..user.clone() },
            User { email: Email::from_store("Ada@example.com".into()), ..user.clone() },
            User { email_verified: true, ..user.clone() },
            User { disabled: true, ..user.clone() },
            User { roles, ..user.clone() },
            User { updated_at: at(2), ..user.clone() },
        ] {
            assert_ne!(changed.version(), version, "{changed:?}");
        }
    }
}
