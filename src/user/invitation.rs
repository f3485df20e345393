//! Invitations: who may register although registration is not open to everybody.

use super::{Email, Roles, UserId};
use crate::{clock::Timestamp, id::id};

id!(
    /// The id of an invitation.
    InvitationId
);

/// Lets one person register with one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Invitation {
    /// The id.
    pub id: InvitationId,
    /// The address that must be registered with it.
    pub email: Email,
    /// The roles that the new user gets.
    pub roles: Roles,
    /// The user who has made it; `None` if it was the operator.
    pub invited_by: Option<UserId>,
    /// Whether it was sent to the address. Then registering with it verifies the address.
    pub is_mailed: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// How many codes were typed for it. Its code is void after ten, its link is not.
    pub guesses: u32,
}
