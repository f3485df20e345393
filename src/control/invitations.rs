//! Invitations in commands and replies.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Secret;
use crate::{
    Doorward,
    account::{InvitationTicket, InviteError, NewInvitation, invite},
    event::Administrator,
    store,
    user::{EmailKey, Invitation},
};

/// Invites the holder of an address.
#[derive(Debug, Serialize, Deserialize)]
pub struct Invite {
    pub email: String,
    /// The roles that the new user gets.
    pub roles: Vec<String>,
    /// How long it is valid; 7 days by default.
    pub lifetime: Option<Duration>,
    /// Whether it is printed instead of mailed.
    pub print: bool,
}

/// An invitation as an operator sees it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvitationInfo {
    pub id: String,
    pub email: String,
    /// The roles that the new user gets.
    pub roles: Vec<String>,
    /// The id of the user who has made it; none if it was the operator.
    pub invited_by: Option<String>,
    pub mailed: bool,
    pub created_at: String,
    pub expires_at: String,
}

impl From<Invitation> for InvitationInfo {
    fn from(invitation: Invitation) -> Self {
        let Invitation {
            id,
            email,
            roles,
            invited_by,
            is_mailed,
            created_at,
            expires_at,
            guesses: _,
        } = invitation;
        Self {
            id: id.to_string(),
            email: email.as_str().to_owned(),
            roles: roles.iter().map(str::to_owned).collect(),
            invited_by: invited_by.map(|id| id.to_string()),
            mailed: is_mailed,
            created_at: created_at.to_string(),
            expires_at: expires_at.to_string(),
        }
    }
}

/// What the holder of an invitation registers with.
#[derive(Debug, Serialize, Deserialize)]
pub struct TicketInfo {
    /// The link to the sign-up page; none without pages.
    pub link: Option<Secret>,
    /// The secret in the link.
    pub secret: Secret,
    /// The code that can be typed.
    pub code: Secret,
}

impl From<InvitationTicket> for TicketInfo {
    fn from(ticket: InvitationTicket) -> Self {
        Self {
            link: ticket.link().map(Secret::from),
            secret: Secret::from(ticket.secret().to_owned()),
            code: Secret::from(ticket.code()),
        }
    }
}

/// Invites somebody for the operator.
pub(super) async fn make(
    doorward: &Doorward,
    ordered: &Invite,
    by: &Administrator,
) -> Result<(InvitationInfo, Option<TicketInfo>), InviteError> {
    let Invite { email, roles, lifetime, print } = ordered;
    let mut invitation = roles.iter().fold(NewInvitation::new(email), NewInvitation::role);
    if let Some(lifetime) = lifetime {
        invitation = invitation.lifetime(*lifetime);
    }
    if *print {
        invitation = invitation.by_hand();
    }
    let invited = invite::make(doorward, invitation, by).await?;
    Ok((invited.invitation.into(), invited.ticket.map(TicketInfo::from)))
}

/// Up to `limit` invitations after this address, and the address after which the next page starts.
pub(super) async fn list(
    doorward: &Doorward,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<InvitationInfo>, Option<String>), store::Error> {
    const PAGE: usize = 1000;
    let (after, limit) = (after.map(EmailKey::of), limit.min(PAGE));
    let page = doorward.store().invitations(None, after.as_ref(), limit, doorward.now()).await?;
    let is_full = limit > 0 && page.len() == limit;
    let next = page.last().filter(|_| is_full).map(|last| last.email.key().as_str().to_owned());
    Ok((page.into_iter().map(InvitationInfo::from).collect(), next))
}
