//! `/account/invitations`: a person invites others, and sees and revokes the invitations that were not used yet. Only for those
//! who may invite.

use axum::response::Response;

use super::super::{
    form_refusal::FormRefusal,
    text::Notice,
    view::{InvitationRow, Invitations, Ticket},
    visit::Visit,
};
use crate::{
    access::caller::Caller,
    account::invite::{by_user, may_invite, of_user, revoke_own},
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::Email,
};

/// The most invitations on the page, which has to stay small.
const MAX_ROWS: usize = 20;

/// The signed-in person, if they may invite.
fn inviter(visit: &Visit) -> Option<&Caller> {
    visit.caller().filter(|caller| may_invite(visit.doorward(), &caller.user))
}

pub(in super::super) async fn show_invitations(visit: Visit) -> Result<Response, Error> {
    let Some(caller) = inviter(&visit) else {
        return Ok(visit.redirect("/account"));
    };
    let notice = match visit.parameter("done").as_deref() {
        Some("invited") => Some(Notice::Invited),
        Some("revoked") => Some(Notice::InvitationRevoked),
        _ => None,
    };
    page(&visit, caller, Invitations { notice, ..Invitations::default() }, None).await
}

pub(in super::super) async fn invite(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = inviter(&visit) else {
        return Ok(visit.redirect("/account"));
    };
    let typed = form.typed("email");
    let invited = match form.required("email", Email::parse) {
        Ok(email) => {
            let requester = visit.source.requester;
            by_user(visit.doorward(), &caller.user, email, requester).await.map_err(Error::from)
        }
        Err(FaultRecorded) => Err(form.into_error()),
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
                page(&visit, caller, Invitations { ticket, ..Invitations::default() }, None).await
            }
        },
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            let view = Invitations {
                email: &typed,
                error: refusal.error,
                email_fault: refusal.fault("email"),
                ..Invitations::default()
            };
            page(&visit, caller, view, Some(&refusal)).await
        }
    }
}

pub(in super::super) async fn revoke_invitation(
    visit: Visit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    if let Ok(id) = form.typed("id").parse() {
        // An invitation that is gone already, as after a double click, is what the person wants.
        revoke_own(visit.doorward(), caller.user.id, id).await?;
    }
    Ok(visit.redirect("/account/invitations?done=revoked"))
}

async fn page(
    visit: &Visit,
    caller: &Caller,
    view: Invitations<'_>,
    refusal: Option<&FormRefusal>,
) -> Result<Response, Error> {
    let invitations = of_user(visit.doorward(), caller.user.id).await?;
    let page = Invitations {
        rows: invitations
            .iter()
            .take(MAX_ROWS)
            .map(|invitation| InvitationRow {
                id: invitation.id.to_string(),
                email: invitation.email.as_str(),
                expires: invitation.expires_at,
            })
            .collect(),
        has_more: invitations.len() > MAX_ROWS,
        ..view
    };
    Ok(visit.form(page.render(&visit.context()), refusal, None))
}
