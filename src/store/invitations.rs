//! The store of invitations.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    mail::Mailing,
    token::one_time::SecretDigest,
    user::{EmailKey, Invitation, InvitationId, UserId},
};

/// Stores invitations. An address has at most one. [`super::UserStore::add_user`] uses one.
#[async_trait]
pub trait InvitationStore: Send + Sync {
    /// Adds an invitation and queues the mail. It replaces an earlier one to the same address.
    async fn add_invitation(
        &self,
        invitation: &Invitation,
        digest: &SecretDigest,
        mailing: &Mailing,
    ) -> Result<(), Error>;

    /// The unexpired invitation with this digest.
    async fn invitation_by_digest(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error>;

    /// The unexpired invitation to this address.
    async fn invitation_by_email(
        &self,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error>;

    /// Unexpired invitations in the order of their addresses, from the first one after `after`; only those of one user if
    /// given.
    async fn invitations(
        &self,
        invited_by: Option<UserId>,
        after: Option<&EmailKey>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Invitation>, Error>;

    /// Deletes an invitation. Returns false if it is gone.
    async fn delete_invitation(&self, id: InvitationId) -> Result<bool, Error>;
}
