//! Revoking everything that a copy of the database could be used for, after a theft.

use async_trait::async_trait;

use super::Error;
use crate::{clock::Timestamp, user::Role};

/// Revokes what is stored, for everybody.
#[async_trait]
pub trait EmergencyStore: Send + Sync {
    /// Ends all sessions, deletes all one-time secrets, the mail that contains them, reset codes and invitations, and removes
    /// passwords: all or nothing. Other instances also read their keys again.
    async fn revoke_everything(
        &self,
        new_passwords: &NewPasswords,
        now: Timestamp,
    ) -> Result<Revoked, Error>;
}

/// Whose passwords are removed. They have to set a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewPasswords {
    /// Everybody's.
    All,
    /// Of the users with this role.
    WithRole(Role),
    /// Nobody's.
    None,
}

/// What was revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    /// Sessions that were ended.
    pub sessions: usize,
    /// Links and codes in mails, and reset codes.
    pub one_times: usize,
    /// Mails that waited with such a link or code.
    pub mails: usize,
    /// Invitations.
    pub invitations: usize,
    /// Passwords that were removed.
    pub passwords: usize,
}

/// A pattern of the messages that contain a one-time secret. In a text that somebody has chosen, the quotes are escaped.
pub(super) const MAIL_WITH_SECRET: &str = "%\"one_time\":%";

/// A role as it is searched for in the roles of a user, with a space at both ends.
pub(super) fn role_between_spaces(role: &Role) -> String {
    format!(" {} ", role.as_str())
}
