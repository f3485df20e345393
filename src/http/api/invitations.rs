//! `/api/invitations`: a user invites somebody, lists the invitations that they have made, and revokes one.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    Doorward,
    access::policy::Authenticated,
    account::{InvitationTicket, Invited, invite},
    clock::Timestamp,
    http::{
        Error,
        answer::{NoContent, NoStore},
        bearer::{Bearer, Inviter},
        description::Created,
        form::JsonForm,
        mail_forms::Address,
        path_id::PathId,
    },
    network::Requester,
    user::{Email, Invitation, InvitationId},
};

/// An invitation as the user who has made it sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Invitation")]
pub(crate) struct ListedInvitation {
    id: InvitationId,
    email: Email,
    /// Whether it was mailed to the address. Then registering with it verifies the address.
    mailed: bool,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<Invitation> for ListedInvitation {
    fn from(invitation: Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email,
            mailed: invitation.is_mailed,
            created_at: invitation.created_at,
            expires_at: invitation.expires_at,
        }
    }
}

/// A new invitation. Its user hands the secret over, unless it is mailed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MadeInvitation {
    #[serde(flatten)]
    invitation: ListedInvitation,
    /// The link to the sign-up page, unless it is mailed or there are no pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(url)]
    link: Option<String>,
    /// The secret in the link, unless it is mailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// The code of 8 digits, unless it is mailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9]{8}$"))]
    code: Option<String>,
}

impl From<Invited> for MadeInvitation {
    fn from(Invited { invitation, ticket }: Invited) -> Self {
        let ticket = ticket.as_ref();
        let link = ticket.and_then(InvitationTicket::link);
        Self {
            invitation: invitation.into(),
            link: link.map(|link: Zeroizing<String>| link.to_string()),
            secret: ticket.map(|ticket| ticket.secret().to_owned()),
            code: ticket.map(InvitationTicket::code),
        }
    }
}

pub(crate) async fn invite(
    State(doorward): State<Doorward>,
    caller: Inviter,
    requester: Requester,
    form: JsonForm<Address>,
) -> Result<Created<MadeInvitation>, Error> {
    let Address { email } = form.read(&doorward)?;
    let invited = invite::by_user(&doorward, &caller, email, &requester).await?;
    Ok(Created(invited.into()))
}

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
) -> Result<NoStore<Vec<ListedInvitation>>, Error> {
    let invitations = invite::of_user(&doorward, *user_id).await?;
    let invitations = invitations.into_iter().map(ListedInvitation::from).collect();
    Ok(NoStore(StatusCode::OK, invitations))
}

pub(crate) async fn revoke(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    requester: Requester,
    id: PathId<InvitationId>,
) -> Result<NoContent, Error> {
    NoContent::if_found(invite::revoke_own(&doorward, *user_id, id.valid()?, &requester).await?)
}
