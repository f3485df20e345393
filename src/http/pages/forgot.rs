//! `/forgot`: mails a link and a code to set a new password. The answer is the same for every address.

use axum::response::Response;

use super::{
    form_refusal::FormFailure,
    mail_request,
    return_target::{AppTarget, with_target},
    view::MailRequestKind,
    visit::Visit,
};
use crate::{
    account::forgot::forgot,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::Email,
};

/// Without mail, the operator gives people a code for the page that sets a new password.
pub(in crate::http) async fn show(visit: Visit) -> Response {
    let app = AppTarget::of(&visit);
    match visit.doorward().sends_mail() {
        true => mail_request::page(&visit, MailRequestKind::Forgot, app.as_ref(), "", None),
        false => visit.redirect(&with_target("/reset", app.as_ref())),
    }
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("email");
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let sent = match form.required("email", Email::parse) {
        Ok(email) => {
            let target = app.as_ref().map(|app| app.for_mail(visit.doorward()));
            let sent = forgot(visit.doorward(), email, &visit.requester, target.as_ref()).await;
            sent.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    mail_request::answer(&visit, MailRequestKind::Forgot, app.as_ref(), &typed, sent)
}
