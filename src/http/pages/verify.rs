//! `/verify`: verifies an address with the link or the code in a mail.

use axum::response::Response;

use super::{
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

pub(super) async fn show(visit: Visit) -> Result<Response, Error> {
    if let Some(secret) = visit.parameter("code") {
        return Ok(link_page(&visit, &secret, OneTimeKind::Verify, None).await?);
    }
    let email = visit.caller().map_or("", |caller| caller.user.email.as_str());
    let (kind, entry) = (OneTimeKind::Verify, CodeEntry::Typed { email });
    let page = OneTimeForm { kind, entry, ..OneTimeForm::default() };
    Ok(form_page(&visit, page, None, None))
}

pub(super) async fn submit(visit: Visit, PageForm(mut form): PageForm) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let verified = match form.presented() {
        Ok(presented) => {
            let verified = verify(visit.doorward(), presented, visit.source.requester).await;
            verified.map_err(Error::from)
        }
        Err(FaultRecorded) => Err(form.into_error()),
    };
    match (verified, visit.caller()) {
        (Ok(_), Some(_)) => Ok(visit.redirect("/account?done=verified")),
        (Ok(_), None) => Ok(visit.redirect("/sign-in?done=verified")),
        (Err(error), _) => {
            let typed = CodeEntry::Typed { email: &sent.email };
            refused(&visit, error, OneTimeKind::Verify, &sent, typed, None)
        }
    }
}
