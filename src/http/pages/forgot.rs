//! `/forgot`: mails a link and a code to set a new password. The answer is the same for every address.

use axum::response::Response;

use super::{
    form_refusal::{FormFailure, FormRefusal},
    one_time::form_page,
    return_target::{AppTarget, with_target},
    text::Notice,
    view::{CodeEntry, MailRequest, MailRequestKind, OneTimeForm, OneTimeKind},
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
        true => page(&visit, app.as_ref(), "", None),
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
    match sent {
        Ok(()) => {
            let page = OneTimeForm {
                kind: OneTimeKind::Reset,
                entry: CodeEntry::Mailed(&typed),
                notice: Some(Notice::MailSent),
                ..OneTimeForm::default()
            };
            Ok(form_page(&visit, page, app.as_ref(), None))
        }
        Err(failure) => {
            let refusal = failure.refusal()?;
            Ok(page(&visit, app.as_ref(), &typed, Some(&refusal)))
        }
    }
}

fn page(
    visit: &Visit,
    app: Option<&AppTarget>,
    email: &str,
    refusal: Option<&FormRefusal>,
) -> Response {
    let page = MailRequest {
        kind: MailRequestKind::Forgot,
        app: app.map(|app| &*app.title),
        target: app.map(|app| &*app.sealed),
        only_without_password: false,
        email,
        error: refusal.and_then(|refusal| refusal.error),
        email_fault: refusal.and_then(|refusal| refusal.fault("email")),
    };
    visit.form(page.render(&visit.context()), refusal, None)
}
