//! `/restore-email`: undoes a change of the address with the link or the code in the notice to the old address, and sets a
//! new password.

use axum::response::Response;

use super::{
    one_time::{Sent, form_page, link_page, refused},
    view::{CodeEntry, OneTimeForm, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::restore::restore,
    credential::password::Password,
    http::{Error, form::PageForm},
};

pub(super) async fn show(visit: Visit) -> Result<Response, Error> {
    if let Some(secret) = visit.parameter("code") {
        return Ok(link_page(&visit, &secret, OneTimeKind::Restore, None).await?);
    }
    let (kind, entry) = (OneTimeKind::Restore, CodeEntry::Typed { email: "" });
    let page = OneTimeForm { kind, entry, ..OneTimeForm::default() };
    Ok(form_page(&visit, page, None, None))
}

pub(super) async fn submit(visit: Visit, PageForm(mut form): PageForm) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let rules = visit.doorward().settings().password_rules;
    let presented = form.presented();
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let restored = match (presented, password) {
        (Ok(presented), Ok(password)) => {
            let requester = visit.source.requester;
            let restored = restore(visit.doorward(), presented, password, requester).await;
            restored.map_err(Error::from)
        }
        _ => Err(form.into_error()),
    };
    match restored {
        Ok(_) => Ok(visit.redirect("/sign-in?done=restored")),
        Err(error) => {
            let typed = CodeEntry::Typed { email: &sent.email };
            refused(&visit, error, OneTimeKind::Restore, &sent, typed, None)
        }
    }
}
