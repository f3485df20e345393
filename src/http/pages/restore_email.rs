//! `/restore-email`: undoes a change of the address with the link in the notice to the old address, and sets a new password.

use axum::response::Response;

use super::{
    form_refusal::FormFailure,
    one_time::{Sent, link_page, refused},
    view::{CodeEntry, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::restore::restore,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
        mail_forms::LinkAndPassword,
    },
};

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    match visit.parameter("code") {
        Some(secret) => Ok(link_page(&visit, &secret, OneTimeKind::Restore, None).await?),
        None => Ok(visit.redirect("/sign-in")),
    }
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let restored = match form.fields::<LinkAndPassword>(visit.doorward()) {
        Ok(LinkAndPassword { code, password }) => {
            let requester = &visit.requester;
            let restored = restore(visit.doorward(), code, password, requester).await;
            restored.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match restored {
        Ok(_) => Ok(visit.redirect("/sign-in?done=restored")),
        Err(failure) => {
            // The form has come from the page of a link.
            let typed = CodeEntry::Link { secret: &sent.code, address: &sent.link };
            refused(&visit, failure, OneTimeKind::Restore, &sent, typed, None)
        }
    }
}
