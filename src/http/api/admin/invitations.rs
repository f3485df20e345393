//! `/api/admin/invitations`: all invitations, whoever has made them.

use std::time::Duration;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{repeated, target::Named};
use crate::{
    Doorward,
    account::{InvitationTicket, Invited, NewInvitation, invite, order},
    clock::Timestamp,
    fault::Fault,
    http::{
        Error,
        admin::{Admin, InvitationsRead},
        answer::{NoContent, NoStore},
        description::Created,
        form::{CheckedLater, FieldType, FormContext, JsonForm, form, json},
        query::{Limit, Query},
    },
    id::Id,
    user::{Email, EmailKey, Invitation, InvitationId, Role, UserId},
};

/// A page of invitations, in the order of their addresses.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Invitations {
    pub invitations: Vec<InvitationInfo>,
    /// The address after which the next page starts, if there may be one.
    pub next: Option<String>,
}

/// An invitation as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AnyInvitation")]
pub struct InvitationInfo {
    pub id: InvitationId,
    pub email: String,
    /// The roles that the new user gets.
    pub roles: Vec<String>,
    /// The id of the user who has made it; none if it was the operator or the key of a machine.
    pub invited_by: Option<UserId>,
    pub mailed: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
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
            id,
            email: email.as_str().to_owned(),
            roles: roles.iter().map(str::to_owned).collect(),
            invited_by,
            mailed: is_mailed,
            created_at,
            expires_at,
        }
    }
}

/// Invites the holder of an address.
#[derive(Debug, Serialize)]
pub struct Invite<'a> {
    pub email: &'a str,
    /// The roles that the new user gets.
    pub roles: &'a [String],
    /// How many seconds it is valid.
    pub lifetime: u64,
    /// Whether it is mailed, if the service sends mail. Otherwise its holder gets it from whoever makes it.
    pub mail: bool,
}

/// A new invitation, and what its holder registers with unless it is mailed.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnyMadeInvitation")]
pub struct MadeInvitation {
    #[serde(flatten)]
    pub invitation: InvitationInfo,
    /// The link to the sign-up page; none without pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub link: Option<Zeroizing<String>>,
    /// The secret in the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub secret: Option<Zeroizing<String>>,
    /// The code that can be typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub code: Option<Zeroizing<String>>,
}

impl From<Invited> for MadeInvitation {
    fn from(Invited { invitation, ticket }: Invited) -> Self {
        let ticket = ticket.as_ref();
        Self {
            invitation: invitation.into(),
            link: ticket.and_then(InvitationTicket::link),
            secret: ticket.map(|ticket| Zeroizing::new(ticket.secret().to_owned())),
            code: ticket.map(|ticket| Zeroizing::new(ticket.code())),
        }
    }
}

/// The most invitations of a page.
pub const MAX_PAGE: usize = 1000;

form! {
    pub(in crate::http) struct InvitationQuery {
        /// How many.
        limit: Limit<50, MAX_PAGE>,
        /// The address after which the page starts: `next` of the page before.
        after: Option<EmailKey>,
    }
}

form! {
    pub(in crate::http) struct NewInvitationForm as "NewInvitation" {
        email: CheckedLater<Email>,
        /// The roles that the new user gets.
        roles: Option<RoleNames>,
        /// How many seconds it is valid; 7 days by default.
        lifetime: Option<InvitationLifetime>,
        /// Whether it is mailed, if the service sends mail. Otherwise the answer has what its holder registers with.
        mail: Option<bool>,
        ..Refused
    }
}

/// The names of roles, which are checked when the invitation is made.
pub(in crate::http) struct RoleNames;

impl FieldType for RoleNames {
    type Parsed = Vec<String>;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Vec<String>, Fault> {
        json(sent)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string", "pattern": Role::PATTERN } })
    }
}

/// A number of seconds, whose bounds are checked when the invitation is made.
pub(in crate::http) struct InvitationLifetime;

impl FieldType for InvitationLifetime {
    type Parsed = Duration;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Duration, Fault> {
        json(sent).map(Duration::from_secs)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let (min, max) = (invite::LIFETIMES.start().as_secs(), invite::LIFETIMES.end().as_secs());
        json_schema!({ "type": "integer", "minimum": min, "maximum": max })
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<InvitationsRead>,
    query: Query<InvitationQuery>,
) -> Result<NoStore<Invitations>, Error> {
    let InvitationQuery { limit, after } = query.read(&doorward)?;
    let (invitations, next) = invite::page(&doorward, after.as_ref(), limit).await?;
    let invitations = invitations.into_iter().map(InvitationInfo::from).collect();
    let next = next.map(|key| key.as_str().to_owned());
    Ok(NoStore(StatusCode::OK, Invitations { invitations, next }))
}

pub(in crate::http) async fn create(
    State(doorward): State<Doorward>,
    admin: Admin<order::Invite>,
    headers: HeaderMap,
    form: JsonForm<NewInvitationForm>,
) -> Result<Created<MadeInvitation>, Error> {
    let id = repeated::id_of(&doorward, &admin, "invitation", &headers)?;
    let NewInvitationForm { email, roles, lifetime, mail } = form.read(&doorward)?;
    let roles = roles.into_iter().flatten();
    let mut invitation = roles.fold(NewInvitation::new(email), NewInvitation::role);
    if let Some(lifetime) = lifetime {
        invitation = invitation.lifetime(lifetime);
    }
    if mail == Some(false) {
        invitation = invitation.by_hand();
    }
    let id = id.map(InvitationId::from_uuid);
    let invited = invite::make_once(&doorward, invitation, id, &admin).await?;
    Ok(Created(invited.into()))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    admin: Admin<order::RevokeInvitation>,
    Named(invitation): Named<String>,
) -> Result<NoContent, Error> {
    NoContent::if_found(invite::revoke(&doorward, &invitation, &admin).await?)
}
