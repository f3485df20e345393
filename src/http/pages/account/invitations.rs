//! `/account/invitations`: a person invites others, and sees and revokes the invitations that were not used yet. Only for those
//! who may invite.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::request::Parts,
    response::{IntoResponse, Response},
};

use super::super::{
    answer::Pages,
    form_refusal::{FormFailure, FormRefusal},
    signed_in::SignedInVisit,
    text::Notice,
    view::{Invitations, Ticket, html},
    visit::Visit,
};
use crate::{
    account::invite::{by_user, may_invite, of_user, revoke_own},
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::Email,
};

/// A request for a page by a signed-in person who may invite others. Anybody else is led to the account.
pub(in crate::http) struct InviterVisit(SignedInVisit);

impl FromRequestParts<Arc<Pages>> for InviterVisit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Response> {
        let visit = Visit::from_request_parts(parts, pages).await;
        let visit = SignedInVisit::of(visit.map_err(IntoResponse::into_response)?);
        visit
            .filter(|visit| may_invite(visit.doorward(), &visit.caller))
            .map(Self)
            .ok_or_else(|| pages.redirect_to_page("/account"))
    }
}

pub(in crate::http) async fn show_invitations(
    InviterVisit(visit): InviterVisit,
) -> Result<Response, Error> {
    let notice = match visit.parameter("done").as_deref() {
        Some("invited") => Some(Notice::Invited),
        Some("revoked") => Some(Notice::InvitationRevoked),
        _ => None,
    };
    page(&visit, Invitations { notice, ..Invitations::new(visit.context()) }, None).await
}

pub(in crate::http) async fn invite(
    InviterVisit(visit): InviterVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("email");
    let invited = match form.required("email", Email::parse) {
        Ok(email) => {
            let requester = &visit.requester;
            by_user(visit.doorward(), &visit.caller, email, requester)
                .await
                .map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match invited {
        Ok(invited) => match &invited.ticket {
            None => Ok(visit.redirect("/account/invitations?done=invited")),
            // Without mail, the person hands the link over. It is shown once.
            Some(ticket) => {
                let (link, code) = (ticket.link(), ticket.code());
                let ticket = Some(Ticket {
                    email: invited.invitation.email.as_str(),
                    link: link.as_ref().map(|link| link.as_str()),
                    code: &code,
                });
                page(&visit, Invitations { ticket, ..Invitations::new(visit.context()) }, None)
                    .await
            }
        },
        Err(failure) => {
            let refusal = failure.refusal()?;
            let view = Invitations { email: &typed, ..Invitations::new(visit.context()) };
            page(&visit, view, Some(&refusal)).await
        }
    }
}

pub(in crate::http) async fn revoke_invitation(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    if let Ok(id) = form.typed("id").parse() {
        // An invitation that is gone already, as after a double click, is what the person wants.
        revoke_own(visit.doorward(), visit.caller.user.id, id, &visit.requester).await?;
    }
    Ok(visit.redirect("/account/invitations?done=revoked"))
}

async fn page(
    visit: &SignedInVisit,
    view: Invitations<'_>,
    refusal: Option<&FormRefusal>,
) -> Result<Response, Error> {
    let invitations = of_user(visit.doorward(), visit.caller.user.id).await?;
    let page = Invitations {
        now: visit.doorward().now(),
        invitations: &invitations,
        problem: refusal.into(),
        ..view
    };
    Ok(visit.form(html(&page), refusal, None))
}
