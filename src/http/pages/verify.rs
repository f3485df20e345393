//! `/verify`: verifies an address with the link or the code in a mail.

use axum::response::Response;

use super::{
    form_refusal::FormFailure,
    one_time::{Sent, form_page, link_page, refused},
    view::{CodeEntry, OneTimeForm, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::verify::verify,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
};

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    if let Some(secret) = visit.parameter("code") {
        return Ok(link_page(&visit, &secret, OneTimeKind::Verify, None).await?);
    }
    let email = visit.caller().map_or("", |caller| caller.user.email.as_str());
    let (kind, entry) = (OneTimeKind::Verify, CodeEntry::Typed { email });
    let page = OneTimeForm { kind, entry, ..OneTimeForm::default() };
    Ok(form_page(&visit, page, None, None))
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let verified = match form.presented() {
        Ok(presented) => {
            let verified = verify(visit.doorward(), presented, &visit.requester).await;
            verified.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match (verified, visit.caller()) {
        (Ok(_), Some(_)) => Ok(visit.redirect("/account?done=verified")),
        (Ok(_), None) => Ok(visit.redirect("/sign-in?done=verified")),
        (Err(failure), _) => {
            let typed = CodeEntry::Typed { email: &sent.email };
            refused(&visit, failure, OneTimeKind::Verify, &sent, typed, None)
        }
    }
}
