//! `/admin/invitations`: all invitations that were not used yet. An administrator makes and revokes them.

use std::time::Duration;

use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    super::{
        form_refusal::{FormFailure, FormRefusal},
        text::Done,
        view::{AdminInvitations, Place, RefusedForm, Secret},
    },
    AdminVisit, PAGE_ROWS,
};
use crate::{
    access::scope::Scope,
    account::{
        NewInvitation, invite,
        order::{Invite, RevokeInvitation},
    },
    fault::Fault,
    http::{Error, admin::InvitationsRead, form::PageForm},
    user::EmailKey,
};

const INVITATIONS: &str = "/admin/invitations";

pub(in crate::http) async fn show(visit: AdminVisit<InvitationsRead>) -> Result<Response, Error> {
    page(&visit, None, None).await
}

pub(in crate::http) async fn invite(
    visit: AdminVisit<Invite>,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = ["email", "roles", "days"].map(|name| (name, form.typed(name))).to_vec();
    let by_hand = !form.typed("by-hand").is_empty();
    let days = form.required("days", |days| {
        days.trim().parse::<u64>().map_err(|_| Fault::malformed("Not a number of days"))
    });
    let roles = form.optional("roles", Ok);
    let made = match (form.required("email", Ok), roles, days) {
        (Ok(email), Ok(roles), Ok(days)) => {
            let roles = roles.unwrap_or_default();
            let invitation = NewInvitation::new(email)
                .lifetime(Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
            let invitation = roles.split_whitespace().fold(invitation, NewInvitation::role);
            let invitation = if by_hand { invitation.by_hand() } else { invitation };
            let made = invite::make(visit.doorward(), invitation, &visit.by).await;
            let names = [("role", "roles"), ("lifetime", "days")];
            made.map_err(|error| FormFailure::from(error).renamed(&names))
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    let t = visit.texts();
    match made {
        Ok(invited) => match &invited.ticket {
            None => Ok(visit.done(INVITATIONS, Done::Invited)),
            Some(ticket) => {
                let link = ticket.link().map(|link| ("", link.to_string()));
                let code = (t.invitation_code, ticket.code());
                let secret = Secret {
                    explanation: t.hand_over(invited.invitation.email.as_str()),
                    lines: link.into_iter().chain([code]).collect(),
                };
                page(&visit, Some(&secret), None).await
            }
        },
        Err(failure) => {
            let refusal = failure.refusal().map_err(|error| visit.in_words(error))?;
            let refused = visit.refused_form(typed, &refusal);
            page(&visit, None, Some((&refused, &refusal))).await
        }
    }
}

/// `POST /admin/invitations/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<RevokeInvitation>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    // An invitation that is gone already, as after a double click, is what the administrator wants.
    invite::revoke(visit.doorward(), &form.typed("id"), &visit.by).await?;
    Ok(visit.done(INVITATIONS, Done::Revoked))
}

async fn page<S>(
    visit: &AdminVisit<S>,
    secret: Option<&Secret>,
    refused: Option<(&RefusedForm, &FormRefusal)>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let after = visit.parameter("after").map(|after| EmailKey::of(&after));
    let now = doorward.now();
    let invitations = match visit.may(Scope::InvitationsRead) {
        true => doorward.store().invitations(None, after.as_ref(), PAGE_ROWS, now).await?,
        false => Vec::new(),
    };
    let inviters = invitations.iter().filter_map(|invitation| invitation.invited_by);
    let users = visit.users(inviters.collect()).await?;
    let last = invitations.last().filter(|_| invitations.len() == PAGE_ROWS);
    let next = last.map(|last| {
        let key = last.email.key();
        let key = utf8_percent_encode(key.as_str(), NON_ALPHANUMERIC);
        format!("{}{INVITATIONS}?after={key}", visit.context().base)
    });
    let (refused, refusal) = refused.unzip();
    let view = AdminInvitations {
        page: visit.context(),
        frame: visit.frame(Place::Invitations, refused),
        now,
        invitations: &invitations,
        users: &users,
        next,
        may_write: visit.may(Scope::InvitationsWrite),
        sends_mail: doorward.sends_mail(),
        secret,
        refused,
    };
    Ok(visit.admin_page(&view, refusal))
}
