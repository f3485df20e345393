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
    credential::password::Password,
    http::{Error, form::PageForm},
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
    let rules = visit.doorward().settings().password_rules();
    let secret = form.link_secret();
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let restored = match (secret, password) {
        (Ok(secret), Ok(password)) => {
            let requester = &visit.requester;
            let restored = restore(visit.doorward(), secret, password, requester).await;
            restored.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
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
